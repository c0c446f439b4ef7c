// Pooling of row-major data, one plane after another: rows of a window together, then along the row.
#ifndef BYOC_LAB_PLANES_H_
#define BYOC_LAB_PLANES_H_

#include <memory>

#include "windows.h"

namespace byoc_lab {

enum class Pooling { kMax, kMeanOfAll, kMeanOfData };  // padded zeros counted, and not

// A kernel for row-major data (N, C, [D, [H,]] W) of float32 or bfloat16 and a row-major result of
// shape `dst`.
std::shared_ptr<const OwnKernel> MakePlanePool(Pooling pooling, const Operand& data,
                                               const Dims& taps, const Window& window,
                                               const Dims& dst);

}  // namespace byoc_lab

#endif  // BYOC_LAB_PLANES_H_
