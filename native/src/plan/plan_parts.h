// What a plan is put together from: buffers, the layouts that each tensor is held in, and steps.
#ifndef BYOC_LAB_PLAN_PARTS_H_
#define BYOC_LAB_PLAN_PARTS_H_

#include <vector>

#include "plan/plan.h"

namespace byoc_lab {

dnnl::primitive_attr UserScratchpad();

class PlanParts {
 protected:
  // A tensor may be held in several layouts at once; the first is the one it was made in.
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
  // The same from bfloat16 to float32 or back, by a kernel of this library.
  void AddConversion(const Version& from, const Version& to, int op);

  // The buffer that holds `tensor` laid out as `want`, reordered for `op` unless it exists.
  // Constants are reordered when the memory settles.
  int Provide(int tensor, const MemoryDesc& want, int op);

  // The result of an op that computes nothing: a version of its operand.
  void AddView(int index);

  // A result that stays where it lies in the operand, if it can. Constants are not read in part: they
  // are packed and dropped as a whole.
  bool AddPart(int index);
  bool IsConstant(const Version& version) const;

  // Drops constants that were only needed in another layout, and aligns those that are read.
  void SettleConstants();

  const GraphSpec& graph_;
  ModuleMemory* memory_;
  std::vector<std::vector<Version>> versions_;  // of each tensor
  std::vector<Buffer> buffers_;
  std::vector<Step> steps_;
  std::vector<OpReport> reports_;
};

}  // namespace byoc_lab

#endif  // BYOC_LAB_PLAN_PARTS_H_
