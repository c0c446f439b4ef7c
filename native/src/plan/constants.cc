#include "plan/constants.h"

#include <algorithm>
#include <cstring>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "widths.h"

namespace byoc_lab {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kHugePage = 2 << 20;

int64_t WholeBlocks(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

Memory::Memory(int64_t bytes) : bytes_(bytes) {
  const int64_t alignment = bytes < kHugePage ? kAlignment : kHugePage;
  const int64_t size = WholeBlocks(std::max<int64_t>(bytes, 1), alignment);
  owned_.reset(static_cast<char*>(std::aligned_alloc(alignment, size)));
  if (owned_ == nullptr) TVM_FFI_THROW(MemoryError) << "cannot allocate " << bytes << " bytes";
  data_ = owned_.get();
}

Memory::Memory(SharedMemory whole, int64_t offset, int64_t bytes)
    : whole_(std::move(whole)), data_(whole_->data() + offset), bytes_(bytes) {}

Memory::Memory(ffi::Tensor owner, const void* data, int64_t bytes)
    : owner_(std::move(owner)),
      data_(const_cast<char*>(static_cast<const char*>(data))),
      bytes_(bytes) {}

bool Memory::IsAligned() const { return reinterpret_cast<uintptr_t>(data_) % kAlignment == 0; }

void Memory::UseHugePages() {
#ifdef __linux__
  // Advice: where it is not taken, pages are of the usual size.
  if (bytes_ >= kHugePage) madvise(data_, bytes_ / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
}

void ModuleMemory::Expect(int64_t bytes) {
  expected_ = bytes;
  used_ = 0;
  first_ = made_.size();
}

SharedMemory ModuleMemory::Allocate(int64_t bytes) {
  if (block_ == nullptr && expected_ >= kHugePage) {
    block_ = std::make_shared<Memory>(WholeBlocks(expected_, kHugePage));
    block_->UseHugePages();
  }
  // Blocked layouts fill channels up, so there may be more than was said.
  if (block_ == nullptr || used_ + bytes > block_->bytes()) return std::make_shared<Memory>(bytes);
  auto part = std::make_shared<Memory>(block_, used_, bytes);
  used_ += WholeBlocks(bytes, kAlignment);
  return part;
}

SharedMemory ModuleMemory::Pack(const SharedMemory& from, const MemoryDesc& have,
                                const MemoryDesc& want) {
  for (size_t i = 0; i < made_.size(); ++i) {
    const Made& made = made_[i];
    const bool overwritten = made.source != nullptr && i < first_;  // by the plan being built
    if (overwritten || made.have != have || made.want != want) continue;
    const SharedMemory to = made.to.lock();
    if (to != nullptr && made.from.lock() == from) return to;
  }
  const SharedMemory to = Allocate(static_cast<int64_t>(want.get_size()));
  made_.push_back({from, to, have, want, from});
  return to;
}

SharedMemory ModuleMemory::Aligned(const SharedMemory& from) {
  if (from->IsAligned()) return from;
  for (const auto& [source, made] : aligned_) {
    const SharedMemory to = made.lock();
    if (to != nullptr && source.lock() == from) return to;
  }
  const auto to = std::make_shared<Memory>(from->bytes());
  to->UseHugePages();
  std::memcpy(to->data(), from->data(), from->bytes());
  aligned_.push_back({from, to});
  return to;
}

SharedMemory ModuleMemory::Workspace(int64_t bytes) {
  SharedMemory workspace = workspace_.lock();
  if (workspace == nullptr || workspace->bytes() < bytes) {
    workspace = std::make_shared<Memory>(WholeBlocks(bytes, bytes < kHugePage ? kAlignment : kHugePage));
    workspace->UseHugePages();
    workspace_ = workspace;
  }
  return workspace;
}

void ModuleMemory::Blank() {
  for (const Made& made : made_) {
    const SharedMemory to = made.source == nullptr ? nullptr : made.to.lock();
    if (to != nullptr) std::memset(to->data(), 0, to->bytes());
  }
  const SharedMemory workspace = workspace_.lock();
  if (workspace != nullptr) std::memset(workspace->data(), 0, workspace->bytes());
}

void ModuleMemory::Settle() {
  // The last one first, for what is made of another constant holds that one.
  for (size_t i = made_.size(); i-- > 0;) {
    if (made_[i].to.expired()) made_.erase(made_.begin() + i);
  }
  dnnl::stream stream(Cpu());
  for (Made& made : made_) {
    if (made.source == nullptr) continue;
    SharedMemory from = made.source;
    MemoryDesc have = made.have;
    if (NeedsConversion(have, made.want)) {
      have = As(DType::f32, have);
      from = std::make_shared<Memory>(static_cast<int64_t>(have.get_size()));
      MakeConversion(DType::bf16, from->bytes() / static_cast<int64_t>(sizeof(float)))
          ->Run({made.source->data(), from->data()});
    }
    const auto [src, dst] = Moved(have, made.want);
    dnnl::memory source(src, Cpu(), from->data());
    dnnl::memory target(dst, Cpu(), made.to.lock()->data());
    dnnl::reorder(source, target).execute(stream, source, target);
    stream.wait();
    made.source = nullptr;
  }
  block_ = nullptr;
}

}  // namespace byoc_lab
