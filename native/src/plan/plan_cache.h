// The plans of one graph: one for the stated shapes, and one for each other batch that it ran with.
#ifndef BYOC_LAB_PLAN_CACHE_H_
#define BYOC_LAB_PLAN_CACHE_H_

#include <list>
#include <memory>
#include <vector>

#include "plan/plan.h"

namespace byoc_lab {

// A graph with the shapes of one batch, ready to run.
struct Prepared {
  GraphSpec graph;
  std::unique_ptr<Plan> plan;
  int64_t threads = 1;  // number with which it was built and runs
  int64_t calls = 0;
};

// Not thread-safe: the module that owns it has the mutex.
class PlanCache {
 public:
  // Plans kept besides the one for the stated shapes; the least recently used one is dropped.
  static constexpr size_t kMostOthers = 7;

  // Builds the plan of the stated shapes, in the layouts that `chosen` has or its rule chooses. It
  // gets as many threads as its work is worth, at most OpenMP's number in the calling thread, and
  // exactly that number if set_num_threads gave it. So do all other plans, in the same layouts.
  // `constants` are in the graph's order.
  PlanCache(const LayoutChoice& chosen, const GraphSpec& graph,
            std::vector<Constant> constants);

  // The plan for inputs with these shapes, built now unless it is cached. Rebatched lists the
  // refused shapes. `where` begins the message of CheckNotForked.
  Prepared& Get(const std::string& where, const std::vector<ffi::ShapeView>& inputs);
  Prepared& latest() const { return *latest_; }  // used by the latest call

  int64_t made() const { return made_; }  // number of plans, including dropped ones
  // Each piece of memory once, however many plans read it.
  int64_t constant_bytes() const;
  int64_t made_constant_bytes() const { return memory_.made_bytes(); }
  const std::vector<Constant>& constants() const { return constants_; }
  const LayoutChoice& choice() const { return stated_.plan->choice; }
  // All cached plans: the stated shapes first, then the others, most recent first.
  std::vector<const Prepared*> all() const;

 private:
  std::vector<Constant> constants_;
  ModuleMemory memory_;
  int64_t ThreadsOf(const GraphSpec& graph) const;

  int64_t most_threads_;
  bool threads_stated_;
  int64_t made_ = 1;
  Prepared stated_;
  std::list<Prepared> others_;  // most recent first
  Prepared* latest_;
};

}  // namespace byoc_lab

#endif  // BYOC_LAB_PLAN_CACHE_H_
