#include "integer/product_kernel.h"

#include <omp.h>

#include <algorithm>

namespace byoc_lab {
namespace {

// Blocking as in Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008):
// a panel of the right operand and the rows of a tile stay in the first-level cache, a block of the
// left operand in the second-level cache.
constexpr int64_t kPanelElements = 8 << 10, kBlockElements = 72 << 10;

class ProductKernel : public RowsKernel {
 public:
  ProductKernel(Product product, const Tiles& tiles, int threads)
      : p_(std::move(product)), tiles_(tiles), threads_(threads) {
    width_ = p_.columns > kPanel ? tiles.width : kPanel;
    panels_ = Ceil(p_.columns, width_);
    depth_ = std::min(kPanelElements / width_, p_.depth);
    stride_ = RoundUp(depth_, 2);
    // Blocks of nearly equal size: each block packs all panels, so a block of a few rows would cost
    // almost as much as a full one.
    const int64_t most = threads * (kBlockElements / std::max<int64_t>(1, stride_));
    blocks_ = std::max<int64_t>(1, std::min(p_.rows, threads * Ceil(p_.rows, most)));
    block_rows_ = RoundUp(Ceil(p_.rows, blocks_), tiles.rows);
    blocks_ = Ceil(p_.rows, block_rows_);
    // Few rows: the columns are also distributed over threads.
    const int64_t tasks = p_.batches * blocks_;
    splits_ = threads == 1 || tasks >= 2 * threads ? 1
                                                   : std::min(panels_, Ceil(2 * threads, tasks));
    if (p_.window) FindStretches();
  }

  int64_t rows() const final { return p_.rows; }
  std::string name() const final { return std::string("int16:") + tiles_.name; }
  int64_t threads() const final { return threads_; }
  int64_t memory_bytes() const final {
    return RoundUp(stride_ * (block_rows_ + width_) * static_cast<int64_t>(sizeof(int16_t)), 64);
  }

  void Run(const std::vector<void*>& operands) const final {
#pragma omp parallel for num_threads(threads_) collapse(3) if (threads_ > 1)
    for (int64_t batch = 0; batch < p_.batches; ++batch) {
      for (int64_t block = 0; block < blocks_; ++block) {
        for (int64_t split = 0; split < splits_; ++split) {
          const int64_t first = block * block_rows_;
          RunBlock({operands[0], operands[1],
                    static_cast<int32_t*>(operands[2]) + first * p_.sums_stride,
                    static_cast<char*>(operands[3]) + omp_get_thread_num() * memory_bytes()},
                   batch, first, std::min(block_rows_, p_.rows - first),
                   panels_ * split / splits_, panels_ * (split + 1) / splits_);
        }
      }
    }
  }

  void RunRows(const RowsOperands& operands, int64_t first, int64_t count) const final {
    const int64_t size = RoundUp(Ceil(count, Ceil(count, block_rows_)), tiles_.rows);
    for (int64_t begin = 0; begin < count; begin += size) {
      RowsOperands block = operands;
      block.sums += begin * p_.sums_stride;
      for (int64_t batch = 0; batch < p_.batches; ++batch) {
        RunBlock(block, batch, first + begin, std::min(size, count - begin), 0, panels_);
      }
    }
  }

 private:
  // `count` rows from `first` on, multiplied by the panels [begin, end).
  void RunBlock(const RowsOperands& operands, int64_t batch, int64_t first, int64_t count,
                int64_t begin, int64_t end) const {
    const auto* right = static_cast<const int8_t*>(operands.right) + p_.right_at[batch];
    int32_t* sums = operands.sums + p_.sums_at[batch];
    auto* rows = reinterpret_cast<int16_t*>(operands.memory);
    int16_t* panel = rows + block_rows_ * stride_;
    for (int64_t from = 0; from < p_.depth; from += depth_) {
      const int64_t depth = std::min(depth_, p_.depth - from);
      WidenRows(operands.left, batch, first, count, from, depth, rows);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i * width_, columns = std::min(width_, p_.columns - column);
        const int64_t width = columns > kPanel ? width_ : kPanel;
        if (p_.merged > 1) {
          PackMerged(right, from, depth, panel);
        } else {
          PackPanels(right, column, columns, from, depth, width, panel);
        }
        for (int64_t r = 0; r < count; r += tiles_.rows) {
          tiles_.multiply(rows + r * stride_, stride_, std::min(tiles_.rows, count - r), panel,
                          width, Ceil(depth, 2), sums + r * p_.sums_stride + column,
                          p_.sums_stride, columns, /*add=*/from != 0);
        }
      }
    }
  }

  // Rows [from, from + depth) of `columns` columns, side by side in a packed panel.
  void PackPanels(const int8_t* right, int64_t column, int64_t columns, int64_t from,
                  int64_t depth, int64_t width, int16_t* panel) const {
    for (int64_t c = 0; c < columns; c += kPanel, panel += 2 * kPanel) {
      PackPanel(right + (column + c) / kPanel * p_.right_panel + from * p_.right_row, depth,
                std::min(kPanel, columns - c), width, panel);
    }
  }

  void PackPanel(const int8_t* right, int64_t depth, int64_t columns, int64_t width,
                 int16_t* panel) const {
    if (p_.right_step == 1 && (columns == kPanel || p_.right_row == kPanel)) {
      tiles_.pack_panel(right, p_.right_row, depth, width, panel);
      return;
    }
    for (int64_t k = 0; k < RoundUp(depth, 2); ++k) {
      int16_t* out = panel + k / 2 * 2 * width + k % 2;
      const int8_t* row = right + k * p_.right_row;
      for (int64_t c = 0; c < kPanel; ++c) {
        out[2 * c] = k < depth && c < columns ? row[c * p_.right_step] : int16_t{0};
      }
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

  // Elements [from, from + depth) of `count` rows of the left operand, `stride_` apart. A full
  // vector may write beyond the end of a row; the next row, or for the last one the panel,
  // overwrites these elements.
  void WidenRows(const void* left, int64_t batch, int64_t first, int64_t count, int64_t from,
                 int64_t depth, int16_t* rows) const {
    const char* data = static_cast<const char*>(left) + p_.left_at[batch];
    const char* end = static_cast<const char*>(left) + p_.left_size;
    const auto widen = [&](const char* source, const Stretch* stretches, int64_t parts,
                           int64_t times, int64_t step, int16_t* into) {
      tiles_.widen(source, p_.is_signed, stretches, parts, times, step, end - source, p_.zero, into,
                   stride_);
    };
    if (p_.window) return WidenPixels(data, first, count, from, depth, widen, rows);
    data += first * p_.left_row + from * p_.left_step;
    const bool together = p_.left_row == stride_ && depth == stride_;  // rows are contiguous
    const Stretch whole = {0, together ? count * depth : depth}, one = {0, 1};
    if (p_.left_step == 1) return widen(data, &whole, 1, together ? 1 : count, p_.left_row, rows);
    for (int64_t r = 0; r < count; ++r, data += p_.left_row, rows += stride_) {
      for (int64_t k = 0; k < depth; ++k) {
        widen(data + k * p_.left_step, &one, 1, 1, 0, rows + k);
      }
    }
  }

  // The same for pixels of a convolution: neighbouring pixels in a line without padding among their
  // taps are widened together.
  template <typename Widen>
  void WidenPixels(const char* data, int64_t first, int64_t count, int64_t from, int64_t depth,
                   const Widen& widen, int16_t* rows) const {
    const Sliding& window = *p_.window;
    const std::vector<Stretch>& stretches = stretches_[from / depth_];
    for (int64_t r = 0, times = 0; r < count; r += times, rows += times * stride_) {
      const Sliding::Pixel pixel = window.PixelOf(first + r);
      times = window.HasInnerLines(pixel) ? std::min(window.InnerInLine(pixel), count - r) : 0;
      if (times > 0) {
        widen(data + window.OffsetOf(pixel), stretches.data(), stretches.size(), times,
              window.strides[2] * window.channels, rows);
      } else {
        times = 1;
        WidenEdge(pixel, data, from, from + depth, widen, rows);
      }
    }
  }

  // Elements [from, to) of the row for a pixel with padding among its taps.
  template <typename Widen>
  void WidenEdge(const Sliding::Pixel& pixel, const char* data, int64_t from, int64_t to,
                 const Widen& widen, int16_t* out) const {
    p_.window->ForEachPart(
        pixel, [&](int64_t offset, int64_t first, int64_t length, int64_t begin, int64_t end) {
          const int64_t low = std::max(first, from), high = std::min(first + length, to);
          if (low >= high) return;
          // Inside the data. Before and after it is padding, whose value is 0 after `zero` is
          // subtracted.
          const int64_t inner = std::clamp(first + begin, low, high);
          const int64_t outer = std::clamp(first + end, inner, high);
          std::fill(out + (low - from), out + (inner - from), int16_t{0});
          const Stretch inside = {0, outer - inner};
          widen(data + offset + (inner - first), &inside, 1, 1, 0, out + (inner - from));
          std::fill(out + (outer - from), out + (high - from), int16_t{0});
        });
    if ((to - from) % 2 != 0) out[to - from] = 0;
  }

  void FindStretches() {
    for (int64_t from = 0; from < p_.depth; from += depth_) {
      const int64_t to = std::min(from + depth_, p_.depth);
      std::vector<Stretch>& stretches = stretches_.emplace_back();
      p_.window->ForEachPart(
          {}, [&](int64_t offset, int64_t first, int64_t length, int64_t, int64_t) {
            const int64_t low = std::max(first, from), high = std::min(first + length, to);
            if (low < high) stretches.push_back({offset + (low - first), high - low});
          });
    }
  }

  Product p_;
  // For each `depth_` elements of an inner pixel's row: their offset for the first pixel.
  std::vector<std::vector<Stretch>> stretches_;
  const Tiles& tiles_;
  int threads_;
  int64_t depth_, stride_, width_;  // depth of blocks; between rows; columns of a panel
  int64_t block_rows_, blocks_, panels_, splits_;
};

}  // namespace

const Tiles& BestTiles() {
  if (onednn_faults::Uses(dnnl::cpu_isa::avx512_core)) return kTilesAvx512;
  return onednn_faults::Uses(dnnl::cpu_isa::avx2) ? kTilesAvx2 : kTilesSse41;
}

std::shared_ptr<const RowsKernel> MakeProduct(Product product) {
  return std::make_shared<ProductKernel>(std::move(product), BestTiles(), omp_get_max_threads());
}

}  // namespace byoc_lab
