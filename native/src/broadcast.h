// dst = a (op) b, element by element, for operands that broadcast along any axes.
#ifndef BYOC_LAB_BROADCAST_H_
#define BYOC_LAB_BROADCAST_H_

#include <memory>

#include "op.h"

namespace byoc_lab {

// A kernel for row-major operands of float32 or bfloat16, their shapes of the rank of `dst`. oneDNN
// has plain loops alone where an operand has neither one number for each channel nor all of them.
std::shared_ptr<const OwnKernel> MakeBroadcast(dnnl::algorithm alg, const Dims& a, const Dims& b,
                                               const Dims& dst, DType dtype);

}  // namespace byoc_lab

#endif  // BYOC_LAB_BROADCAST_H_
