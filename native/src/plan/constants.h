// The memory of a module: its constants, as they came and in the layouts its plans read them in, and
// room for temporaries.
#ifndef BYOC_LAB_CONSTANTS_H_
#define BYOC_LAB_CONSTANTS_H_

#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "op.h"

namespace byoc_lab {

class Memory {
 public:
  // Memory of our own, on a 64-byte boundary (a cache line, and a vector of AVX-512). MemoryError
  // when there is not that much.
  explicit Memory(int64_t bytes);
  // A part of `whole`, which lives as long as its parts.
  Memory(std::shared_ptr<Memory> whole, int64_t offset, int64_t bytes);
  // `bytes` at `data`, which are `owner`'s and only read, on whatever boundary they are.
  Memory(ffi::Tensor owner, const void* data, int64_t bytes);

  char* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  bool IsAligned() const;
  // Asks the system for huge pages, where it has them.
  void UseHugePages();

 private:
  std::unique_ptr<char, decltype(&std::free)> owned_{nullptr, &std::free};
  std::shared_ptr<Memory> whole_;
  ffi::Optional<ffi::Tensor> owner_;
  char* data_;
  int64_t bytes_;
};

using SharedMemory = std::shared_ptr<Memory>;

// A constant of a graph where the caller has it, its axes in any order: a transposed weight is packed
// from the memory of the weight.
struct Constant {
  SharedMemory memory;
  MemoryDesc desc;
};

// Writes what `from`, laid out as `have`, is when laid out as `want`.
void Rearrange(const Memory& from, MemoryDesc have, const MemoryDesc& want, char* to);

// What the plans of a module share, as one of them runs at a time: constants in another layout, as
// long as some plan holds them, and the memory of temporaries.
//
// A plan is built without packing its constants; Settle packs those of the plans that are left. Until
// then plans take the same memory, so that those that are only tried out leave none behind: a page
// that is touched for the first time can cost more than the trial.
//
// Modules that keep the same constant also share what is made of it: a weight that many regions read is
// in memory once for each layout.
//
// Weights lie together on huge pages: late layers of a network read megabytes of them once, and a
// prefetcher stops at the end of a page.
class ModuleMemory {
 public:
  // A plan's constants come now, about `bytes` of them in all.
  void Expect(int64_t bytes);
  // Memory for what `from`, laid out as `have`, is when laid out as `want`.
  SharedMemory Pack(const SharedMemory& from, const MemoryDesc& have, const MemoryDesc& want);
  // What `from` is, on a boundary that kernels read well from.
  SharedMemory Aligned(const SharedMemory& from);
  // Memory for temporaries, at least `bytes`.
  SharedMemory Workspace(int64_t bytes);
  // Touches what was given since the last Settle and makes it zeros, to run plans on it.
  void Blank();
  // Packs what is held of it.
  void Settle();
  // Bytes of the copies of constants that this module made; it may also read those of other modules.
  int64_t made_bytes() const;

 private:
  struct Made {
    std::weak_ptr<Memory> from, to;
    MemoryDesc have, want;
    SharedMemory source;  // the same as `from`, until it is packed
  };
  SharedMemory Allocate(int64_t bytes);

  std::vector<Made> made_;
  size_t first_ = 0;              // of those made for the plan that is being built
  int64_t expected_ = 0;          // bytes
  SharedMemory block_ = nullptr;  // of the plans since the last Settle
  int64_t used_ = 0;              // bytes of it
  std::vector<std::pair<std::weak_ptr<Memory>, std::weak_ptr<Memory>>> aligned_;  // from, to
  std::weak_ptr<Memory> workspace_;
};

}  // namespace byoc_lab

#endif  // BYOC_LAB_CONSTANTS_H_
