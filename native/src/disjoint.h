// Transposed convolutions whose windows do not overlap: each pixel becomes a block of pixels.
#ifndef BYOC_LAB_DISJOINT_H_
#define BYOC_LAB_DISJOINT_H_

#include <optional>

#include "windows.h"

namespace byoc_lab {

// A kernel for row-major data of float32: the product of the weight and the data of a band of rows,
// then its rows interleaved. With few channels oneDNN's kernels take 1.1 to 20 times as long. Null for
// more channels, other windows, groups and types, or if oneDNN has no product for it.
std::optional<Built> MakeDisjoint(const OpCall& call, const Dims& dst);

}  // namespace byoc_lab

#endif  // BYOC_LAB_DISJOINT_H_
