#include "broadcast.h"

#include <algorithm>
#include <vector>

#include "threads.h"
#include "vectorized.h"
#include "widths.h"

namespace byoc_lab {
namespace {


// `a_step`, `b_step`: 0 if the operand is one number, 1 if it is a row.
template <typename T, typename F>
inline __attribute__((always_inline)) void Combine(const T* a, int64_t a_step, const T* b,
                                                   int64_t b_step, int64_t count, T* dst, F f) {
  if (a_step == 0) {
    const float left = Real(*a);
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) Put(f(left, Real(b[i])), &dst[i]);
  } else if (b_step == 0) {
    const float right = Real(*b);
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) Put(f(Real(a[i]), right), &dst[i]);
  } else {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) Put(f(Real(a[i]), Real(b[i])), &dst[i]);
  }
}

#define INLINED __attribute__((always_inline))

// If either operand is nan, the result is nan.
template <typename T>
inline INLINED void CombineBy(dnnl::algorithm alg, const T* a, int64_t a_step, const T* b,
                              int64_t b_step, int64_t count, T* dst) {
  const auto with = [&](auto f) INLINED { Combine(a, a_step, b, b_step, count, dst, f); };
  switch (alg) {
    case dnnl::algorithm::binary_add:
      return with([](float x, float y) INLINED { return x + y; });
    case dnnl::algorithm::binary_sub:
      return with([](float x, float y) INLINED { return x - y; });
    case dnnl::algorithm::binary_mul:
      return with([](float x, float y) INLINED { return x * y; });
    case dnnl::algorithm::binary_div:
      return with([](float x, float y) INLINED { return x / y; });
    case dnnl::algorithm::binary_max:
      return with([](float x, float y) INLINED { return x > y || x != x ? x : y; });
    default:
      return with([](float x, float y) INLINED { return x < y || x != x ? x : y; });
  }
}

#undef INLINED

VECTORIZED void CombineRow(dnnl::algorithm alg, const float* a, int64_t a_step, const float* b,
                           int64_t b_step, int64_t count, float* dst) {
  CombineBy(alg, a, a_step, b, b_step, count, dst);
}

VECTORIZED void CombineRow(dnnl::algorithm alg, const uint16_t* a, int64_t a_step,
                           const uint16_t* b, int64_t b_step, int64_t count, uint16_t* dst) {
  CombineBy(alg, a, a_step, b, b_step, count, dst);
}

// Axes of the result, with the step of each operand along them: 0 if it broadcasts.
struct BroadcastAxis {
  int64_t size, a, b;
};

class BroadcastKernel : public OwnKernel {
 public:
  BroadcastKernel(dnnl::algorithm alg, const Dims& a, const Dims& b, const Dims& dst, DType dtype)
      : alg_(alg), narrow_(dtype == DType::bf16) {
    int64_t a_step = 1, b_step = 1;
    for (size_t i = dst.size(); i-- > 0;) {
      const BroadcastAxis axis = {dst[i], a[i] == 1 ? 0 : a_step, b[i] == 1 ? 0 : b_step};
      a_step *= a[i];
      b_step *= b[i];
      if (axis.size == 1) continue;
      // Consecutive axes with the same steps are merged.
      if (!axes_.empty() && axis.a == axes_.back().a * axes_.back().size &&
          axis.b == axes_.back().b * axes_.back().size) {
        axes_.back().size *= axis.size;
      } else {
        axes_.push_back(axis);
      }
    }
    if (axes_.empty()) axes_.push_back({1, 1, 1});
    for (size_t i = 1; i < axes_.size(); ++i) rows_ *= axes_[i].size;
    threads_ = ThreadsFor(rows_ * axes_[0].size, rows_);
  }

  void Run(const std::vector<void*>& operands) const final {
#pragma omp parallel for num_threads(static_cast<int>(threads_)) if (threads_ > 1)
    for (int64_t part = 0; part < threads_; ++part) {
      const int64_t end = rows_ * (part + 1) / threads_;
      for (int64_t row = rows_ * part / threads_; row < end; ++row) {
        narrow_ ? RunRow<uint16_t>(operands, row) : RunRow<float>(operands, row);
      }
    }
  }

 private:
  template <typename T>
  void RunRow(const std::vector<void*>& operands, int64_t row) const {
    const BroadcastAxis& inner = axes_[0];
    const auto *a = static_cast<const T*>(operands[0]), *b = static_cast<const T*>(operands[1]);
    T* dst = static_cast<T*>(operands[2]) + row * inner.size;
    for (size_t i = 1; i < axes_.size(); ++i) {
      const int64_t at = row % axes_[i].size;
      a += at * axes_[i].a;
      b += at * axes_[i].b;
      row /= axes_[i].size;
    }
    CombineRow(alg_, a, inner.a, b, inner.b, inner.size, dst);
  }

  dnnl::algorithm alg_;
  bool narrow_;
  std::vector<BroadcastAxis> axes_;  // innermost first
  int64_t rows_ = 1, threads_ = 1;
};

}  // namespace

std::shared_ptr<const OwnKernel> MakeBroadcast(dnnl::algorithm alg, const Dims& a, const Dims& b,
                                               const Dims& dst, DType dtype) {
  return std::make_shared<BroadcastKernel>(alg, a, b, dst, dtype);
}

}  // namespace byoc_lab
