#include "integer/product_kernel.h"

#include <omp.h>

#include <algorithm>

#include "integer/tiles.h"

namespace byoc_lab {
namespace {

// Blocks as in Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008): a
// panel of the right operand and the rows of a tile stay in the first cache, a block of the left
// operand in the second.
constexpr int64_t kDepth = 512;  // elements of a row at a time
constexpr int64_t kRows = 144;   // a multiple of the rows of every tile

int64_t Ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t RoundUp(int64_t a, int64_t b) { return Ceil(a, b) * b; }

const Tiles& BestTiles() {
  if (onednn_faults::Uses(dnnl::cpu_isa::avx512_core)) return kTilesAvx512;
  return onednn_faults::Uses(dnnl::cpu_isa::avx2) ? kTilesAvx2 : kTilesSse41;
}

class ProductKernel : public OwnKernel {
 public:
  ProductKernel(Product product, const Tiles& tiles, int threads)
      : p_(std::move(product)), tiles_(tiles), threads_(threads) {
    // Of equal size, as far as tiles allow: each block packs all panels, and a block of a few rows
    // would cost almost as much as a whole one.
    blocks_ = std::max<int64_t>(1, std::min(p_.rows, threads * Ceil(p_.rows, threads * kRows)));
    block_rows_ = RoundUp(Ceil(p_.rows, blocks_), tiles.rows);
    blocks_ = Ceil(p_.rows, block_rows_);
    panels_ = Ceil(p_.columns, kPanel);
    // Few rows: threads share the columns, too.
    const int64_t tasks = p_.batches * blocks_;
    splits_ = threads == 1 || tasks >= 2 * threads ? 1
                                                   : std::min(panels_, Ceil(2 * threads, tasks));
    pairs_ = Ceil(std::min(kDepth, p_.depth), 2);
    if (!p_.window) return;
    p_.window->ForEachPart(
        {}, [&](int64_t offset, int64_t first, int64_t length, int64_t, int64_t) {
          parts_.push_back({offset, first, length});
        });
  }

  int64_t scratch_bytes() const { return threads_ * ThreadBytes(); }

  void Run(const std::vector<void*>& operands) const final {
#pragma omp parallel for num_threads(threads_) collapse(3) if (threads_ > 1)
    for (int64_t batch = 0; batch < p_.batches; ++batch) {
      for (int64_t block = 0; block < blocks_; ++block) {
        for (int64_t split = 0; split < splits_; ++split) {
          char* memory = static_cast<char*>(operands[3]) + omp_get_thread_num() * ThreadBytes();
          RunBlock(batch, block * block_rows_, panels_ * split / splits_,
                   panels_ * (split + 1) / splits_, operands, reinterpret_cast<int16_t*>(memory));
        }
      }
    }
  }

 private:
  int64_t ThreadBytes() const {
    return RoundUp(2 * pairs_ * (block_rows_ + kPanel) * static_cast<int64_t>(sizeof(int16_t)), 64);
  }

  // A block of rows times the panels [begin, end).
  void RunBlock(int64_t batch, int64_t first, int64_t begin, int64_t end,
                const std::vector<void*>& operands, int16_t* memory) const {
    const int64_t count = std::min(block_rows_, p_.rows - first), stride = 2 * pairs_;
    const auto* right = static_cast<const int8_t*>(operands[1]) + p_.right_at[batch];
    auto* sums = static_cast<int32_t*>(operands[2]) + p_.sums_at[batch] + first * p_.sums_stride;
    int16_t *rows = memory, *panel = memory + block_rows_ * stride;
    for (int64_t from = 0; from < p_.depth; from += kDepth) {
      const int64_t depth = std::min(kDepth, p_.depth - from), pairs = Ceil(depth, 2);
      Sliding::Pixel pixel = p_.window ? p_.window->PixelOf(first) : Sliding::Pixel{};
      for (int64_t r = 0; r < count; ++r) {
        int16_t* row = rows + r * stride;
        WidenRow(operands[0], batch, first + r, pixel, from, from + depth, row);
        if (depth % 2 != 0) row[depth] = 0;
        if (p_.window) p_.window->Advance(&pixel);
      }
      for (int64_t i = begin; i < end; ++i) {
        const int64_t columns = std::min(kPanel, p_.columns - i * kPanel);
        if (p_.merged > 1) {
          PackMerged(right, from, depth, panel);
        } else {
          PackPanel(right + i * p_.right_panel + from * p_.right_row, depth, columns, panel);
        }
        for (int64_t r = 0; r < count; r += tiles_.rows) {
          tiles_.multiply(rows + r * stride, stride, std::min(tiles_.rows, count - r), panel, pairs,
                          sums + r * p_.sums_stride + i * kPanel, p_.sums_stride, columns,
                          /*add=*/from != 0);
        }
      }
    }
  }

  void PackPanel(const int8_t* right, int64_t depth, int64_t columns, int16_t* panel) const {
    if (p_.right_step == 1 && (columns == kPanel || p_.right_row == kPanel)) {
      tiles_.pack_panel(right, p_.right_row, depth, panel);
      return;
    }
    std::fill_n(panel, 2 * kPanel * Ceil(depth, 2), int16_t{0});
    for (int64_t k = 0; k < depth; ++k) {
      int16_t* out = panel + k / 2 * 2 * kPanel + k % 2;
      const int8_t* row = right + k * p_.right_row;
      for (int64_t c = 0; c < columns; ++c) out[2 * c] = row[c * p_.right_step];
    }
  }

  // Rows [from, from + depth) of the only panel of a batch.
  void PackMerged(const int8_t* weights, int64_t from, int64_t depth, int16_t* panel) const {
    const int64_t inputs = p_.merged_inputs, outputs = p_.merged_outputs, pixel = p_.merged * inputs;
    const int64_t taps = p_.depth / pixel;
    std::fill_n(panel, 2 * kPanel * Ceil(depth, 2), int16_t{0});
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t tap = (from + k) / pixel, group = (from + k) % pixel / inputs,
                    input = (from + k) % inputs;
      int16_t* out = panel + k / 2 * 2 * kPanel + k % 2;
      for (int64_t c = group * outputs; c < (group + 1) * outputs; ++c) {
        out[2 * c] = weights[(c * inputs + input) * taps + tap];
      }
    }
  }

  // Elements [from, to) of a row of the left operand, which is that of `pixel` if there is a window.
  void WidenRow(const void* left, int64_t batch, int64_t row, const Sliding::Pixel& pixel,
                int64_t from, int64_t to, int16_t* out) const {
    const char* data = static_cast<const char*>(left) + p_.left_at[batch];
    const char* end = static_cast<const char*>(left) + p_.left_size;
    // Rows are written one after the other, and the panel after them: what a whole vector writes
    // behind a part is written again.
    const auto widen = [&](const char* source, int64_t count, int16_t* into) {
      tiles_.widen(source, p_.is_signed, count, end - source, p_.zero, into);
    };
    if (!p_.window) {
      data += row * p_.left_row + from * p_.left_step;
      if (p_.left_step == 1) {
        widen(data, to - from, out);
      } else {
        for (int64_t k = 0; k < to - from; ++k) widen(data + k * p_.left_step, 1, out + k);
      }
      return;
    }
    if (p_.window->IsInner(pixel)) {
      data += p_.window->OffsetOf(pixel);
      for (const Part& part : parts_) {
        const int64_t low = std::max(part.first, from);
        const int64_t high = std::min(part.first + part.length, to);
        if (low >= high) continue;
        widen(data + part.offset + (low - part.first), high - low, out + (low - from));
      }
      return;
    }
    p_.window->ForEachPart(
        pixel, [&](int64_t offset, int64_t first, int64_t length, int64_t begin, int64_t end) {
          const int64_t low = std::max(first, from), high = std::min(first + length, to);
          if (low >= high) return;
          // Inside the data; before and after it is padding, which is 0 once `zero` is taken off.
          const int64_t inner = std::clamp(first + begin, low, high);
          const int64_t outer = std::clamp(first + end, inner, high);
          std::fill(out + (low - from), out + (inner - from), int16_t{0});
          widen(data + offset + (inner - first), outer - inner, out + (inner - from));
          std::fill(out + (outer - from), out + (high - from), int16_t{0});
        });
  }

  // Elements of a row that are neighbours in the data: where those of the first pixel would be.
  struct Part {
    int64_t offset, first, length;
  };

  Product p_;
  std::vector<Part> parts_;
  const Tiles& tiles_;
  int threads_;
  int64_t block_rows_, blocks_, panels_, splits_, pairs_;
};

class DepthwiseKernel : public OwnKernel {
 public:
  DepthwiseKernel(Sliding window, int64_t images, bool is_signed, int16_t zero, const Tiles& tiles,
                  int threads)
      : w_(std::move(window)),
        images_(images),
        is_signed_(is_signed),
        zero_(zero),
        tiles_(tiles),
        threads_(threads),
        taps_(w_.taps[0] * w_.taps[1] * w_.taps[2]),
        vectorized_(w_.channels / tiles.channels * tiles.channels) {}

  int64_t scratch_bytes() const {
    return TapsAt() + threads_ * taps_ * static_cast<int64_t>(sizeof(void*));
  }

  void Run(const std::vector<void*>& operands) const final {
    const auto* data = static_cast<const char*>(operands[0]);
    const auto* weights = static_cast<const int8_t*>(operands[1]);
    auto* sums = static_cast<int32_t*>(operands[2]);
    auto* pairs = static_cast<int16_t*>(operands[3]);
    tiles_.pack_depthwise(weights, taps_, w_.channels, vectorized_, pairs);
    // A pixel of the padding, which is 0 once `zero_` is taken off.
    char* padding = reinterpret_cast<char*>(pairs + vectorized_ * RoundUp(taps_, 2));
    std::fill_n(padding, w_.channels, static_cast<char>(zero_));
    const int64_t width = w_.result[2], lines = w_.result[0] * w_.result[1] * images_;
#pragma omp parallel for num_threads(threads_) if (threads_ > 1)
    for (int64_t line = 0; line < lines; ++line) {
      const char** taps = reinterpret_cast<const char**>(static_cast<char*>(operands[3]) + TapsAt()) +
                          omp_get_thread_num() * taps_;
      Sliding::Pixel pixel = w_.PixelOf(line * width);
      for (int64_t x = 0; x < width; ++x, ++pixel.x) {
        if (x > 0 && w_.IsInner(2, x - 1) && w_.IsInner(2, x)) {
          for (int64_t t = 0; t < taps_; ++t) {
            if (taps[t] != padding) taps[t] += w_.strides[2] * w_.channels;
          }
        } else {
          FindTaps(pixel, data, padding, taps);
        }
        int32_t* out = sums + (line * width + x) * w_.channels;
        tiles_.depthwise(reinterpret_cast<const void* const*>(taps), taps_, is_signed_, zero_,
                         pairs, vectorized_, out);
        for (int64_t c = vectorized_; c < w_.channels; ++c) out[c] = Sum(taps, weights, c);
      }
    }
  }

 private:
  // Where the pointers to the taps are, after the packed weights and a pixel of padding.
  int64_t TapsAt() const {
    return RoundUp(vectorized_ * RoundUp(taps_, 2) * static_cast<int64_t>(sizeof(int16_t)) +
                       w_.channels,
                   64);
  }

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

  int32_t Sum(const char* const* taps, const int8_t* weights, int64_t channel) const {
    int32_t sum = 0;
    for (int64_t t = 0; t < taps_; ++t) {
      const char byte = taps[t][channel];
      const int32_t value = is_signed_ ? static_cast<int8_t>(byte) : static_cast<uint8_t>(byte);
      sum += (value - zero_) * weights[t * w_.channels + channel];
    }
    return sum;
  }

  Sliding w_;
  int64_t images_;
  bool is_signed_;
  int16_t zero_;
  const Tiles& tiles_;
  int threads_;
  int64_t taps_, vectorized_;  // vectorized_: channels that fill vectors
};

template <typename Kernel, typename... Args>
IntegerKernel Made(Args&&... args) {
  const Tiles& tiles = BestTiles();
  auto kernel = std::make_shared<Kernel>(std::forward<Args>(args)..., tiles, omp_get_max_threads());
  return {kernel, kernel->scratch_bytes(), std::string("int16:") + tiles.name};
}

}  // namespace

Sliding::Pixel Sliding::PixelOf(int64_t row) const {
  const int64_t line = row / result[2], plane = line / result[1];
  return {plane / result[0], plane % result[0], line % result[1], row % result[2]};
}

void Sliding::Advance(Pixel* pixel) const {
  if (++pixel->x < result[2]) return;
  pixel->x = 0;
  if (++pixel->y < result[1]) return;
  pixel->y = 0;
  if (++pixel->z < result[0]) return;
  pixel->z = 0;
  ++pixel->image;
}

bool Sliding::IsInner(int axis, int64_t place) const {
  const int64_t first = place * strides[axis] - before[axis];
  return first >= 0 && first + (taps[axis] - 1) * steps[axis] < size[axis];
}

bool Sliding::IsInner(const Pixel& pixel) const {
  return IsInner(0, pixel.z) && IsInner(1, pixel.y) && IsInner(2, pixel.x);
}

int64_t Sliding::OffsetOf(const Pixel& pixel) const {
  const int64_t plane = pixel.image * size[0] + pixel.z * strides[0];
  const int64_t line = plane * size[1] + pixel.y * strides[1];
  return (line * size[2] + pixel.x * strides[2]) * channels;
}

template <typename Each>
void Sliding::ForEachPart(const Pixel& pixel, const Each& each) const {
  const int64_t x = pixel.x * strides[2] - before[2];
  const int64_t y = pixel.y * strides[1] - before[1];
  const int64_t z = pixel.z * strides[0] - before[0];
  // Taps side by side are one part where nothing lies between them.
  const bool together = group_channels == channels && steps[2] == 1;
  const int64_t parts = together ? 1 : taps[2], wide = together ? taps[2] : 1;
  const int64_t length = wide * group_channels;
  int64_t first = 0;
  for (int64_t d = 0; d < taps[0]; ++d) {
    const int64_t at_z = z + d * steps[0];
    for (int64_t h = 0; h < taps[1]; ++h) {
      const int64_t at_y = y + h * steps[1];
      const bool inside = 0 <= at_z && at_z < size[0] && 0 <= at_y && at_y < size[1];
      for (int64_t w = 0; w < parts; ++w, first += length) {
        const int64_t at_x = x + w * steps[2];
        const int64_t offset = (((pixel.image * size[0] + at_z) * size[1] + at_y) * size[2] + at_x) * channels;
        const int64_t begin = std::clamp<int64_t>(-at_x, 0, wide);
        const int64_t end = inside ? std::clamp<int64_t>(size[2] - at_x, begin, wide) : begin;
        each(offset, first, length, begin * group_channels, end * group_channels);
      }
    }
  }
}

IntegerKernel MakeProduct(Product product) { return Made<ProductKernel>(std::move(product)); }

IntegerKernel MakeDepthwise(Sliding window, int64_t images, bool is_signed, int16_t zero) {
  window.group_channels = window.channels;  // taps are whole pixels
  return Made<DepthwiseKernel>(std::move(window), images, is_signed, zero);
}

}  // namespace byoc_lab
