// Convolutions, dense layers and matrix products of 8-bit integers with int32 sums, for processors
// on which oneDNN's are not exact (onednn_faults::ProductsAreExact).
#ifndef BYOC_LAB_PRODUCTS_H_
#define BYOC_LAB_PRODUCTS_H_

#include <optional>

#include "op.h"

namespace byoc_lab {

// The operators conv*d, dense and matmul with integer operands, as kernels of this library. The
// result has the same bits on every processor.
Built MakeIntegerConv(const OpCall& call, const Dims& dst);
Built MakeIntegerDense(const OpCall& call, const Dims& dst);
Built MakeIntegerMatmul(const OpCall& call, const Dims& dst);

}  // namespace byoc_lab

#endif  // BYOC_LAB_PRODUCTS_H_
