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
  char* data() const { return data_.get(); }
  int64_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<char, decltype(&std::free)> data_;
  int64_t bytes_;
};

using SharedMemory = std::shared_ptr<AlignedMemory>;

// Reorders constants, and gives what it has made already as long as somebody holds it: plans for
// several batches share the weights whose layouts agree.
class PackedConstants {
 public:
  // What `from`, laid out as `have`, is when laid out as `want`.
  SharedMemory Get(const SharedMemory& from, const MemoryDesc& have, const MemoryDesc& want);

 private:
  struct Made {
    std::weak_ptr<AlignedMemory> from, to;
    MemoryDesc have, want;
  };
  std::vector<Made> made_;
};

}  // namespace byoc_lab

#endif  // BYOC_LAB_CONSTANTS_H_
