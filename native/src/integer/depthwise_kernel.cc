#include <omp.h>

#include <algorithm>

#include "integer/product_kernel.h"

namespace byoc_lab {
namespace {

class DepthwiseKernel : public RowsKernel {
 public:
  DepthwiseKernel(Sliding window, int64_t images, bool is_signed, int16_t zero, const Tiles& tiles,
                  int threads)
      : w_(std::move(window)),
        rows_(images * w_.result[0] * w_.result[1] * w_.result[2]),
        is_signed_(is_signed),
        zero_(zero),
        tiles_(tiles),
        threads_(threads),
        taps_(w_.taps[0] * w_.taps[1] * w_.taps[2]),
        vectorized_(w_.channels / tiles.channels * tiles.channels) {}

  int64_t rows() const final { return rows_; }
  std::string name() const final { return std::string("int16:") + tiles_.name; }
  int64_t threads() const final { return threads_; }
  int64_t memory_bytes() const final {
    return RoundUp(TapsAt() + taps_ * static_cast<int64_t>(sizeof(void*)), 64);
  }

  void Run(const std::vector<void*>& operands) const final {
#pragma omp parallel for num_threads(threads_) if (threads_ > 1)
    for (int64_t part = 0; part < threads_; ++part) {
      const int64_t first = rows_ * part / threads_, end = rows_ * (part + 1) / threads_;
      RunRows({operands[0], operands[1],
               static_cast<int32_t*>(operands[2]) + first * w_.channels,
               static_cast<char*>(operands[3]) + part * memory_bytes()},
              first, end - first);
    }
  }

  void RunRows(const RowsOperands& operands, int64_t first, int64_t count) const final {
    const auto* data = static_cast<const char*>(operands.left);
    const auto* weights = static_cast<const int8_t*>(operands.right);
    auto* pairs = reinterpret_cast<int16_t*>(operands.memory);
    char* padding = operands.memory + PaddingAt();
    const auto** taps = reinterpret_cast<const char**>(operands.memory + TapsAt());
    tiles_.pack_depthwise(weights, taps_, w_.channels, vectorized_, pairs);
    std::fill_n(padding, w_.size[2] * w_.channels, static_cast<char>(zero_));
    int32_t* sums = operands.sums;
    const int64_t step = w_.strides[2] * w_.channels;
    for (int64_t row = first, run = 0; row < first + count; row += run) {
      const Sliding::Pixel pixel = w_.PixelOf(row);
      // Neighbouring pixels whose taps are all within the line; taps in a line outside the data are
      // padding.
      run = std::clamp<int64_t>(w_.InnerInLine(pixel), 1, first + count - row);
      FindTaps(pixel, data, padding, taps);
      tiles_.depthwise(reinterpret_cast<const void* const*>(taps), taps_, is_signed_, zero_, pairs,
                       vectorized_, run, step, sums, w_.channels);
      for (int64_t p = 0; p < run; ++p, sums += w_.channels) {
        for (int64_t c = vectorized_; c < w_.channels; ++c) {
          sums[c] = Sum(taps, weights, p * step + c, c);
        }
      }
    }
  }

 private:
  // A thread's memory: the packed weights, then a line of padding, whose value is 0 after `zero_`
  // is subtracted, then pointers to the taps.
  int64_t PaddingAt() const {
    return vectorized_ * RoundUp(taps_, 2) * static_cast<int64_t>(sizeof(int16_t));
  }
  int64_t TapsAt() const { return RoundUp(PaddingAt() + w_.size[2] * w_.channels, 64); }

  void FindTaps(const Sliding::Pixel& pixel, const char* data, const char* padding,
                const char** taps) const {
    w_.ForEachPart(pixel, [&](int64_t offset, int64_t first, int64_t length, int64_t begin,
                            int64_t end) {
      for (int64_t i = 0; i < length; i += w_.channels) {
        const bool inside = begin <= i && i < end;
        taps[(first + i) / w_.channels] = inside ? data + offset + i : padding;
      }
    });
  }

  int32_t Sum(const char* const* taps, const int8_t* weights, int64_t at, int64_t channel) const {
    int32_t sum = 0;
    for (int64_t t = 0; t < taps_; ++t) {
      const char byte = taps[t][at];
      const int32_t value = is_signed_ ? static_cast<int8_t>(byte) : static_cast<uint8_t>(byte);
      sum += (value - zero_) * weights[t * w_.channels + channel];
    }
    return sum;
  }

  Sliding w_;
  int64_t rows_;
  bool is_signed_;
  int16_t zero_;
  const Tiles& tiles_;
  int threads_;
  int64_t taps_, vectorized_;  // vectorized_: channels in full vectors
};

}  // namespace

std::shared_ptr<const RowsKernel> MakeDepthwise(Sliding window, int64_t images, bool is_signed,
                                                int16_t zero) {
  window.group_channels = window.channels;  // taps are whole pixels
  return std::make_shared<DepthwiseKernel>(std::move(window), images, is_signed, zero, BestTiles(),
                                           omp_get_max_threads());
}

}  // namespace byoc_lab
