// The memory of a module: its constants, as given and in the layouts that its plans read, and space
// for temporaries.
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
  // Memory owned by this library, aligned to 64 bytes (a cache line, and a vector of AVX-512).
  // Raises MemoryError if there is not enough.
  explicit Memory(int64_t bytes);
  // A part of `whole`, which is kept alive by its parts.
  Memory(std::shared_ptr<Memory> whole, int64_t offset, int64_t bytes);
  // `bytes` at `data`, owned by `owner` and only read, with any alignment.
  Memory(ffi::Tensor owner, const void* data, int64_t bytes);

  char* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  bool IsAligned() const;
  // Requests huge pages from the system, if it has them.
  void UseHugePages();

 private:
  std::unique_ptr<char, decltype(&std::free)> owned_{nullptr, &std::free};
  std::shared_ptr<Memory> whole_;
  ffi::Optional<ffi::Tensor> owner_;
  char* data_;
  int64_t bytes_;
};

using SharedMemory = std::shared_ptr<Memory>;

// A constant of a graph in the caller's memory, with axes in any order: a transposed weight is
// packed from the memory of the weight.
struct Constant {
  SharedMemory memory;
  MemoryDesc desc;
};

// Writes `from`, which has the layout `have`, in the layout `want`.
void Rearrange(const Memory& from, MemoryDesc have, const MemoryDesc& want, char* to);

// Data shared by the plans of a module, of which one runs at a time: constants in other layouts, as
// long as a plan holds them, and the memory of temporaries.
//
// A plan is built without packing its constants; Settle packs those of the remaining plans. Until
// then plans use the same memory, so that plans that are only tried leave none behind: touching a
// page for the first time can cost more than the trial.
//
// Modules with the same constant also share its copies: a weight that many regions read is in
// memory once per layout.
//
// Weights are adjacent on huge pages: late layers of a network read megabytes of them once, and a
// prefetcher stops at the end of a page.
class ModuleMemory {
 public:
  // The constants of a plan follow, about `bytes` in total.
  void Expect(int64_t bytes);
  // Memory for `from`, which has the layout `have`, in the layout `want`.
  SharedMemory Pack(const SharedMemory& from, const MemoryDesc& have, const MemoryDesc& want);
  // `from`, aligned as kernels need for fast reads.
  SharedMemory Aligned(const SharedMemory& from);
  // Memory for temporaries, at least `bytes`.
  SharedMemory Workspace(int64_t bytes);
  // Touches and zeroes the memory given since the last Settle, so that plans can run on it.
  void Blank();
  // Packs the copies that are still held.
  void Settle();
  // Bytes of the copies of constants made by this module; it may also read copies made by other
  // modules.
  int64_t made_bytes() const;

 private:
  struct Made {
    std::weak_ptr<Memory> from, to;
    MemoryDesc have, want;
    SharedMemory source;  // the same as `from`, until it is packed
  };
  SharedMemory Allocate(int64_t bytes);

  std::vector<Made> made_;
  size_t first_ = 0;              // index of the first copy for the plan being built
  int64_t expected_ = 0;          // expected bytes of the plan's constants
  SharedMemory block_ = nullptr;  // holds the copies made since the last Settle
  int64_t used_ = 0;              // used bytes of block_
  std::vector<std::pair<std::weak_ptr<Memory>, std::weak_ptr<Memory>>> aligned_;  // original, copy
  std::weak_ptr<Memory> workspace_;
};

}  // namespace byoc_lab

#endif  // BYOC_LAB_CONSTANTS_H_
