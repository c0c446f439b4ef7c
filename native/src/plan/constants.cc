#include "plan/constants.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>
#include <optional>
#include <unordered_map>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "widths.h"

namespace byoc_lab {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kHugePage = 2 << 20;

int64_t WholeBlocks(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

// The converted constants of all modules in the process, by the address of the constant. An entry
// is valid while its constant is alive: later, other data may be at this address.
class SharedConstants {
 public:
  // The layout of the constant and that of the copy. None: the copy differs only in its alignment.
  using Layouts = std::optional<std::pair<MemoryDesc, MemoryDesc>>;

  SharedMemory Find(const SharedMemory& from, const Layouts& layouts) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [begin, end] = copies_.equal_range(from->data());
    for (auto it = begin; it != end; ++it) {
      const SharedMemory source = it->second.from.lock(), to = it->second.to.lock();
      const bool same = source != nullptr && source->bytes() == from->bytes();
      if (to != nullptr && same && it->second.layouts == layouts) return to;
    }
    return nullptr;
  }

  void Add(const SharedMemory& from, const SharedMemory& to, const Layouts& layouts) {
    const std::lock_guard<std::mutex> lock(mutex_);
    copies_.insert({from->data(), {from, to, layouts}});
  }

  void DropExpired() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto it = copies_.begin(); it != copies_.end();) {
      const bool gone = it->second.from.expired() || it->second.to.expired();
      it = gone ? copies_.erase(it) : std::next(it);
    }
  }

 private:
  struct Copy {
    std::weak_ptr<Memory> from, to;
    Layouts layouts;
  };
  std::mutex mutex_;
  std::unordered_multimap<const void*, Copy> copies_;
};

SharedConstants& Shared() {
  static auto* shared = new SharedConstants();  // never destroyed: modules may live longer
  return *shared;
}

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
  // Only advice: if the system ignores it, pages have the usual size.
  if (bytes_ >= kHugePage) madvise(data_, bytes_ / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
}

void Rearrange(const Memory& from, MemoryDesc have, const MemoryDesc& want, char* to) {
  char* data = from.data();
  std::optional<Memory> wide;
  if (NeedsConversion(have, want)) {
    have = As(DType::f32, have);
    wide.emplace(static_cast<int64_t>(have.get_size()));
    MakeConversion(DType::bf16, wide->bytes() / static_cast<int64_t>(sizeof(float)))
        ->Run({data, wide->data()});
    data = wide->data();
  }
  const auto [src, dst] = Moved(have, want);
  dnnl::memory source(src, Cpu(), data), target(dst, Cpu(), to);
  dnnl::stream stream(Cpu());
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
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
  // Blocked layouts pad channels, so the size may exceed the estimate.
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
  if (SharedMemory shared = Shared().Find(from, {{have, want}})) return shared;
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
  if (SharedMemory shared = Shared().Find(from, std::nullopt)) return shared;
  const auto to = std::make_shared<Memory>(from->bytes());
  to->UseHugePages();
  std::memcpy(to->data(), from->data(), from->bytes());
  aligned_.push_back({from, to});
  Shared().Add(from, to, std::nullopt);
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
  // In reverse order: a copy of a copy keeps the first copy alive.
  for (size_t i = made_.size(); i-- > 0;) {
    if (made_[i].to.expired()) made_.erase(made_.begin() + i);
  }
  for (Made& made : made_) {
    if (made.source == nullptr) continue;
    const SharedMemory to = made.to.lock();
    Rearrange(*made.source, made.have, made.want, to->data());
    Shared().Add(made.source, to, {{made.have, made.want}});
    made.source = nullptr;
  }
  Shared().DropExpired();
  block_ = nullptr;
}

int64_t ModuleMemory::made_bytes() const {
  int64_t bytes = 0;
  const auto add = [&bytes](const std::weak_ptr<Memory>& made) {
    const SharedMemory memory = made.lock();
    if (memory != nullptr) bytes += memory->bytes();
  };
  for (const Made& made : made_) add(made.to);
  for (const auto& [source, made] : aligned_) add(made);
  return bytes;
}

}  // namespace byoc_lab
