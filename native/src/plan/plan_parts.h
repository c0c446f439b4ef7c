// Parts of a plan: buffers, the layouts in which each tensor is held, and steps.
#ifndef BYOC_LAB_PLAN_PARTS_H_
#define BYOC_LAB_PLAN_PARTS_H_

#include <vector>

#include "plan/plan.h"

namespace byoc_lab {

dnnl::primitive_attr UserScratchpad();

class PlanParts {
 protected:
  // A tensor may be held in several layouts at once; the first is the one in which it was computed.
  struct Version {
    MemoryDesc desc;
    int buffer;
  };

  // The inputs and constants of `graph` are there from the start, inputs row-major.
  PlanParts(const GraphSpec& graph, const std::vector<Constant>& constants,
            ModuleMemory* memory);

  int Add(Buffer buffer);
  int AddArena(const MemoryDesc& desc);
  int AddConstant(SharedMemory memory);
  void Record(int tensor, const MemoryDesc& desc, int buffer);
  void AddReorder(const Version& from, const Version& to, int op);
  // The same for a conversion between bfloat16 and float32 by a kernel of this library.
  void AddConversion(const Version& from, const Version& to, int op);

  // The buffer with `tensor` in the layout `want`; it is reordered for `op` unless it exists.
  // Constants are reordered when the memory settles.
  int Provide(int tensor, const MemoryDesc& want, int op);

  // The result of an op that computes nothing: a version of its operand.
  void AddView(int index);

  // A result that stays in the operand's memory, if possible. Constants are not read in part: they
  // are packed and dropped as a whole.
  bool AddPart(int index);
  bool IsConstant(const Version& version) const;

  // Drops constants that were only needed in another layout, and aligns the constants that are
  // read.
  void SettleConstants();

  const GraphSpec& graph_;
  ModuleMemory* memory_;
  std::vector<std::vector<Version>> versions_;  // versions of each tensor
  std::vector<Buffer> buffers_;
  std::vector<Step> steps_;
  std::vector<OpReport> reports_;
};

}  // namespace byoc_lab

#endif  // BYOC_LAB_PLAN_PARTS_H_
