#include "widths.h"

#include <omp.h>

#include <algorithm>
#include <cstring>

#include "vectorized.h"

namespace byoc_lab {
namespace {

constexpr int64_t kWorthThread = 1 << 15;  // elements: below, starting a thread costs more

VECTORIZED void Widen(const uint16_t* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = static_cast<uint32_t>(from[i]) << 16;
    std::memcpy(&to[i], &bits, sizeof(bits));
  }
}

VECTORIZED void Narrow(const float* from, int64_t count, uint16_t* to) {
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, &from[i], sizeof(bits));
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const uint32_t nan = bits >> 16 | 0x40;  // whose payload may lie in the bits that go
    to[i] = static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
  }
}

class Conversion : public OwnKernel {
 public:
  Conversion(DType from, int64_t count)
      : widens_(from == DType::bf16),
        count_(count),
        threads_(std::max<int64_t>(
            1, std::min<int64_t>(omp_get_max_threads(), count / kWorthThread))) {}

  void Run(const std::vector<void*>& operands) const final {
#pragma omp parallel for num_threads(static_cast<int>(threads_)) if (threads_ > 1)
    for (int64_t part = 0; part < threads_; ++part) {
      const int64_t first = count_ * part / threads_, end = count_ * (part + 1) / threads_;
      auto* narrow = static_cast<uint16_t*>(operands[widens_ ? 0 : 1]) + first;
      auto* wide = static_cast<float*>(operands[widens_ ? 1 : 0]) + first;
      if (widens_) {
        Widen(narrow, end - first, wide);
      } else {
        Narrow(wide, end - first, narrow);
      }
    }
  }

 private:
  bool widens_;
  int64_t count_, threads_;
};

}  // namespace

bool NeedsConversion(const MemoryDesc& from, const MemoryDesc& to) {
  return from.get_data_type() != to.get_data_type() &&
         onednn_faults::ComputedIn(DType::bf16) == DType::f32;
}

std::shared_ptr<const OwnKernel> MakeConversion(DType from, int64_t count) {
  return std::make_shared<Conversion>(from, count);
}

}  // namespace byoc_lab
