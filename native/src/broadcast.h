// dst = a (op) b, element by element, for operands that broadcast along any axes.
#ifndef BYOC_LAB_BROADCAST_H_
#define BYOC_LAB_BROADCAST_H_

#include <memory>

#include "op.h"

namespace byoc_lab {

// A kernel for row-major operands of float32 or bfloat16, with shapes of the same rank as `dst`.
// oneDNN has only plain loops for an operand that has neither one number per channel nor the full
// shape.
std::shared_ptr<const OwnKernel> MakeBroadcast(dnnl::algorithm alg, const Dims& a, const Dims& b,
                                               const Dims& dst, DType dtype);

}  // namespace byoc_lab

#endif  // BYOC_LAB_BROADCAST_H_
