// Conversion of bfloat16 elements to float32, and back.
#ifndef BYOC_LAB_WIDTHS_H_
#define BYOC_LAB_WIDTHS_H_

#include <cstdint>
#include <cstring>
#include <memory>

#include "op.h"

namespace byoc_lab {

#define BYOC_LAB_INLINED inline __attribute__((always_inline))

// An element as float32, and float32 as an element: rounded to nearest, halves to even.
BYOC_LAB_INLINED float Real(float element) { return element; }
BYOC_LAB_INLINED float Real(uint16_t element) {
  const uint32_t bits = static_cast<uint32_t>(element) << 16;
  float real;
  std::memcpy(&real, &bits, sizeof(bits));
  return real;
}
BYOC_LAB_INLINED void Put(float real, float* element) { *element = real; }
BYOC_LAB_INLINED void Put(float real, uint16_t* element) {
  uint32_t bits;
  std::memcpy(&bits, &real, sizeof(bits));
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const uint32_t nan = bits >> 16 | 0x40;  // its payload may be in the truncated bits
  *element = static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

#undef BYOC_LAB_INLINED

// The same for `count` elements.
void Widen(const uint16_t* from, int64_t count, float* to);
void Narrow(const float* from, int64_t count, uint16_t* to);

// Whether memory in one layout must be converted by this library to the other: the types differ,
// and oneDNN's reorders between them are plain loops, a hundred times slower, as they are without
// AVX512-BF16.
bool NeedsConversion(const MemoryDesc& from, const MemoryDesc& to);

// A kernel that converts `count` elements, of bfloat16 to float32 or the reverse.
std::shared_ptr<const OwnKernel> MakeConversion(DType from, int64_t count);

}  // namespace byoc_lab

#endif  // BYOC_LAB_WIDTHS_H_
