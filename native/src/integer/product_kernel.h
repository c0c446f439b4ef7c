// The kernels for products of integers: a blocked matrix product, and a separate kernel for
// depthwise convolutions, which are not matrix products.
#ifndef BYOC_LAB_PRODUCT_KERNEL_H_
#define BYOC_LAB_PRODUCT_KERNEL_H_

#include <memory>
#include <optional>
#include <vector>

#include "integer/sliding.h"
#include "integer/tiles.h"
#include "op.h"

namespace byoc_lab {

inline int64_t Ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t RoundUp(int64_t a, int64_t b) { return Ceil(a, b) * b; }

// sums = left * right for each of `batches`: left (rows, depth), right (depth, columns).
struct Product {
  int64_t batches, rows, depth, columns;
  std::vector<int64_t> left_at, right_at, sums_at;  // offsets of each batch, in elements
  int64_t sums_stride;                              // between rows
  int64_t left_row = 0, left_step = 0;              // strides of the left operand
  std::optional<Sliding> window = std::nullopt;     // replaces these strides
  // Strides of the right operand: between its rows, neighbours and panels of columns. If neighbours
  // are adjacent, the last panel is padded to its full width.
  int64_t right_row = 0, right_step = 0, right_panel = 0;
  // Several groups of a convolution in one batch, side by side in a panel: their weights (O, I,
  // taps) fill the panel's diagonal, and the rest is 0. For groups much narrower than a panel.
  int64_t merged = 1, merged_inputs = 0, merged_outputs = 0;
  int64_t left_size;  // elements of the left operand
  bool is_signed;
  int16_t zero;  // subtracted from the left operand
};

// The kernels for the best instruction set that oneDNN may use.
const Tiles& BestTiles();

std::shared_ptr<const RowsKernel> MakeProduct(Product product);
// One input channel and one output channel in each group; weights [tap][channel].
std::shared_ptr<const RowsKernel> MakeDepthwise(Sliding window, int64_t images, bool is_signed,
                                                int16_t zero);

}  // namespace byoc_lab

#endif  // BYOC_LAB_PRODUCT_KERNEL_H_
