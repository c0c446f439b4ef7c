// A region as a TVM-FFI module: `create_graph` creates it, TVM's runtimes call and export it.
// native/README.md documents the functions.
#include <tvm/ffi/extra/module.h>

#include <cstring>
#include <mutex>

#include "library.h"
#include "plan/batch.h"
#include "plan/plan_cache.h"
#include "threads.h"

namespace byoc_lab {
namespace {

constexpr const char* kKind = "byoc_lab_dnnl";
constexpr char kMagic[8] = {'B', 'Y', 'O', 'C', 'D', 'N', 'N', '2'};

class GraphModule : public ffi::ModuleObj {
 public:
  GraphModule(const std::string& text, const LayoutChoice& chosen)
      : text_(text), graph_(ReadGraph(text)), chosen_(chosen) {
    where_ = "graph '" + graph_.symbol + "'";
    if (!chosen_.layouts.empty() && chosen_.layouts.size() != graph_.ops.size()) {
      TVM_FFI_THROW(ValueError) << where_ << ": the saved module has layouts of "
                                << chosen_.layouts.size() << " ops, expected " << graph_.ops.size();
    }
    if (graph_.constants.empty()) Initialize({}, true);
  }

  const char* kind() const final { return kKind; }

  int GetPropertyMask() const final {
    return ffi::Module::kBinarySerializable | ffi::Module::kRunnable;
  }

  // Takes the constants, in the graph's order, and builds the plan. `keep`: reads them in place,
  // because nobody will write to them; otherwise they are copied.
  void Initialize(const ffi::Array<ffi::Tensor>& constants, bool keep) {
    if (constants.size() != graph_.constants.size()) {
      TVM_FFI_THROW(ValueError) << where_ << ": expected " << graph_.constants.size()
                                << " constants, found " << constants.size();
    }
    std::vector<Constant> held;
    for (size_t i = 0; i < constants.size(); ++i) {
      const Operand& tensor = graph_.tensors[graph_.constants[i]];
      if (!constants[i].defined()) {
        TVM_FFI_THROW(TypeError) << where_ << ": constant '" << tensor.name
                                 << "': expected a tensor, found None";
      }
      const void* data = DenseDataOf(where_, Labelled("constant", tensor), constants[i]);
      held.push_back({keep ? std::make_shared<Memory>(constants[i], data, Bytes(tensor))
                           : Copied(data, Bytes(tensor)),
                      LayoutOf(tensor, constants[i])});
    }
    Prepare(std::move(held));
  }

  bool ready() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return plans_ != nullptr;
  }

  // The same for constants to be saved with the module. Otherwise the caller that delivers them
  // through __init_<symbol> saves them.
  void Own(const ffi::Array<ffi::Tensor>& constants, bool keep) {
    Initialize(constants, keep);
    owns_constants_ = true;
  }

  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final {
    const auto self = ffi::GetObjectPtr<GraphModule>(this);
    if (name == graph_.symbol) {
      return ffi::Function::FromPacked(
          [self](ffi::PackedArgs args, ffi::Any* result) { self->Call(args); });
    }
    if (name == "get_symbol") {
      return ffi::Function::FromTyped([self]() { return ffi::String(self->graph_.symbol); });
    }
    if (name == "get_const_vars") {
      return ffi::Function::FromTyped([self]() { return self->ConstantNames(); });
    }
    if (name == "__init_" + graph_.symbol) {
      return ffi::Function::FromTyped([self](const ffi::Array<ffi::Tensor>& constants) {
        // TVM's loader calls this even if get_const_vars returned nothing. It delivers the
        // constants of a compiled module, which nobody writes to.
        if (!(constants.empty() && self->ready())) self->Initialize(constants, true);
        return 0;
      });
    }
    if (name == "output_shapes") {
      return ffi::Function::FromTyped([self](const ffi::Array<ffi::Array<int64_t>>& inputs) {
        return self->OutputShapes(inputs);
      });
    }
    if (name == "save_to_bytes") {
      return ffi::Function::FromTyped([self]() { return self->SaveToBytes(); });
    }
    if (name == "time_bare") {
      return ffi::Function::FromTyped([self](int64_t times) { return self->TimeBare(times); });
    }
    if (name == "get_stats") {
      return ffi::Function::FromTyped([self]() { return self->Stats(); });
    }
    if (name == "set_profiling") {
      return ffi::Function::FromTyped([self](bool on) {
        const std::lock_guard<std::mutex> lock(self->mutex_);
        self->profiling_ = on;
        self->op_seconds_.clear();
      });
    }
    return std::nullopt;
  }

  ffi::String InspectSource(const ffi::String& format) const final { return text_; }

  // The format: magic; rule of layouts; number of ops with a chosen layout (all or none); these
  // layouts; length of the JSON; the JSON; number of stored constants; their elements. Integers
  // have 8 bytes, a rule and a layout one, in the byte order of x86-64; the shapes are in the JSON.
  ffi::Bytes SaveToBytes() const final {
    std::string bytes(kMagic, sizeof(kMagic));
    const auto append = [&](const void* data, size_t size) {
      bytes.append(static_cast<const char*>(data), size);
    };
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::vector<Constant> constants =
        owns_constants_ ? plans_->constants() : std::vector<Constant>();
    const LayoutChoice& chosen = plans_ == nullptr ? chosen_ : plans_->choice();
    const uint64_t length = text_.size(), count = constants.size();
    const uint64_t ops = chosen.layouts.size();
    bytes.push_back(static_cast<char>(chosen.rule));
    append(&ops, sizeof(ops));
    for (Layouts each : chosen.layouts) bytes.push_back(static_cast<char>(each));
    append(&length, sizeof(length));
    append(text_.data(), text_.size());
    append(&count, sizeof(count));
    for (size_t i = 0; i < count; ++i) {
      const SharedMemory plain = RowMajor(constants[i], graph_.tensors[graph_.constants[i]]);
      append(plain->data(), plain->bytes());
    }
    return ffi::Bytes(std::move(bytes));
  }

  static ffi::Module LoadFromBytes(const ffi::Bytes& saved) {
    const char* next = saved.data();
    size_t left = saved.size();
    const auto take = [&](size_t size) {
      if (size > left) {
        TVM_FFI_THROW(ValueError) << kKind << ": the saved module is cut off: expected " << size
                                  << " more bytes, found " << left;
      }
      const char* data = next;
      next += size;
      left -= size;
      return data;
    };
    const auto take_size = [&]() {
      uint64_t size;
      std::memcpy(&size, take(sizeof(size)), sizeof(size));
      return size;
    };
    if (std::memcmp(take(sizeof(kMagic)), kMagic, sizeof(kMagic)) != 0) {
      TVM_FFI_THROW(ValueError) << kKind << ": these bytes are not a module saved by this version";
    }
    const auto take_choice = [&](const char* of, char most) {
      const char value = *take(1);
      if (value < 0 || value > most) {
        TVM_FFI_THROW(ValueError) << kKind << ": the saved module states " << of << " "
                                  << static_cast<int>(value) << ", expected 0 to "
                                  << static_cast<int>(most);
      }
      return value;
    };
    LayoutChoice chosen;
    chosen.rule = static_cast<LayoutRule>(
        take_choice("the rule of layouts", static_cast<char>(LayoutRule::kAny)));
    for (uint64_t ops = take_size(); ops > 0; --ops) {
      chosen.layouts.push_back(
          static_cast<Layouts>(take_choice("the layout", static_cast<char>(Layouts::kAny))));
    }
    const uint64_t length = take_size();
    const auto self = ffi::make_object<GraphModule>(std::string(take(length), length), chosen);
    const GraphSpec& graph = self->graph_;
    const uint64_t count = take_size();
    if (count != 0) {
      if (count != graph.constants.size()) {
        TVM_FFI_THROW(ValueError) << kKind << ": expected " << graph.constants.size()
                                  << " saved constants, found " << count;
      }
      std::vector<Constant> constants;
      for (int id : graph.constants) {
        const int64_t bytes = Bytes(graph.tensors[id]);
        constants.push_back({Copied(take(static_cast<size_t>(bytes)), bytes),
                             Plain(graph.tensors[id])});
      }
      self->Prepare(std::move(constants));
      self->owns_constants_ = true;
    }
    if (left != 0) {
      TVM_FFI_THROW(ValueError) << kKind << ": the saved module has " << left
                                << " bytes behind its end";
    }
    return ffi::Module(self);
  }

 private:
  static SharedMemory Copied(const void* data, int64_t bytes) {
    auto memory = std::make_shared<Memory>(bytes);
    std::memcpy(memory->data(), data, static_cast<size_t>(bytes));
    return memory;
  }

  static SharedMemory RowMajor(const Constant& constant, const Operand& tensor) {
    const MemoryDesc plain = Plain(tensor);
    if (constant.desc == plain) return constant.memory;
    auto memory = std::make_shared<Memory>(constant.memory->bytes());
    Rearrange(*constant.memory, constant.desc, plain, memory->data());
    return memory;
  }

  // Builds the plan.
  void Prepare(std::vector<Constant> constants) {
    CheckNotForked(where_, GetNumThreads());
    NoteRun(GetNumThreads());  // primitives reorder the constants
    auto plans = std::make_unique<PlanCache>(chosen_, graph_, std::move(constants));
    const std::lock_guard<std::mutex> lock(mutex_);
    plans_ = std::move(plans);
  }

  // Shapes of the outputs for inputs with these shapes.
  ffi::Array<ffi::Array<int64_t>> OutputShapes(const ffi::Array<ffi::Array<int64_t>>& inputs) const {
    if (inputs.size() != graph_.inputs.size()) {
      TVM_FFI_THROW(ValueError) << where_ << ": expected " << graph_.inputs.size()
                                << " shapes, found " << inputs.size();
    }
    std::vector<Dims> shapes;
    for (const auto& shape : inputs) shapes.emplace_back(shape.begin(), shape.end());
    const GraphSpec graph = Rebatched(graph_, shapes);
    ffi::Array<ffi::Array<int64_t>> outputs;
    for (int id : graph.outputs) {
      const Dims& dims = graph.tensors[id].dims;
      outputs.push_back(ffi::Array<int64_t>(dims.begin(), dims.end()));
    }
    return outputs;
  }

  ffi::Array<ffi::String> ConstantNames() const {
    ffi::Array<ffi::String> names;
    if (owns_constants_) return names;  // nothing remains to be delivered
    for (int id : graph_.constants) names.push_back(graph_.tensors[id].name);
    return names;
  }

  // Arguments: the inputs, then the outputs, which are written.
  void Call(ffi::PackedArgs args) {
    const size_t expected = graph_.inputs.size() + graph_.outputs.size();
    if (static_cast<size_t>(args.size()) != expected) {
      TVM_FFI_THROW(TypeError) << where_ << ": expected " << expected << " tensors ("
                               << graph_.inputs.size() << " inputs, then "
                               << graph_.outputs.size() << " outputs), found " << args.size();
    }
    const std::vector<TensorView> inputs = Tensors(args, "input", graph_.inputs, 0);
    const std::vector<TensorView> outputs =
        Tensors(args, "output", graph_.outputs, inputs.size());

    const std::lock_guard<std::mutex> lock(mutex_);
    if (plans_ == nullptr) {
      TVM_FFI_THROW(RuntimeError) << where_ << ": its constants have not been delivered; call '"
                                  << "__init_" << graph_.symbol << "' with them first";
    }
    Prepared& prepared = PlanFor(inputs);
    CheckNotForked(where_, prepared.threads);
    NoteRun(prepared.threads);
    const GraphSpec& graph = prepared.graph;
    const std::vector<void*> read = Data(graph, "input", graph.inputs, inputs);
    const std::vector<void*> written = Data(graph, "output", graph.outputs, outputs);
    CheckOverlaps(graph, read, written);
    if (profiling_) op_seconds_.assign(graph_.ops.size() + 1, 0.0);
    const WithThreads as_built(prepared.threads);
    prepared.plan->Run(read, written, profiling_ ? &op_seconds_ : nullptr);
    ++prepared.calls;
    ++calls_;
  }

  double TimeBare(int64_t times) {
    if (times < 1) {
      TVM_FFI_THROW(ValueError) << where_ << ": time_bare: expected at least 1 run, found " << times;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (plans_ == nullptr) {
      TVM_FFI_THROW(RuntimeError) << where_ << ": time_bare: its constants have not been delivered";
    }
    Prepared& latest = plans_->latest();
    CheckNotForked(where_, latest.threads);
    NoteRun(latest.threads);
    const WithThreads as_built(latest.threads);
    return byoc_lab::TimeBare(latest.graph, latest.plan.get(), times);
  }

  std::vector<TensorView> Tensors(ffi::PackedArgs args, const char* role,
                                  const std::vector<int>& ids, size_t first) const {
    std::vector<TensorView> tensors;
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto view = args[static_cast<int>(first + i)].try_cast<TensorView>();
      if (!view.has_value()) {
        TVM_FFI_THROW(TypeError) << where_ << ": " << role << " '" << graph_.tensors[ids[i]].name
                                 << "': expected a tensor, found "
                                 << TypeName(args[static_cast<int>(first + i)]);
      }
      tensors.push_back(*view);
    }
    return tensors;
  }

  Prepared& PlanFor(const std::vector<TensorView>& inputs) {
    std::vector<ffi::ShapeView> shapes;
    for (const TensorView& input : inputs) shapes.push_back(input.shape());
    return plans_->Get(where_, shapes);
  }

  // The name of a tensor in messages about arguments: "input 'data'".
  static Operand Labelled(const std::string& role, const Operand& tensor) {
    return {role + " '" + tensor.name + "'", tensor.dims, tensor.dtype};
  }

  std::vector<void*> Data(const GraphSpec& graph, const char* role, const std::vector<int>& ids,
                          const std::vector<TensorView>& tensors) const {
    std::vector<void*> data;
    for (size_t i = 0; i < ids.size(); ++i) {
      data.push_back(DataOf(where_, Labelled(role, graph.tensors[ids[i]]), tensors[i]));
    }
    return data;
  }

  void CheckOverlaps(const GraphSpec& graph, const std::vector<void*>& inputs,
                     const std::vector<void*>& outputs) const {
    for (size_t o = 0; o < outputs.size(); ++o) {
      const Operand& output = graph.tensors[graph.outputs[o]];
      const auto check = [&](const char* role, int id, const void* data) {
        CheckNoOverlap(where_, Labelled("output", output), outputs[o],
                       Labelled(role, graph.tensors[id]), data);
      };
      for (size_t i = 0; i < inputs.size(); ++i) check("input", graph.inputs[i], inputs[i]);
      for (size_t i = 0; i < o; ++i) check("output", graph.outputs[i], outputs[i]);
    }
  }

  ffi::String Stats() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto microseconds = [&](size_t slot) {
      return op_seconds_.empty() ? ffi::Any() : ffi::Any(op_seconds_[slot] * 1e6);
    };
    ffi::Array<ffi::Any> ops;
    const bool ready = plans_ != nullptr;
    for (size_t i = 0; ready && i < graph_.ops.size(); ++i) {
      const OpSpec& op = graph_.ops[i];
      const OpReport& report = plans_->latest().plan->reports()[i];
      ffi::Map<ffi::String, ffi::Any> inputs;
      for (size_t j = 0; j < report.layouts.size(); ++j) {
        const std::string name = op.def->variadic ? op.def->inputs[0] + std::to_string(j)
                                                  : op.def->inputs[j];
        inputs.Set(name, ffi::String(report.layouts[j]));
      }
      ffi::Array<ffi::String> fused, separate, separate_impls;
      for (size_t j = 0; j < report.post_ops.size(); ++j) {
        (j < report.fused ? fused : separate).push_back(report.post_ops[j]);
      }
      for (const std::string& impl : report.separate_impls) separate_impls.push_back(impl);
      ops.push_back(ffi::Map<ffi::String, ffi::Any>{
          {"name", ffi::String(op.name)},
          {"kind", ffi::String(op.def->kind)},
          {"impl", ffi::String(report.impl)},
          {"input_layouts", inputs},
          {"dst_layout", ffi::String(report.dst_layout)},
          {"post_ops_fused", fused},
          {"post_ops_separate", separate},
          {"post_ops_separate_impls", separate_impls},
          {"reorders", report.reorders},
          {"bytes", report.bytes},
          {"time_us", microseconds(i)}});
    }
    ffi::Array<ffi::Any> prepared;
    for (const Prepared* each : ready ? plans_->all() : std::vector<const Prepared*>()) {
      ffi::Array<ffi::Any> shapes;
      for (int id : each->graph.inputs) {
        const Dims& dims = each->graph.tensors[id].dims;
        shapes.push_back(ffi::Array<int64_t>(dims.begin(), dims.end()));
      }
      prepared.push_back(ffi::Map<ffi::String, ffi::Any>{
          {"inputs", shapes},
          {"calls", each->calls},
          {"arena_bytes", each->plan->arena_bytes()},
          {"scratchpad_bytes", each->plan->scratchpad_bytes()}});
    }
    const Plan* plan = ready ? plans_->latest().plan.get() : nullptr;
    const LayoutChoice& choice = ready ? plan->choice : chosen_;
    ffi::Map<ffi::String, ffi::Any> tried;
    for (const auto& [name, seconds] : choice.seconds) tried.Set(name, seconds * 1e6);
    const ffi::Map<ffi::String, ffi::Any> stats{
        {"symbol", ffi::String(graph_.symbol)},
        {"library", Library()},
        {"initialized", ready},
        {"calls", calls_},
        {"threads", ready ? plans_->latest().threads : 0},
        {"profiling", profiling_},
        {"layouts", ffi::String(choice.name())},
        {"layout_rule", ffi::String(LayoutRuleName(choice.rule))},
        {"layout_times_us", tried},
        {"steps", ready ? static_cast<int64_t>(plan->num_steps()) : 0},
        {"arena_bytes", ready ? plan->arena_bytes() : 0},
        {"scratchpad_bytes", ready ? plan->scratchpad_bytes() : 0},
        {"constant_bytes", ready ? plans_->constant_bytes() : 0},
        {"made_constant_bytes", ready ? plans_->made_constant_bytes() : 0},
        {"prepared", prepared},
        {"prepared_ever", ready ? plans_->made() : 0},
        {"edge_copies_time_us", microseconds(graph_.ops.size())},
        {"ops", ops}};
    return json::Stringify(stats);
  }

  const std::string text_;
  const GraphSpec graph_;
  const LayoutChoice chosen_;  // the rule; for a loaded module, also the layouts
  std::string where_;
  bool owns_constants_ = false;  // whether they are saved with the module
  mutable std::mutex mutex_;     // guards the members below; a module runs one call at a time
  std::unique_ptr<PlanCache> plans_;
  std::vector<double> op_seconds_;
  bool profiling_ = false;
  int64_t calls_ = 0;
};

ffi::Module CreateGraph(const ffi::String& text, const ffi::Array<ffi::Tensor>& constants, bool keep,
                        const ffi::String& layouts) {
  LayoutChoice chosen;
  chosen.rule = ReadLayoutRule(layouts);
  const auto self = ffi::make_object<GraphModule>(std::string(text), chosen);
  if (!constants.empty()) self->Own(constants, keep);
  return ffi::Module(self);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef()
      .def("byoc_lab.dnnl.create_graph", CreateGraph)
      .def("ffi.Module.load_from_bytes.byoc_lab_dnnl", GraphModule::LoadFromBytes);
}

}  // namespace byoc_lab
