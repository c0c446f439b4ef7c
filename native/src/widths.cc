#include "widths.h"

#include "threads.h"
#include "vectorized.h"

namespace byoc_lab {

VECTORIZED void Widen(const uint16_t* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = Real(from[i]);
}

VECTORIZED void Narrow(const float* from, int64_t count, uint16_t* to) {
  for (int64_t i = 0; i < count; ++i) Put(from[i], &to[i]);
}

namespace {

class Conversion : public OwnKernel {
 public:
  Conversion(DType from, int64_t count)
      : widens_(from == DType::bf16),
        count_(count),
        threads_(ThreadsFor(count, count)) {}

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
