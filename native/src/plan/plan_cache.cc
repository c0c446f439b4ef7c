#include "plan/plan_cache.h"

#include <algorithm>

#include "plan/batch.h"
#include "threads.h"

namespace byoc_lab {
namespace {

bool Fits(const GraphSpec& graph, const std::vector<ffi::ShapeView>& inputs) {
  return std::equal(inputs.begin(), inputs.end(), graph.inputs.begin(),
                    [&](const ffi::ShapeView& shape, int id) {
                      const Dims& dims = graph.tensors[id].dims;
                      return std::equal(shape.begin(), shape.end(), dims.begin(), dims.end());
                    });
}

// The number of elements that a graph computes: for each op those of the result or of the first
// operand, whichever are more; eight products of numbers count as one.
int64_t Work(const GraphSpec& graph) {
  constexpr int64_t kProducts = 8;
  int64_t work = 0;
  for (const OpSpec& op : graph.ops) {
    const Dims& result = graph.tensors[op.output].dims;
    const Dims& first = graph.tensors[op.inputs[0]].dims;
    work += std::max(Count(result), Count(first));
    const std::vector<std::string>& names = op.def->inputs;
    if (op.def->kind == "matmul") {
      work += Count(first) * result.back() / kProducts;
    } else if (names.size() > 1 && names[1] == "weight") {
      work += Count(result) * Count(graph.tensors[op.inputs[1]].dims) / result[1] / kProducts;
    }
  }
  return work;
}

}  // namespace

PlanCache::PlanCache(const LayoutChoice& chosen, const GraphSpec& graph,
                     std::vector<Constant> constants)
    : constants_(std::move(constants)), most_threads_(GetNumThreads()),
      threads_stated_(ThreadsStated()), latest_(&stated_) {
  stated_.graph = graph;
  stated_.threads = ThreadsOf(graph);
  const WithThreads worth(stated_.threads);
  stated_.plan = BuildPlan(chosen, stated_.graph, constants_, &memory_);
  memory_.Settle();
}

Prepared& PlanCache::Get(const std::string& where, const std::vector<ffi::ShapeView>& inputs) {
  if (Fits(stated_.graph, inputs)) {
    latest_ = &stated_;
    return stated_;
  }
  const auto found = std::find_if(others_.begin(), others_.end(), [&](const Prepared& other) {
    return Fits(other.graph, inputs);
  });
  if (found != others_.end()) {
    others_.splice(others_.begin(), others_, found);
  } else {
    std::vector<Dims> shapes;
    for (const ffi::ShapeView& shape : inputs) shapes.emplace_back(shape.begin(), shape.end());
    GraphSpec graph = Rebatched(stated_.graph, shapes);
    const WithThreads as_before(most_threads_);
    const int64_t threads = ThreadsOf(graph);
    const WithThreads worth(threads);
    CheckNotForked(where, threads);
    NoteRun(threads);
    // The layouts of the stated shapes, without trying: the weights are in them already.
    const LayoutChoice kept{choice().rule, choice().layouts};
    auto plan = BuildPlan(kept, graph, constants_, &memory_);
    memory_.Settle();
    others_.push_front({std::move(graph), std::move(plan), threads});
    ++made_;
    if (others_.size() > kMostOthers) others_.pop_back();
  }
  latest_ = &others_.front();
  return others_.front();
}

int64_t PlanCache::ThreadsOf(const GraphSpec& graph) const {
  return threads_stated_ ? most_threads_ : ThreadsFor(Work(graph), most_threads_);
}

int64_t PlanCache::constant_bytes() const {
  std::set<SharedMemory> constants;
  for (const Prepared* prepared : all()) prepared->plan->AddConstants(&constants);
  int64_t bytes = 0;
  for (const SharedMemory& memory : constants) bytes += memory->bytes();
  return bytes;
}

std::vector<const Prepared*> PlanCache::all() const {
  std::vector<const Prepared*> all = {&stated_};
  for (const Prepared& other : others_) all.push_back(&other);
  return all;
}

}  // namespace byoc_lab
