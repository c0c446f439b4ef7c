#include "constants.h"

#include <algorithm>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace byoc_lab {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kHugePage = 2 << 20;

int64_t RoundUp(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

AlignedMemory::AlignedMemory(int64_t bytes) : owned_(nullptr, &std::free), bytes_(bytes) {
  const int64_t alignment = bytes < kHugePage ? kAlignment : kHugePage;
  const int64_t size = RoundUp(std::max<int64_t>(bytes, 1), alignment);
  owned_.reset(static_cast<char*>(std::aligned_alloc(alignment, size)));
  if (owned_ == nullptr) TVM_FFI_THROW(MemoryError) << "cannot allocate " << bytes << " bytes";
  data_ = owned_.get();
}

AlignedMemory::AlignedMemory(SharedMemory whole, int64_t offset, int64_t bytes)
    : owned_(nullptr, &std::free),
      whole_(std::move(whole)),
      data_(whole_->data() + offset),
      bytes_(bytes) {}

void AlignedMemory::UseHugePages() {
#ifdef __linux__
  // Advice: where it is not taken, pages are of the usual size.
  if (bytes_ >= kHugePage) madvise(data_, bytes_ / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
}

void PackedConstants::Expect(int64_t bytes) {
  expected_ = bytes;
  block_ = nullptr;
}

SharedMemory PackedConstants::Allocate(int64_t bytes) {
  // Blocked layouts fill channels up, so there may be more than was said.
  if (expected_ < kHugePage || bytes > expected_) return std::make_shared<AlignedMemory>(bytes);
  if (block_ == nullptr || used_ + bytes > block_->bytes()) {
    block_ = std::make_shared<AlignedMemory>(RoundUp(expected_, kHugePage));
    block_->UseHugePages();
    used_ = 0;
  }
  auto part = std::make_shared<AlignedMemory>(block_, used_, bytes);
  used_ += RoundUp(bytes, kAlignment);
  return part;
}

SharedMemory PackedConstants::Get(const SharedMemory& from, const MemoryDesc& have,
                                  const MemoryDesc& want) {
  made_.erase(std::remove_if(made_.begin(), made_.end(),
                             [](const Made& made) { return made.to.expired(); }),
              made_.end());
  for (const Made& made : made_) {
    if (made.from.lock() == from && made.have == have && made.want == want) return made.to.lock();
  }
  const SharedMemory to = Allocate(static_cast<int64_t>(want.get_size()));
  dnnl::stream stream(Cpu());
  const auto [src, dst] = Moved(have, want);
  dnnl::memory source(src, Cpu(), from->data()), target(dst, Cpu(), to->data());
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
  made_.push_back({from, to, have, want});
  return to;
}

}  // namespace byoc_lab
