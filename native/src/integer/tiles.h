// Products of 8-bit integers, exact on every x86-64 processor with SSE4.1: operands are widened to
// int16, and pairs of products are summed in int32 (pmaddwd). oneDNN's kernels for processors
// without VNNI sum pairs of products in int16, which saturates.
//
// The sources tiles_*.cc compile the same templates (tiles.inc), each for one instruction set. They
// include no header that defines inline functions: the linker could take a copy of such a function
// that uses instructions which the processor does not have.
#ifndef BYOC_LAB_TILES_H_
#define BYOC_LAB_TILES_H_

#include <cstdint>

namespace byoc_lab {

constexpr int64_t kPanel = 16;  // adjacent columns in the right operand's memory

// Elements adjacent both in the left operand's memory and in a row.
struct Stretch {
  int64_t offset, length;
};

// The kernels for one instruction set. Rows are int16. A packed panel has a width of `kPanel` or
// `width` columns of int16, two rows of the right operand interleaved: pairs[p][column][2].
struct Tiles {
  const char* name;
  int64_t rows;      // rows of the largest tile
  int64_t width;     // columns of the largest tile, a multiple of kPanel
  int64_t channels;  // channels that one step of `depthwise` computes

  // sums[row][column] (+)= the products of `count` rows with a panel, over 2 * `pairs` elements.
  // count <= rows, columns <= panel_width. add: adds to the present values of `sums`.
  void (*multiply)(const int16_t* rows, int64_t row_stride, int64_t count, const int16_t* panel,
                   int64_t panel_width, int64_t pairs, int32_t* sums, int64_t sums_stride,
                   int64_t columns, bool add);

  // Pixels of a depthwise convolution: sums[p][c] = the sum over taps of
  // (taps[t][p * tap_step + c] - zero) * weight[t][c], for `count` channels, a multiple of
  // `channels`. Pixels of sums are `sums_step` apart.
  // pairs: weights of two taps interleaved, packed by `pack_depthwise`.
  void (*depthwise)(const void* const* taps, int64_t tap_count, bool is_signed, int16_t zero,
                    const int16_t* pairs, int64_t count, int64_t pixels, int64_t tap_step,
                    int32_t* sums, int64_t sums_step);

  // Packs the first `count` of `channels` weights of each tap, a multiple of `channels` in this
  // struct, into count * (tap_count rounded up to an even number) elements.
  // weights: [tap][channel].
  void (*pack_depthwise)(const int8_t* weights, int64_t tap_count, int64_t channels, int64_t count,
                         int16_t* pairs);

  // Packs `depth` rows of the right operand, `row_stride` apart, each with 16 neighbours, into 16
  // columns of a panel of (depth + 1) / 2 pairs.
  void (*pack_panel)(const int8_t* right, int64_t row_stride, int64_t depth, int64_t panel_width,
                     int16_t* panel);

  // Converts rows of the left operand, `row_step` apart, to int16 rows, `out_step` apart: out[i] =
  // element i of the row's stretches - zero, and a 0 after an odd number of elements. Full vectors
  // are read if the `readable` elements at `from` allow it, and full vectors are written: up to one
  // vector after the last row of `out` is overwritten.
  void (*widen)(const void* from, bool is_signed, const Stretch* stretches, int64_t count,
                int64_t rows, int64_t row_step, int64_t readable, int16_t zero, int16_t* out,
                int64_t out_step);
};

extern const Tiles kTilesSse41, kTilesAvx2, kTilesAvx512;

}  // namespace byoc_lab

#endif  // BYOC_LAB_TILES_H_
