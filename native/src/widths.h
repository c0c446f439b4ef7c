// Elements of bfloat16 as float32, and back.
#ifndef BYOC_LAB_WIDTHS_H_
#define BYOC_LAB_WIDTHS_H_

#include <cstdint>
#include <memory>

#include "op.h"

namespace byoc_lab {

// Whether memory in one layout has to be converted to have the other: the types differ, and oneDNN's
// reorders between them are plain loops, a hundred times slower, as they are without AVX512-BF16.
bool NeedsConversion(const MemoryDesc& from, const MemoryDesc& to);

// A kernel that converts `count` elements, of bfloat16 to float32 or the reverse, to the nearest,
// halves to the even neighbour.
std::shared_ptr<const OwnKernel> MakeConversion(DType from, int64_t count);

}  // namespace byoc_lab

#endif  // BYOC_LAB_WIDTHS_H_
