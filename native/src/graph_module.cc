// A region as a TVM-FFI module: `create_graph` makes one, TVM's runtimes call and export it.
// native/README.md documents the functions.
#include <tvm/ffi/extra/module.h>

#include <cstring>
#include <mutex>

#include "plan.h"
#include "threads.h"

namespace byoc_lab {
namespace {

constexpr const char* kKind = "byoc_lab_dnnl";
constexpr char kMagic[8] = {'B', 'Y', 'O', 'C', 'D', 'N', 'N', '1'};

class GraphModule : public ffi::ModuleObj {
 public:
  explicit GraphModule(const std::string& text) : text_(text), graph_(ReadGraph(text)) {
    where_ = "graph '" + graph_.symbol + "'";
    if (graph_.constants.empty()) Initialize({});
  }

  const char* kind() const final { return kKind; }

  int GetPropertyMask() const final {
    return ffi::Module::kBinarySerializable | ffi::Module::kRunnable;
  }

  // Takes the constants, in the graph's order, and builds the plan.
  void Initialize(const ffi::Array<ffi::Tensor>& constants) {
    if (constants.size() != graph_.constants.size()) {
      TVM_FFI_THROW(ValueError) << where_ << ": expected " << graph_.constants.size()
                                << " constants, found " << constants.size();
    }
    std::vector<const float*> data;
    for (size_t i = 0; i < constants.size(); ++i) {
      const Operand& tensor = graph_.tensors[graph_.constants[i]];
      if (!constants[i].defined()) {
        TVM_FFI_THROW(TypeError) << where_ << ": constant '" << tensor.name
                                 << "': expected a tensor, found None";
      }
      data.push_back(DataOf(where_, "constant '" + tensor.name + "'", constants[i], tensor.dims));
    }
    CheckNotForked(where_, GetNumThreads());
    NoteRun(GetNumThreads());  // constants are reordered by primitives
    std::unique_ptr<Plan> plan = BuildPlan(graph_, data);
    const std::lock_guard<std::mutex> lock(mutex_);
    plan_ = std::move(plan);
    threads_ = GetNumThreads();
  }

  bool ready() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return plan_ != nullptr;
  }

  // Keeps copies of the constants to be saved with the module. Without this, whoever delivers
  // the constants through __init_<symbol> is the one to save them.
  void Own(const ffi::Array<ffi::Tensor>& constants) {
    Initialize(constants);
    for (size_t i = 0; i < constants.size(); ++i) {
      const Operand& tensor = graph_.tensors[graph_.constants[i]];
      const float* data = DataOf(where_, tensor.name, constants[i], tensor.dims);
      owned_.emplace_back(data, data + Count(tensor.dims));
    }
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
        // TVM's loader calls this even when get_const_vars asked for nothing.
        if (!(constants.empty() && self->ready())) self->Initialize(constants);
        return 0;
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

  // magic, length of the JSON, the JSON, number of constants kept, their elements. Integers are 8
  // bytes, everything in the byte order of x86-64; shapes are in the JSON.
  ffi::Bytes SaveToBytes() const final {
    std::string bytes(kMagic, sizeof(kMagic));
    const auto append = [&](const void* data, size_t size) {
      bytes.append(static_cast<const char*>(data), size);
    };
    const uint64_t length = text_.size(), count = owned_.size();
    append(&length, sizeof(length));
    append(text_.data(), text_.size());
    append(&count, sizeof(count));
    for (const std::vector<float>& constant : owned_) {
      append(constant.data(), constant.size() * sizeof(float));
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
    const uint64_t length = take_size();
    const auto self = ffi::make_object<GraphModule>(std::string(take(length), length));
    const GraphSpec& graph = self->graph_;
    const uint64_t count = take_size();
    if (count != 0) {
      if (count != graph.constants.size()) {
        TVM_FFI_THROW(ValueError) << kKind << ": expected " << graph.constants.size()
                                  << " saved constants, found " << count;
      }
      std::vector<const float*> data;
      for (int id : graph.constants) {
        const size_t elements = static_cast<size_t>(Count(graph.tensors[id].dims));
        std::vector<float> constant(elements);
        std::memcpy(constant.data(), take(elements * sizeof(float)), elements * sizeof(float));
        self->owned_.push_back(std::move(constant));
      }
      for (const std::vector<float>& constant : self->owned_) data.push_back(constant.data());
      CheckNotForked(kKind, GetNumThreads());
      self->plan_ = BuildPlan(graph, data);
      self->threads_ = GetNumThreads();
    }
    return ffi::Module(self);
  }

 private:
  ffi::Array<ffi::String> ConstantNames() const {
    ffi::Array<ffi::String> names;
    if (!owned_.empty()) return names;  // nothing is left to be delivered
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
    const auto checked = [&](const char* role, const std::vector<int>& ids, size_t first) {
      std::vector<float*> data;
      for (size_t i = 0; i < ids.size(); ++i) {
        const Operand& tensor = graph_.tensors[ids[i]];
        const std::string name = std::string(role) + " '" + tensor.name + "'";
        const auto view = args[static_cast<int>(first + i)].try_cast<TensorView>();
        if (!view.has_value()) {
          TVM_FFI_THROW(TypeError) << where_ << ": " << name << ": expected a tensor, found "
                                   << TypeName(args[static_cast<int>(first + i)]);
        }
        data.push_back(DataOf(where_, name, *view, tensor.dims));
      }
      return data;
    };
    const auto inputs = checked("input", graph_.inputs, 0);
    const auto outputs = checked("output", graph_.outputs, inputs.size());
    CheckOverlaps(inputs, outputs);

    const std::lock_guard<std::mutex> lock(mutex_);
    if (plan_ == nullptr) {
      TVM_FFI_THROW(RuntimeError) << where_ << ": its constants have not been delivered; call '"
                                  << "__init_" << graph_.symbol << "' with them first";
    }
    CheckNotForked(where_, threads_);
    NoteRun(threads_);
    if (profiling_) op_seconds_.assign(graph_.ops.size() + 1, 0.0);
    plan_->Run(inputs, outputs, profiling_ ? &op_seconds_ : nullptr);
    ++calls_;
  }

  double TimeBare(int64_t times) {
    if (times < 1) {
      TVM_FFI_THROW(ValueError) << where_ << ": time_bare: expected at least 1 run, found " << times;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (plan_ == nullptr) {
      TVM_FFI_THROW(RuntimeError) << where_ << ": time_bare: its constants have not been delivered";
    }
    CheckNotForked(where_, threads_);
    NoteRun(threads_);
    return byoc_lab::TimeBare(graph_, plan_.get(), times);
  }

  void CheckOverlaps(const std::vector<float*>& inputs, const std::vector<float*>& outputs) const {
    for (size_t o = 0; o < outputs.size(); ++o) {
      const Operand& output = graph_.tensors[graph_.outputs[o]];
      const auto check = [&](const char* role, int id, const float* data) {
        const Operand& other = graph_.tensors[id];
        CheckNoOverlap(where_, "output '" + output.name + "'", outputs[o], Count(output.dims),
                       std::string(role) + " '" + other.name + "'", data, Count(other.dims));
      };
      for (size_t i = 0; i < inputs.size(); ++i) check("input", graph_.inputs[i], inputs[i]);
      for (size_t i = 0; i < o; ++i) check("output", graph_.outputs[i], outputs[i]);
    }
  }

  ffi::String Stats() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto microseconds = [&](size_t slot) {
      return op_seconds_.empty() ? ffi::Any() : ffi::Any(op_seconds_[slot] * 1e6);
    };
    ffi::Array<ffi::Any> ops;
    for (size_t i = 0; plan_ != nullptr && i < graph_.ops.size(); ++i) {
      const OpSpec& op = graph_.ops[i];
      const OpReport& report = plan_->reports()[i];
      ffi::Map<ffi::String, ffi::Any> inputs;
      for (size_t j = 0; j < report.layouts.size(); ++j) {
        const std::string name = op.def->variadic ? op.def->inputs[0] + std::to_string(j)
                                                  : op.def->inputs[j];
        inputs.Set(name, ffi::String(report.layouts[j]));
      }
      ffi::Array<ffi::String> fused, separate, separate_impls;
      for (size_t j = 0; j < op.post_ops.size(); ++j) {
        (j < report.fused ? fused : separate).push_back(op.post_ops[j].Name());
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
    const bool ready = plan_ != nullptr;
    const LayoutChoice choice = ready ? plan_->choice : LayoutChoice();
    ffi::Map<ffi::String, ffi::Any> tried;
    for (const auto& [name, seconds] : choice.seconds) tried.Set(name, seconds * 1e6);
    const ffi::Map<ffi::String, ffi::Any> stats{
        {"symbol", ffi::String(graph_.symbol)},
        {"initialized", ready},
        {"calls", calls_},
        {"threads", threads_},
        {"profiling", profiling_},
        {"layouts", ffi::String(choice.name)},
        {"layout_times_us", tried},
        {"steps", ready ? static_cast<int64_t>(plan_->num_steps()) : 0},
        {"arena_bytes", ready ? plan_->arena_bytes() : 0},
        {"scratchpad_bytes", ready ? plan_->scratchpad_bytes() : 0},
        {"constant_bytes", ready ? plan_->constant_bytes() : 0},
        {"edge_copies_time_us", microseconds(graph_.ops.size())},
        {"ops", ops}};
    return json::Stringify(stats);
  }

  const std::string text_;
  const GraphSpec graph_;
  std::string where_;
  std::vector<std::vector<float>> owned_;  // the constants saved with the module
  std::mutex mutex_;                       // guards what follows; a plan runs once at a time
  std::unique_ptr<Plan> plan_;
  std::vector<double> op_seconds_;
  bool profiling_ = false;
  int64_t calls_ = 0;
  int64_t threads_ = 0;
};

ffi::Module CreateGraph(const ffi::String& text, const ffi::Array<ffi::Tensor>& constants) {
  const auto self = ffi::make_object<GraphModule>(std::string(text));
  if (!constants.empty()) self->Own(constants);
  return ffi::Module(self);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef()
      .def("byoc_lab.dnnl.create_graph", CreateGraph)
      .def("ffi.Module.load_from_bytes.byoc_lab_dnnl", GraphModule::LoadFromBytes);
}

}  // namespace byoc_lab
