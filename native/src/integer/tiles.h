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

constexpr int64_t kPanel = 16;  // columns of a packed panel

// The kernels for one instruction set. Rows are int16. A panel has `kPanel` columns of int16, two
// rows of the right operand interleaved: pairs[p][column][2].
struct Tiles {
  const char* name;
  int64_t rows;      // rows of the largest tile
  int64_t channels;  // that one step of `depthwise` computes

  // sums[row][column] (+)= the products of `count` rows with a panel, over 2 * `pairs` elements.
  // count <= rows, columns <= kPanel. add: to what `sums` holds.
  void (*multiply)(const int16_t* rows, int64_t row_stride, int64_t count, const int16_t* panel,
                   int64_t pairs, int32_t* sums, int64_t sums_stride, int64_t columns, bool add);

  // One pixel of a depthwise convolution: sums[c] = the sum over taps of
  // (taps[t][c] - zero) * weight[t][c], for `count` channels, a multiple of `channels`.
  // pairs: weights of two taps interleaved, packed by `pack_depthwise`.
  void (*depthwise)(const void* const* taps, int64_t tap_count, bool is_signed, int16_t zero,
                    const int16_t* pairs, int64_t count, int32_t* sums);

  // Packs the first `count` of `channels` weights of each tap, a multiple of `channels` in this
  // struct, into count * (tap_count rounded up to an even number) elements.
  // weights: [tap][channel].
  void (*pack_depthwise)(const int8_t* weights, int64_t tap_count, int64_t channels, int64_t count,
                         int16_t* pairs);

  // Packs `depth` rows of the right operand, `row_stride` apart, each with 16 neighbours, into a
  // panel of (depth + 1) / 2 pairs.
  void (*pack_panel)(const int8_t* right, int64_t row_stride, int64_t depth, int16_t* panel);

  // out[i] = from[i] - zero, for `count` elements. Whole vectors are read where `readable` elements
  // allow it, and written: what `out` holds behind them is lost, up to one vector.
  void (*widen)(const void* from, bool is_signed, int64_t count, int64_t readable, int16_t zero,
                int16_t* out);
};

extern const Tiles kTilesSse41, kTilesAvx2, kTilesAvx512;

}  // namespace byoc_lab

#endif  // BYOC_LAB_TILES_H_
