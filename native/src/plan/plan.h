// A graph made ready to run: primitives created once, constants reordered once, every temporary
// placed in one arena.
#ifndef BYOC_LAB_PLAN_H_
#define BYOC_LAB_PLAN_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "plan/constants.h"
#include "graph_spec.h"

namespace byoc_lab {

// A piece of memory that steps read and write. Only kArena buffers share memory, at times when
// not both are in use.
struct Buffer {
  enum class Kind { kInput, kOutput, kConstant, kArena, kPart };
  Kind kind;
  int64_t bytes;
  int index = -1;  // kInput, kOutput: position among the graph's; kPart: the buffer it is part of
  SharedMemory owned = nullptr;          // kConstant
  int64_t offset = 0;                    // kArena, from the arena's start; kPart, from that buffer's
  int first_step = -1, last_step = -1;   // kArena: the steps it must live through
};

// One primitive with its operands.
struct Step {
  struct Operand {
    int arg;  // DNNL_ARG_*
    int buffer;
    MemoryDesc desc;
  };
  dnnl::primitive primitive;
  std::vector<Operand> operands;
  MemoryDesc scratchpad;
  int op;        // position in the graph's ops; -1 for a copy between the graph's edges
  bool reorder;  // moves data into another layout or place, and computes nothing
  std::shared_ptr<const OwnKernel> own = nullptr;  // instead of the primitive
};

// What became of one op, for get_stats.
struct OpReport {
  std::string impl;
  std::vector<std::string> layouts;  // of each input
  std::string dst_layout;
  std::vector<std::string> post_ops;  // as they run: an add may have become a sum
  size_t fused = 0;                   // how many of them the primitive does itself
  std::vector<std::string> separate_impls;  // of the post-ops that follow as primitives
  int64_t bytes = 0;  // read and written by the primitives, not counting reorders
  int reorders = 0;
};

// How the layouts of convolutions are chosen: blocks of channels for all; the quickest way, found by
// running the plan, which another time may be another one; or what oneDNN prefers for each.
enum class LayoutRule { kFixed, kMeasured, kAny };

LayoutRule ReadLayoutRule(const std::string& name);
std::string LayoutRuleName(LayoutRule rule);

// Which layouts a plan runs in, and the seconds of a run in each way that was tried.
struct LayoutChoice {
  LayoutRule rule = LayoutRule::kFixed;
  std::vector<Layouts> layouts;  // of each op; none where they are still to be chosen
  std::map<std::string, double> seconds;

  // "blocked", "any", or "mixed": some ops so, some so.
  std::string name() const;
};

class Plan {
 public:
  LayoutChoice choice;

  // Takes apart what BuildPlan put together. Temporaries lie in memory that other plans use too.
  Plan(std::vector<Step> steps, std::vector<Buffer> buffers, std::vector<OpReport> reports,
       ModuleMemory* memory);

  // Runs the steps. `inputs` and `outputs` are row-major, in the graph's order, and checked.
  // Adds each step's time to its op's in `op_seconds` (op -1 is last) unless it is null.
  void Run(const std::vector<void*>& inputs, const std::vector<void*>& outputs,
           std::vector<double>* op_seconds);

  // Runs the primitives `times` times on the memory of the last Run, and does nothing else.
  void Repeat(int64_t times);

  const std::vector<OpReport>& reports() const { return reports_; }
  size_t num_steps() const { return steps_.size(); }
  int64_t arena_bytes() const { return arena_bytes_; }
  int64_t scratchpad_bytes() const { return scratchpad_bytes_; }
  // Adds the constants that the steps read.
  void AddConstants(std::set<SharedMemory>* constants) const;

 private:
  struct Bound {  // memory objects to be pointed at what the caller passes
    dnnl_memory_t memory;
    bool output;
    int index;
    int64_t offset;
  };

  // The buffer whose memory a buffer is in: itself, if it is no part of another.
  Buffer& Whole(Buffer& buffer);
  void PlaceArena();
  void Execute(size_t step);

  std::vector<Step> steps_;
  std::vector<Buffer> buffers_;
  std::vector<OpReport> reports_;
  int64_t arena_bytes_ = 0, scratchpad_bytes_ = 0;
  SharedMemory workspace_;  // the arena, then the scratchpad
  std::vector<dnnl::memory> memories_;
  std::vector<std::vector<dnnl_exec_arg_t>> args_;  // of each step
  std::vector<Bound> bound_;
  dnnl::stream stream_;
};

// Fuses post-ops and creates the primitives; `layouts` are those of each op. `constants` are
// in the graph's order; the plan runs once `memory` has settled. The number of threads is
// OpenMP's in the calling thread.
std::unique_ptr<Plan> BuildPlanIn(const std::vector<Layouts>& layouts, const GraphSpec& graph,
                                  const std::vector<Constant>& constants,
                                  ModuleMemory* memory);

// The same in the layouts of `chosen`, or, where it has none, in those that its rule chooses: to
// measure, all ways are run where the graph is worth it.
std::unique_ptr<Plan> BuildPlan(const LayoutChoice& chosen, const GraphSpec& graph,
                                const std::vector<Constant>& constants, ModuleMemory* memory);

// Seconds of one of `times` runs of the primitives in a loop, on memory of its own: what a call
// would take if nothing were checked and bound.
double TimeBare(const GraphSpec& graph, Plan* plan, int64_t times);

}  // namespace byoc_lab

#endif  // BYOC_LAB_PLAN_H_
