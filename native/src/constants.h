// The constants of a module in memory: as they came, and in the layouts its plans read them in.
#ifndef BYOC_LAB_CONSTANTS_H_
#define BYOC_LAB_CONSTANTS_H_

#include <cstdlib>
#include <memory>
#include <vector>

#include "op.h"

namespace byoc_lab {

// Memory on a 64-byte boundary (a cache line, and a vector of AVX-512).
class AlignedMemory {
 public:
  // MemoryError when there is not that much.
  explicit AlignedMemory(int64_t bytes);
  // A part of `whole`, which lives as long as its parts.
  AlignedMemory(std::shared_ptr<AlignedMemory> whole, int64_t offset, int64_t bytes);
  char* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  // Asks the system for huge pages, where it has them.
  void UseHugePages();

 private:
  std::unique_ptr<char, decltype(&std::free)> owned_;
  std::shared_ptr<AlignedMemory> whole_;
  char* data_;
  int64_t bytes_;
};

using SharedMemory = std::shared_ptr<AlignedMemory>;

// Reorders constants, and gives what it has made already as long as somebody holds it: plans for
// several batches share the weights whose layouts agree.
//
// Weights lie together on huge pages: late layers of a network read megabytes of them once, and a
// prefetcher stops at the end of a page.
class PackedConstants {
 public:
  // A plan's constants come now, about `bytes` of them in all: they get a block of their own, which
  // goes when they go.
  void Expect(int64_t bytes);
  // What `from`, laid out as `have`, is when laid out as `want`.
  SharedMemory Get(const SharedMemory& from, const MemoryDesc& have, const MemoryDesc& want);

 private:
  struct Made {
    std::weak_ptr<AlignedMemory> from, to;
    MemoryDesc have, want;
  };
  SharedMemory Allocate(int64_t bytes);

  std::vector<Made> made_;
  int64_t expected_ = 0;          // bytes
  SharedMemory block_ = nullptr;  // of the plan that is being built
  int64_t used_ = 0;              // bytes of it
};

}  // namespace byoc_lab

#endif  // BYOC_LAB_CONSTANTS_H_
