// A graph prepared to run: primitives created once, constants reordered once, all temporaries
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

// A piece of memory that steps read and write. Only kArena buffers share memory, if their lifetimes
// do not overlap.
struct Buffer {
  enum class Kind { kInput, kOutput, kConstant, kArena, kPart };
  Kind kind;
  int64_t bytes;
  int index = -1;  // kInput, kOutput: position in the graph's list; kPart: containing buffer
  SharedMemory owned = nullptr;          // kConstant
  int64_t offset = 0;                    // from the start of the arena (kArena) or buffer (kPart)
  int first_step = -1, last_step = -1;   // kArena: the steps during which it is live
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
  bool reorder;  // moves data to another layout or place, and computes nothing
  std::shared_ptr<const OwnKernel> own = nullptr;  // instead of the primitive
};

// The implementation of one op, for get_stats.
struct OpReport {
  std::string impl;
  std::vector<std::string> layouts;  // the layout of each input
  std::string dst_layout;
  std::vector<std::string> post_ops;  // as executed: an add may have become a sum
  size_t fused = 0;                   // number of post-ops that are fused into the primitive
  std::vector<std::string> separate_impls;  // kernels of separate post-ops
  int64_t bytes = 0;  // read and written by the primitives, not counting reorders
  int reorders = 0;
};

// How the layouts of convolutions are chosen: blocks of channels for all; the fastest by running
// the plan, which may differ next time; or oneDNN's preference for each.
enum class LayoutRule { kFixed, kMeasured, kAny };

LayoutRule ReadLayoutRule(const std::string& name);
std::string LayoutRuleName(LayoutRule rule);

// The layouts of a plan, and the seconds of a run for each tried choice.
struct LayoutChoice {
  LayoutRule rule = LayoutRule::kFixed;
  std::vector<Layouts> layouts;  // one per op; empty if they are not chosen yet
  std::map<std::string, double> seconds;

  // "blocked", "any", or "mixed" if ops differ.
  std::string name() const;
};

class Plan {
 public:
  LayoutChoice choice;

  // Takes the parts made by BuildPlan. Temporaries are in memory that other plans use, too.
  Plan(std::vector<Step> steps, std::vector<Buffer> buffers, std::vector<OpReport> reports,
       ModuleMemory* memory);

  // Runs the steps. `inputs` and `outputs` are row-major, in the graph's order, and checked.
  // Adds the time of each step to the entry of its op in `op_seconds` (op -1 is last), unless that
  // is null.
  void Run(const std::vector<void*>& inputs, const std::vector<void*>& outputs,
           std::vector<double>* op_seconds);

  // Runs only the primitives, `times` times, on the memory of the last Run.
  void Repeat(int64_t times);

  const std::vector<OpReport>& reports() const { return reports_; }
  size_t num_steps() const { return steps_.size(); }
  int64_t arena_bytes() const { return arena_bytes_; }
  int64_t scratchpad_bytes() const { return scratchpad_bytes_; }
  // Adds the constants that the steps read.
  void AddConstants(std::set<SharedMemory>* constants) const;

 private:
  struct Bound {  // memory objects to be bound to the caller's arrays
    dnnl_memory_t memory;
    size_t step, operand;  // its position in own_operands_
    bool output;
    int index;
    int64_t offset;
  };

  // The buffer whose memory contains a buffer: the buffer itself, unless it is a part.
  Buffer& Whole(Buffer& buffer);
  void PlaceArena();
  void Execute(size_t step);

  std::vector<Step> steps_;
  std::vector<Buffer> buffers_;
  std::vector<OpReport> reports_;
  int64_t arena_bytes_ = 0, scratchpad_bytes_ = 0;
  SharedMemory workspace_;  // the arena, then the scratchpad
  std::vector<dnnl::memory> memories_;
  std::vector<std::vector<dnnl_exec_arg_t>> args_;  // one list per step
  std::vector<std::vector<void*>> own_operands_;    // per step, for kernels of this library
  std::vector<Bound> bound_;
  dnnl::stream stream_;
};

// Fuses post-ops and creates the primitives; `layouts` has one entry per op. `constants` are in the
// graph's order; the plan can run after `memory->Settle()`. The number of threads is OpenMP's
// number in the calling thread.
std::unique_ptr<Plan> BuildPlanIn(const std::vector<Layouts>& layouts, const GraphSpec& graph,
                                  const std::vector<Constant>& constants,
                                  ModuleMemory* memory);

// The same with the layouts of `chosen` or, if it has none, with those that its rule chooses: for
// `measured`, all choices are run if the graph is large enough.
std::unique_ptr<Plan> BuildPlan(const LayoutChoice& chosen, const GraphSpec& graph,
                                const std::vector<Constant>& constants, ModuleMemory* memory);

// Seconds per run, for `times` runs of the primitives in a loop, on separate memory: the time of a
// call without checks and binding.
double TimeBare(const GraphSpec& graph, Plan* plan, int64_t times);

}  // namespace byoc_lab

#endif  // BYOC_LAB_PLAN_H_
