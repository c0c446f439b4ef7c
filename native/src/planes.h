// Pooling of row-major data, plane by plane: first over the rows of a window, then along the row.
#ifndef BYOC_LAB_PLANES_H_
#define BYOC_LAB_PLANES_H_

#include <memory>

#include "windows.h"

namespace byoc_lab {

enum class Pooling { kMax, kMeanOfAll, kMeanOfData };  // with and without counting padded zeros

// A kernel for row-major data (N, C, [D, [H,]] W) of float32 or bfloat16 and a row-major result of
// shape `dst`.
std::shared_ptr<const OwnKernel> MakePlanePool(Pooling pooling, const Operand& data,
                                               const Dims& taps, const Window& window,
                                               const Dims& dst);

}  // namespace byoc_lab

#endif  // BYOC_LAB_PLANES_H_
