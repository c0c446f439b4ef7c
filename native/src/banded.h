// A convolution of integers and the requantize or dequantize that reads it, computed together, one
// band of rows at a time.
#ifndef BYOC_LAB_BANDED_H_
#define BYOC_LAB_BANDED_H_

#include <optional>

#include "op.h"

namespace byoc_lab {

// Whether `next`, which reads the result of `product` as its first operand, may be computed
// together with it: `product` is a convolution of integers and `next` its requantize or dequantize.
// Of oneDNN's convolutions, only those that are matrix products can be split.
bool FitsInBands(const OpDef& product_def, const OpCall& product, const OpDef& next_def,
                 const OpCall& next);

// Both operators as one step: its operands are those of `product`, then those of `next` except its
// first. Each thread computes a band of sums, which stays in its cache, and rescales it at once.
// Otherwise four bytes of sums for each byte of the result would be written to memory and read
// back, half of them by the other core. Null if oneDNN requires layouts other than channels last.
std::optional<Built> MakeBanded(const OpDef& product_def, const OpCall& product,
                                const OpDef& next_def, const OpCall& next);

}  // namespace byoc_lab

#endif  // BYOC_LAB_BANDED_H_
