#include "planes.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "threads.h"
#include "vectorized.h"
#include "widths.h"

namespace byoc_lab {
namespace {

// One spatial axis.
struct PoolAxis {
  int64_t from = 1, to = 1, taps = 1, stride = 1, step = 1, before = 0;

  // The first tap inside the data, and the tap after the last one inside.
  std::pair<int64_t, int64_t> OnData(int64_t at) const {
    const int64_t start = at * stride - before;
    const int64_t first = start >= 0 ? 0 : (-start + step - 1) / step;
    const int64_t end = start >= from ? 0 : std::min(taps, (from - start + step - 1) / step);
    return {std::min(first, end), end};
  }
};

struct Plane {
  PoolAxis deep, high, wide;  // missing axes have size 1
  int64_t padded;         // elements of a row with its padding
  // For a mean: the number of elements that each window has along each axis.
  std::vector<float> deep_counts, high_counts, wide_counts;
};

template <bool kMax>
inline __attribute__((always_inline)) float Joined(float all, float x) {
  if (!kMax) return all + x;
  const float larger = x > all ? x : all;  // one instruction; `all` if one of them is nan
  return x != x ? x : larger;              // a nan stays, as in a sum
}

// Joins the elements at[0], at[step], ... of `count` lines, up to three lines at a time, because
// the joined line is kept in memory.
template <bool kMax, typename At>
inline __attribute__((always_inline)) void JoinBy(const float* const* lines, int64_t count,
                                                  int64_t numbers, float* all, At at) {
  int64_t line = 3;
  if (count == 1) {
#pragma omp simd
    for (int64_t i = 0; i < numbers; ++i) all[i] = lines[0][at(i)];
  } else if (count == 2) {
#pragma omp simd
    for (int64_t i = 0; i < numbers; ++i) {
      all[i] = Joined<kMax>(lines[0][at(i)], lines[1][at(i)]);
    }
  } else {
#pragma omp simd
    for (int64_t i = 0; i < numbers; ++i) {
      all[i] = Joined<kMax>(Joined<kMax>(lines[0][at(i)], lines[1][at(i)]), lines[2][at(i)]);
    }
  }
  for (; line < count; ++line) {
#pragma omp simd
    for (int64_t i = 0; i < numbers; ++i) all[i] = Joined<kMax>(all[i], lines[line][at(i)]);
  }
}

template <bool kMax>
inline __attribute__((always_inline)) void Join(const std::vector<const float*>& lines,
                                                int64_t step, int64_t numbers, float* all) {
  const auto count = static_cast<int64_t>(lines.size());
  const float* const* first = lines.data();
  if (step == 1) {
    JoinBy<kMax>(first, count, numbers, all,
                 [](int64_t i) __attribute__((always_inline)) { return i; });
  } else if (step == 2) {
    JoinBy<kMax>(first, count, numbers, all,
                 [](int64_t i) __attribute__((always_inline)) { return 2 * i; });
  } else {
    JoinBy<kMax>(first, count, numbers, all,
                 [step](int64_t i) __attribute__((always_inline)) { return step * i; });
  }
}

// `row` contains the joined lines of a window, between paddings.
template <bool kMax>
inline __attribute__((always_inline)) void Pool(const Plane& plane, const float* data, float* row,
                                                float* result) {
  const PoolAxis &deep = plane.deep, &high = plane.high, &wide = plane.wide;
  const float none = kMax ? std::numeric_limits<float>::lowest() : 0;  // Relay's padding value
  std::fill_n(row, plane.padded, none);
  std::vector<const float*> lines, taps;
  for (int64_t x = 0; x < wide.taps; ++x) taps.push_back(row + x * wide.step);
  for (int64_t d = 0; d < deep.to; ++d) {
    const auto [near, far] = deep.OnData(d);
    for (int64_t h = 0; h < high.to; ++h, result += wide.to) {
      const auto [top, bottom] = high.OnData(h);
      lines.clear();
      for (int64_t z = near; z < far; ++z) {
        for (int64_t y = top; y < bottom; ++y) {
          const int64_t slice = d * deep.stride - deep.before + z * deep.step;
          const int64_t line = h * high.stride - high.before + y * high.step;
          lines.push_back(data + (slice * high.from + line) * wide.from);
        }
      }
      if (lines.empty()) {
        std::fill_n(row + wide.before, wide.from, none);
      } else {
        Join<kMax>(lines, 1, wide.from, row + wide.before);
      }
      Join<kMax>(taps, wide.stride, wide.to, result);
      if (kMax) continue;
      const float lines = plane.deep_counts[d] * plane.high_counts[h];
      for (int64_t x = 0; x < wide.to; ++x) result[x] /= lines * plane.wide_counts[x];
    }
  }
}

VECTORIZED void PoolMax(const Plane& plane, const float* data, float* row, float* result) {
  Pool<true>(plane, data, row, result);
}

VECTORIZED void PoolMean(const Plane& plane, const float* data, float* row, float* result) {
  Pool<false>(plane, data, row, result);
}

class PlanePool : public OwnKernel {
 public:
  PlanePool(Pooling pooling, const Operand& data, const Dims& taps, const Window& window,
            const Dims& dst)
      : pool_(pooling == Pooling::kMax ? PoolMax : PoolMean),
        narrow_(data.dtype == DType::bf16),
        planes_(data.dims[0] * data.dims[1]) {
    const size_t spatial = taps.size();
    PoolAxis axes[3];
    for (size_t i = 0; i < spatial; ++i) {
      axes[3 - spatial + i] = {data.dims[2 + i],  dst[2 + i],         taps[i],
                               window.strides[i], window.gaps[i] + 1, window.before[i]};
    }
    const auto& [deep, high, wide] = axes;
    plane_ = {deep, high, wide,
              std::max(wide.before + wide.from,
                       (wide.to - 1) * wide.stride + (wide.taps - 1) * wide.step + 1),
              Counts(pooling, deep), Counts(pooling, high), Counts(pooling, wide)};
    from_ = deep.from * high.from * wide.from;
    to_ = deep.to * high.to * wide.to;
    threads_ = ThreadsFor(planes_ * from_, planes_);
  }

  void Run(const std::vector<void*>& operands) const final {
#pragma omp parallel for num_threads(static_cast<int>(threads_)) if (threads_ > 1)
    for (int64_t part = 0; part < threads_; ++part) {
      std::vector<float> memory(static_cast<size_t>(plane_.padded + (narrow_ ? from_ + to_ : 0)));
      const int64_t end = planes_ * (part + 1) / threads_;
      for (int64_t at = planes_ * part / threads_; at < end; ++at) {
        if (narrow_) {
          RunNarrow(operands, at, memory.data());
        } else {
          pool_(plane_, static_cast<const float*>(operands[0]) + at * from_, memory.data(),
                static_cast<float*>(operands[1]) + at * to_);
        }
      }
    }
  }

 private:
  // `memory` contains a row, a plane, and a plane of the result.
  void RunNarrow(const std::vector<void*>& operands, int64_t at, float* memory) const {
    float *data = memory + plane_.padded, *result = data + from_;
    Widen(static_cast<const uint16_t*>(operands[0]) + at * from_, from_, data);
    pool_(plane_, data, memory, result);
    Narrow(result, to_, static_cast<uint16_t*>(operands[1]) + at * to_);
  }

  static std::vector<float> Counts(Pooling pooling, const PoolAxis& axis) {
    std::vector<float> counts;
    for (int64_t at = 0; at < axis.to; ++at) {
      const auto [first, end] = axis.OnData(at);
      counts.push_back(static_cast<float>(pooling == Pooling::kMeanOfAll ? axis.taps : end - first));
    }
    return counts;
  }

  void (*pool_)(const Plane& plane, const float* data, float* row, float* result);
  bool narrow_;
  int64_t planes_, from_, to_, threads_;
  Plane plane_;
};

}  // namespace

std::shared_ptr<const OwnKernel> MakePlanePool(Pooling pooling, const Operand& data,
                                               const Dims& taps, const Window& window,
                                               const Dims& dst) {
  return std::make_shared<PlanePool>(pooling, data, taps, window, dst);
}

}  // namespace byoc_lab
