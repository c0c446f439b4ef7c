#include "constants.h"

#include <algorithm>

namespace byoc_lab {
namespace {

constexpr int64_t kAlignment = 64;

}  // namespace

AlignedMemory::AlignedMemory(int64_t bytes) : data_(nullptr, &std::free), bytes_(bytes) {
  const int64_t size =
      (std::max<int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  data_.reset(static_cast<char*>(std::aligned_alloc(kAlignment, size)));
  if (data_ == nullptr) {
    TVM_FFI_THROW(MemoryError) << "cannot allocate " << bytes << " bytes";
  }
}

SharedMemory PackedConstants::Get(const SharedMemory& from, const MemoryDesc& have,
                                  const MemoryDesc& want) {
  made_.erase(std::remove_if(made_.begin(), made_.end(),
                             [](const Made& made) { return made.to.expired(); }),
              made_.end());
  for (const Made& made : made_) {
    if (made.from.lock() == from && made.have == have && made.want == want) return made.to.lock();
  }
  const auto to = std::make_shared<AlignedMemory>(static_cast<int64_t>(want.get_size()));
  dnnl::stream stream(Cpu());
  dnnl::memory source(have, Cpu(), from->data()), target(want, Cpu(), to->data());
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
  made_.push_back({from, to, have, want});
  return to;
}

}  // namespace byoc_lab
