// The choice of layouts for a plan's convolutions. Blocks of channels are within a few percent of
// the best in every measured network, and a plan in them is the same every time. oneDNN's preferred
// layouts are faster in some networks, or for some ops, which cannot be predicted: to gain the last
// few percent, the plan is run.
#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

#include "plan/plan.h"

namespace byoc_lab {
namespace {

// Below this, the possible gain is not worth the time to measure it.
constexpr int64_t kWorthTiming = 100'000'000;  // products in convolutions: about a millisecond
constexpr int kLeastRounds = 2, kMostRounds = 5;
constexpr double kEnough = 0.02;  // seconds for trying
// If other programs use the same processors, each op waits for them: a plan of 50 ms then takes
// seconds, and its times mean nothing. One run of each must be enough.
constexpr double kTooLong = 1.0;
// A layout is kept unless another gains more than the measurement error: for the whole plan, and
// for a single op.
constexpr double kGain = 0.99, kGainOfOp = 0.97;
constexpr double kWorthMixing = 0.001;  // minimum gain of mixed layouts, in seconds

const std::vector<std::string> kRules = {"fixed", "measured", "any"};

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
        outputs_(Allocate(graph, graph.outputs)),
        op_seconds_(graph.ops.size() + 1, std::numeric_limits<double>::infinity()) {}

  // Keeps the least time of each op.
  void Run() {
    std::vector<double> spent(op_seconds_.size(), 0.0);
    plan_->Run(inputs_, outputs_, &spent);
    for (size_t i = 0; i < spent.size(); ++i) op_seconds_[i] = std::min(op_seconds_[i], spent[i]);
  }

  // Seconds per run, for `times` runs with the memory bound before.
  double Bare(int64_t times) {
    using Clock = std::chrono::steady_clock;
    plan_->Run(inputs_, outputs_, nullptr);
    const auto start = Clock::now();
    plan_->Repeat(times);
    return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(times);
  }

  // The sum of the least times of all ops. A disturbance lasts for some ops of one run, rarely for
  // a whole run, so this has a smaller error than the least time of a run.
  double seconds() const { return std::accumulate(op_seconds_.begin(), op_seconds_.end(), 0.0); }
  const std::vector<double>& op_seconds() const { return op_seconds_; }

 private:
  std::vector<void*> Allocate(const GraphSpec& graph, const std::vector<int>& ids) {
    std::vector<void*> data;
    for (int id : ids) {
      const int64_t bytes = Bytes(graph.tensors[id]);
      held_.emplace_back(bytes);
      data.push_back(held_.back().data());
      std::fill_n(held_.back().data(), bytes, '\0');
    }
    return data;
  }

  Plan* plan_;
  std::vector<Memory> held_;
  std::vector<void*> inputs_, outputs_;
  std::vector<double> op_seconds_;  // per op; the last element: copies from inputs to outputs
};

// Runs two plans alternately; returns the seconds that this took. The costs of the very first run
// are charged to `first`.
double Compare(Trial* first, Trial* second) {
  const auto start = std::chrono::steady_clock::now();
  const auto spent = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  int rounds = 0;
  do {
    first->Run();
    second->Run();
  } while (spent() < kTooLong &&
           (++rounds < kLeastRounds || (rounds < kMostRounds && spent() < kEnough)));
  return spent();
}

bool SameLayouts(const Plan& a, const Plan& b) {
  return std::equal(a.reports().begin(), a.reports().end(), b.reports().begin(),
                    [](const OpReport& x, const OpReport& y) {
                      return x.impl == y.impl && x.layouts == y.layouts &&
                             x.dst_layout == y.dst_layout;
                    });
}

}  // namespace

LayoutRule ReadLayoutRule(const std::string& name) {
  const auto found = std::find(kRules.begin(), kRules.end(), name);
  if (found == kRules.end()) {
    TVM_FFI_THROW(ValueError) << "layouts: expected one of " << Join(kRules) << ", found '" << name
                              << "'";
  }
  return static_cast<LayoutRule>(found - kRules.begin());
}

std::string LayoutRuleName(LayoutRule rule) { return kRules[static_cast<size_t>(rule)]; }

std::string LayoutChoice::name() const {
  const auto is_any = [](Layouts each) { return each == Layouts::kAny; };
  if (std::none_of(layouts.begin(), layouts.end(), is_any)) return "blocked";
  return std::all_of(layouts.begin(), layouts.end(), is_any) ? "any" : "mixed";
}

std::unique_ptr<Plan> BuildPlan(const LayoutChoice& chosen, const GraphSpec& graph,
                                const std::vector<Constant>& constants, ModuleMemory* memory) {
  const auto build = [&](const std::vector<Layouts>& layouts) {
    auto plan = BuildPlanIn(layouts, graph, constants, memory);
    plan->choice = {chosen.rule, layouts};
    return plan;
  };
  if (!chosen.layouts.empty()) return build(chosen.layouts);
  const auto all = [&](Layouts layouts) {
    return std::vector<Layouts>(graph.ops.size(), layouts);
  };
  if (chosen.rule == LayoutRule::kAny) return build(all(Layouts::kAny));
  auto best = build(all(Layouts::kBlocked));
  if (chosen.rule == LayoutRule::kFixed || Products(graph) < kWorthTiming) return best;
  auto other = build(all(Layouts::kAny));
  if (SameLayouts(*best, *other)) return best;

  memory->Blank();
  Trial blocked(graph, best.get()), any(graph, other.get());
  const double took = Compare(&any, &blocked);
  std::map<std::string, double> tried = {{"blocked", blocked.seconds()}, {"any", any.seconds()}};
  // For each op, the layouts in which it is faster, and the time of the whole plan if conversions
  // between them cost nothing.
  std::vector<Layouts> mixed = all(Layouts::kBlocked);
  double hoped = 0;
  for (size_t i = 0; i < mixed.size(); ++i) {
    const double in_blocks = blocked.op_seconds()[i], in_any = any.op_seconds()[i];
    if (in_any < kGainOfOp * in_blocks) mixed[i] = Layouts::kAny;
    hoped += std::min(in_blocks, in_any);
  }
  Trial* leader = &blocked;
  if (any.seconds() < kGain * blocked.seconds()) {
    std::swap(best, other);
    leader = &any;
  }
  if (took < kTooLong && leader->seconds() - hoped > kWorthMixing) {
    other = build(mixed);
    memory->Blank();
    Trial trial(graph, other.get());
    Compare(&trial, leader);
    tried["mixed"] = trial.seconds();
    tried[best->choice.name()] = leader->seconds();
    if (trial.seconds() < kGain * leader->seconds()) std::swap(best, other);
  }
  best->choice.seconds = tried;
  return best;
}

double TimeBare(const GraphSpec& graph, Plan* plan, int64_t times) {
  return Trial(graph, plan).Bare(times);
}

}  // namespace byoc_lab
