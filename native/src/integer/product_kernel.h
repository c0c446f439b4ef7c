// The blocked matrix product that convolutions, dense layers and matmuls of integers run as, and the
// depthwise convolution, which is none.
#ifndef BYOC_LAB_PRODUCT_KERNEL_H_
#define BYOC_LAB_PRODUCT_KERNEL_H_

#include <optional>
#include <vector>

#include "op.h"

namespace byoc_lab {

// A convolution's window over data with channels last; always three spatial axes, those that are
// absent have size 1.
struct Sliding {
  int64_t channels, group_channels;
  std::vector<int64_t> size, result, taps, strides, steps, before;  // steps: the dilation

  // A pixel of the result: its image, and its place along the three spatial axes.
  struct Pixel {
    int64_t image, z, y, x;
  };
  Pixel PixelOf(int64_t row) const;
  // The next pixel of the result. Rows follow each other, and divisions would cost as much as the
  // products of a row with few channels.
  void Advance(Pixel* pixel) const;
  // Whether all taps lie inside the data: along one axis for the pixels at `place`, and of a pixel.
  bool IsInner(int axis, int64_t place) const;
  bool IsInner(const Pixel& pixel) const;
  // How far the taps of a pixel lie behind those of the first pixel, in elements.
  int64_t OffsetOf(const Pixel& pixel) const;

  // Calls each(offset, first, length, begin, end) for the parts of the row that belongs to a pixel
  // of the result: elements [first, first + length) of the row are those at `offset` of the data,
  // of which only [begin, end) lie inside it; the others are padding.
  template <typename Each>
  void ForEachPart(const Pixel& pixel, const Each& each) const;
};

// sums = left * right for each of `batches`: left (rows, depth), right (depth, columns).
struct Product {
  int64_t batches, rows, depth, columns;
  std::vector<int64_t> left_at, right_at, sums_at;  // offsets of each batch, in elements
  int64_t sums_stride;                              // between rows
  int64_t left_row = 0, left_step = 0;              // strides of the left operand
  std::optional<Sliding> window = std::nullopt;     // in place of these strides
  // Strides of the right operand, between its rows, neighbours and panels of columns. Where
  // neighbours are adjacent, the last panel is padded to its full width.
  int64_t right_row = 0, right_step = 0, right_panel = 0;
  // Groups of a convolution in one batch, side by side in a panel: their weights (O, I, taps) fill the
  // panel's diagonal, and the rest is 0. For groups that are much narrower than a panel.
  int64_t merged = 1, merged_inputs = 0, merged_outputs = 0;
  int64_t left_size;  // elements of the left operand
  bool is_signed;
  int16_t zero;  // is taken off the left operand
};

// Kernels with memory for their threads: operands are left, right, sums, then that memory.
struct IntegerKernel {
  std::shared_ptr<const OwnKernel> kernel;
  int64_t scratch_bytes;
  std::string impl;
};
IntegerKernel MakeProduct(Product product);
// One input channel and one output channel in each group; weights [tap][channel].
IntegerKernel MakeDepthwise(Sliding window, int64_t images, bool is_signed, int16_t zero);

}  // namespace byoc_lab

#endif  // BYOC_LAB_PRODUCT_KERNEL_H_
