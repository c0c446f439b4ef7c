// A convolution of integers and the requantize or dequantize that reads it, taken together a band of
// rows at a time.
#ifndef BYOC_LAB_BANDED_H_
#define BYOC_LAB_BANDED_H_

#include <optional>

#include "op.h"

namespace byoc_lab {

// Whether `next`, an operator that reads the result of `product` as its first operand, may be
// computed together with it: a convolution of integers and its requantize or dequantize. Of
// oneDNN's convolutions only those are cut that are matrix products.
bool FitsInBands(const OpDef& product_def, const OpCall& product, const OpDef& next_def,
                 const OpCall& next);

// Both as one step: operands are those of `product`, then those of `next` but its first. Each
// thread computes a band of sums, which stay in its cache, and rescales them at once: sums of four
// bytes for every byte of the result would else go to memory and come back, half of them to the
// other core. Nothing where oneDNN wants other layouts than channels last.
std::optional<Built> MakeBanded(const OpDef& product_def, const OpCall& product,
                                const OpDef& next_def, const OpCall& next);

}  // namespace byoc_lab

#endif  // BYOC_LAB_BANDED_H_
