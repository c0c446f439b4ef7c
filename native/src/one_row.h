// The product of one row and the transpose of a constant matrix, which takes as long as reading the
// matrix: `dense` with a batch of 1, such as the steps of recurrent networks.
#ifndef BYOC_LAB_ONE_ROW_H_
#define BYOC_LAB_ONE_ROW_H_

#include <optional>

#include "op.h"

namespace byoc_lab {

// A kernel of this library for a `dense`, with its weight packed in panels of columns. Null for
// other batches and types, few columns, weights that are not constants, post-ops other than sums,
// products, tanh, sigmoid and linear, and processors without AVX2.
std::optional<Built> MakeOneRow(const OpCall& call, const Dims& dst,
                                const dnnl::primitive_attr& attr);

}  // namespace byoc_lab

#endif  // BYOC_LAB_ONE_ROW_H_
