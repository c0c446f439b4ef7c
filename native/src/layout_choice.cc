// Which layouts a plan's convolutions run in: decided by running the plan both ways, for oneDNN's
// own preference wins in some networks and loses in others, and neither it nor we can tell before.
#include <algorithm>
#include <chrono>
#include <limits>

#include "plan.h"

namespace byoc_lab {
namespace {

// Below, what could be won is not worth the time it takes to find out.
constexpr int64_t kWorthTiming = 100'000'000;  // products in convolutions: about a millisecond
constexpr int kMostRounds = 5;
constexpr double kEnough = 0.02;  // seconds of trying; one round is always made
// Blocks are kept unless the other way gains more than timing errs.
constexpr double kGain = 0.97;

enum class Rule { kTimed, kBlocked, kAny };
const std::vector<std::string> kRules = {"timed", "blocked", "any"};
thread_local Rule rule = Rule::kTimed;

int64_t Products(const GraphSpec& graph) {
  int64_t products = 0;
  for (const OpSpec& op : graph.ops) {
    if (op.def->kind != "conv1d" && op.def->kind != "conv2d" && op.def->kind != "conv3d") continue;
    const Dims& weight = op.call.inputs[1].dims;
    products += Count(graph.tensors[op.output].dims) * (Count(weight) / weight[0]);
  }
  return products;
}

// A plan with memory to run on. Zeros take as long as other numbers.
class Trial {
 public:
  Trial(const GraphSpec& graph, Plan* plan)
      : plan_(plan),
        inputs_(Allocate(graph, graph.inputs)),
        outputs_(Allocate(graph, graph.outputs)) {}

  // Keeps the least time.
  void Run() {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    plan_->Run(inputs_, outputs_, nullptr);
    seconds_ = std::min(seconds_, std::chrono::duration<double>(Clock::now() - start).count());
  }

  // Seconds of one of `times` runs, with the memory bound before.
  double Bare(int64_t times) {
    using Clock = std::chrono::steady_clock;
    plan_->Run(inputs_, outputs_, nullptr);
    const auto start = Clock::now();
    plan_->Repeat(times);
    return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(times);
  }

  double seconds() const { return seconds_; }

 private:
  std::vector<float*> Allocate(const GraphSpec& graph, const std::vector<int>& ids) {
    std::vector<float*> data;
    for (int id : ids) {
      const int64_t count = Count(graph.tensors[id].dims);
      held_.emplace_back(count * static_cast<int64_t>(sizeof(float)));
      data.push_back(reinterpret_cast<float*>(held_.back().data()));
      std::fill_n(data.back(), count, 0.0f);
    }
    return data;
  }

  Plan* plan_;
  std::vector<AlignedMemory> held_;
  std::vector<float*> inputs_, outputs_;
  double seconds_ = std::numeric_limits<double>::infinity();
};

bool SameLayouts(const Plan& a, const Plan& b) {
  return std::equal(a.reports().begin(), a.reports().end(), b.reports().begin(),
                    [](const OpReport& x, const OpReport& y) {
                      return x.impl == y.impl && x.layouts == y.layouts &&
                             x.dst_layout == y.dst_layout;
                    });
}

ffi::String GetLayouts() { return kRules[static_cast<size_t>(rule)]; }

// Concerns what the calling thread creates from now on.
void SetLayouts(const ffi::String& name) {
  const auto found = std::find(kRules.begin(), kRules.end(), std::string(name));
  if (found == kRules.end()) {
    TVM_FFI_THROW(ValueError) << "byoc_lab.dnnl.set_layouts: expected one of " << Join(kRules)
                              << ", found '" << name << "'";
  }
  rule = static_cast<Rule>(found - kRules.begin());
}

}  // namespace

std::unique_ptr<Plan> BuildPlan(const GraphSpec& graph,
                                const std::vector<const float*>& constants) {
  if (rule == Rule::kAny) return BuildPlanIn(Layouts::kAny, graph, constants);
  auto blocked = BuildPlanIn(Layouts::kBlocked, graph, constants);
  if (rule == Rule::kBlocked || Products(graph) < kWorthTiming) return blocked;
  auto any = BuildPlanIn(Layouts::kAny, graph, constants);
  if (SameLayouts(*blocked, *any)) return blocked;

  Trial first(graph, blocked.get()), second(graph, any.get());
  const auto start = std::chrono::steady_clock::now();
  const auto spent = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  int rounds = 0;
  do {
    second.Run();  // what the very first run pays for is charged to the way that has to gain
    first.Run();
  } while (++rounds < kMostRounds && spent() < kEnough);
  auto& better = second.seconds() < kGain * first.seconds() ? any : blocked;
  better->choice.blocked_seconds = first.seconds();
  better->choice.any_seconds = second.seconds();
  return std::move(better);
}

double TimeBare(const GraphSpec& graph, Plan* plan, int64_t times) {
  return Trial(graph, plan).Bare(times);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef()
      .def("byoc_lab.dnnl.get_layouts", GetLayouts)
      .def("byoc_lab.dnnl.set_layouts", SetLayouts);
}

}  // namespace byoc_lab
