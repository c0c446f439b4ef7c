// Single kernels to call directly: each checks the arguments, describes the operation and runs it.
// Each is a graph of one op whose operands all come from the caller, so it uses the same code as a
// region. The caller allocates `out`, the last argument. Operands and attributes are documented in
// ops/.
#include "plan/plan.h"
#include "threads.h"

namespace byoc_lab {
namespace {

struct Named {
  std::string name;
  TensorView tensor;
};

// The post-ops read the tensors in `post_op_inputs` in order.
void RunKernel(const std::string& where, const OpDef& def, const std::vector<Named>& inputs,
               const JsonObject& attrs, std::vector<PostOp> post_ops,
               const std::vector<Named>& post_op_inputs, TensorView out) {
  // 1. Check, without touching memory.
  if (def.make == nullptr && !post_ops.empty()) {
    TVM_FFI_THROW(ValueError) << where << ": a " << def.kind << " takes no post-ops";
  }
  GraphSpec graph;
  std::vector<Operand> given_operands;
  const auto add = [&](const Named& given) {
    graph.inputs.push_back(static_cast<int>(graph.tensors.size()));
    graph.tensors.push_back({given.name, ShapeOf(where, given.name, given.tensor),
                             DTypeOf(where, given.name, given.tensor)});
    return graph.tensors.back();
  };
  for (const Named& input : inputs) {
    given_operands.push_back(add(input));
    given_operands.back().name.clear();  // the operator's name of it is enough
  }
  const std::vector<int> operands = graph.inputs;
  const OpCall call = Bind(where, def, given_operands, DTypeOf(where, "out", out), attrs, "out");
  const Operand result{"out", def.infer(call), call.result};
  if (!post_ops.empty()) CheckPostOpResult(where, call);
  auto given = post_op_inputs.begin();
  for (PostOp& post_op : post_ops) {
    if (post_op.kind == PostOp::Kind::kEltwise) continue;
    const Operand input = add(*given++);
    post_op.input_dims = input.dims;
    post_op.input_dtype = input.dtype;
    post_op.input = graph.inputs.back();
    CheckPostOpInput(where, post_op, graph.tensors.back(), result);
  }
  std::vector<Named> all = inputs;
  all.insert(all.end(), post_op_inputs.begin(), post_op_inputs.end());
  std::vector<void*> data;
  for (size_t i = 0; i < all.size(); ++i) {
    data.push_back(DataOf(where, graph.tensors[i], all[i].tensor));
  }
  void* out_data = DataOf(where, result, out);
  for (size_t i = 0; i < all.size(); ++i) {
    CheckNoOverlap(where, result, out_data, graph.tensors[i], data[i]);
  }
  CheckNotForked(where, GetNumThreads());
  // 2. Describe.
  const int output = static_cast<int>(graph.tensors.size());
  graph.symbol = where;
  graph.tensors.push_back(result);
  graph.outputs = {output};
  graph.ops.push_back({where, &def, call, operands, output, std::move(post_ops)});
  // 3. Run.
  NoteRun(GetNumThreads());
  ModuleMemory memory;
  // Trying layouts would take longer than the single run.
  BuildPlanIn({Layouts::kBlocked}, graph, {}, &memory)->Run(data, {out_data}, nullptr);
}

TensorView AsTensor(const std::string& where, const std::string& name, const ffi::AnyView& value) {
  const auto view = value.try_cast<TensorView>();
  if (!view.has_value()) {
    TVM_FFI_THROW(TypeError) << where << ": " << name << ": expected a tensor, found "
                             << TypeName(ffi::Any(value));
  }
  return *view;
}

std::vector<Named> Inputs(const std::string& where, const OpDef& def,
                          const ffi::Array<ffi::Tensor>& tensors) {
  std::vector<Named> inputs;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string name = def.variadic             ? def.inputs[0] + std::to_string(i)
                             : i < def.inputs.size() ? def.inputs[i]
                                                     : "operand " + std::to_string(i);
    if (!tensors[i].defined()) AsTensor(where, name, nullptr);
    inputs.push_back({name, tensors[i]});
  }
  return inputs;
}

// Any operator with any post-ops: `post_ops` has the form used in graphs, except that "input" is
// the index of a tensor in `post_op_inputs`, all of which are used in order.
void RunOp(const ffi::String& where, const ffi::String& kind,
           const ffi::Array<ffi::Tensor>& tensors, const JsonObject& attrs,
           const ffi::Array<ffi::Any>& post_ops, const ffi::Array<ffi::Tensor>& post_op_inputs,
           TensorView out) {
  const OpDef& def = FindOp(where, kind);
  std::vector<PostOp> read;
  std::vector<Named> extra;
  for (const ffi::Any& post_op : post_ops) {
    const std::string place = std::string(where) + ": post-op " + std::to_string(read.size());
    read.push_back(ReadPostOp(place, post_op));
    if (read.back().kind == PostOp::Kind::kEltwise) continue;
    const size_t n = extra.size();
    if (read.back().input != static_cast<int>(n) || n >= post_op_inputs.size()) {
      TVM_FFI_THROW(ValueError) << place << ": input: expected " << n << ", one of "
                                << post_op_inputs.size() << " tensors, found "
                                << read.back().input;
    }
    extra.push_back({"the input of post-op " + std::to_string(read.size() - 1),
                     post_op_inputs[n]});
  }
  RunKernel(where, def, Inputs(where, def, tensors), attrs, read, extra, out);
}

// A named kernel: an operator, the attributes fixed by the name, whether it has a bias, and whether
// relu follows.
struct Kernel {
  std::string name, kind;
  JsonObject fixed = {};
  bool biased = false;
  bool relu = false;
};

// Arguments: the operands, the attributes in the order of the operator's definition (without those
// fixed by the name), out.
void Call(const Kernel& kernel, ffi::PackedArgs args) {
  const std::string where = "byoc_lab.dnnl." + kernel.name;
  const OpDef& def = FindOp(where, kernel.kind);
  const size_t operands = def.required + (kernel.biased ? 1 : 0);
  std::vector<std::string> names(def.inputs.begin(),
                                 def.inputs.begin() + static_cast<std::ptrdiff_t>(operands));
  for (const AttrSpec& spec : def.attrs) {
    if (kernel.fixed.find(spec.name) == kernel.fixed.end()) names.push_back(spec.name);
  }
  if (static_cast<size_t>(args.size()) != names.size() + 1) {
    TVM_FFI_THROW(TypeError) << where << ": expected " << names.size() + 1 << " arguments ("
                             << Join(names) << ", out), found " << args.size();
  }
  std::vector<Named> inputs;
  JsonObject attrs = kernel.fixed;
  for (size_t i = 0; i < names.size(); ++i) {
    const ffi::AnyView argument = args[static_cast<int>(i)];
    if (i < operands) {
      inputs.push_back({names[i], AsTensor(where, names[i], argument)});
    } else {
      attrs.Set(names[i], ffi::Any(argument));
    }
  }
  std::vector<PostOp> post_ops;
  if (kernel.relu) post_ops.push_back({PostOp::Kind::kEltwise, "relu"});
  RunKernel(where, def, inputs, attrs, post_ops, {},
            AsTensor(where, "out", args[static_cast<int>(names.size())]));
}

std::vector<Kernel> Kernels() {
  const JsonObject real = {{"data_zero_point", 0}};
  std::vector<Kernel> kernels = {
      {"dense", "dense", real},     {"dense_bias", "dense", real, true},
      {"matmul", "matmul"},         {"batch_norm", "batch_norm"},
      {"layer_norm", "layer_norm"}, {"softmax", "softmax"},
      {"log_softmax", "log_softmax"}};
  for (const char* rank : {"1d", "2d", "3d"}) {
    const std::string conv = std::string("conv") + rank;
    kernels.insert(kernels.end(), {{conv, conv, real},
                                   {conv + "_bias", conv, real, true},
                                   {conv + "_relu", conv, real, false, true},
                                   {conv + "_bias_relu", conv, real, true, true},
                                   {conv + "_transpose", conv + "_transpose"},
                                   {std::string("resample") + rank, std::string("resample") + rank}});
    for (const char* pool : {"max_pool", "avg_pool", "global_max_pool", "global_avg_pool"}) {
      kernels.push_back({std::string(pool) + rank, std::string(pool) + rank});
    }
  }
  for (const char* alg : {"relu", "tanh", "sigmoid", "exp", "log", "sqrt", "abs", "round"}) {
    kernels.push_back({alg, "eltwise", {{"alg", ffi::String(alg)}, {"alpha", 0.0}, {"beta", 0.0}}});
  }
  kernels.push_back({"add", "binary", {{"alg", ffi::String("add")}}});
  kernels.push_back({"multiply", "binary", {{"alg", ffi::String("mul")}}});
  return kernels;
}

// Checks a call of RunOp by the shapes and dtypes of its tensors only, before any tensor is copied;
// returns the shape of the result. `out` is the shape of the caller's output, or empty if there is
// none yet. `where` begins the messages.
ffi::Array<int64_t> CheckOp(const ffi::String& where, const ffi::String& kind,
                            const ffi::Array<ffi::Array<int64_t>>& inputs,
                            const ffi::Array<ffi::String>& dtypes,
                            const ffi::String& result_dtype, const JsonObject& attrs,
                            const ffi::Array<ffi::Any>& post_ops,
                            const ffi::Array<ffi::Array<int64_t>>& read,
                            const ffi::Array<ffi::String>& read_dtypes,
                            const ffi::Array<ffi::Array<int64_t>>& out) {
  const OpDef& def = FindOp(where, kind);
  const auto described = [&](const std::string& name, const ffi::Array<int64_t>& shape,
                             const ffi::String& dtype) {
    return Operand{name, Dims(shape.begin(), shape.end()), DTypeNamed(where, dtype)};
  };
  std::vector<Operand> operands;
  for (size_t i = 0; i < inputs.size(); ++i) {
    operands.push_back(described("", inputs[i], dtypes[i]));
  }
  const DType element = DTypeNamed(where, result_dtype);
  const OpCall call = Bind(where, def, operands, element, attrs, out.empty() ? "dtype" : "out");
  for (const Operand& operand : call.inputs) CheckDims(where, operand);
  const Operand result{"out", def.infer(call), call.result};
  if (!post_ops.empty()) CheckPostOpResult(where, call);
  size_t next = 0;
  for (size_t i = 0; i < post_ops.size(); ++i) {
    const std::string name = "post-op " + std::to_string(i);
    const PostOp post_op = ReadPostOp(std::string(where) + ": " + name, post_ops[i]);
    if (post_op.kind == PostOp::Kind::kEltwise || next == read.size()) continue;
    const Operand input = described("the input of " + name, read[next], read_dtypes[next]);
    CheckDims(where, input);
    CheckPostOpInput(where, post_op, input, result);
    ++next;
  }
  for (const ffi::Array<int64_t>& shape : out) {
    CheckShape(where, described("out", shape, result_dtype), result.dims,
               "from the other arguments");
  }
  return ffi::Array<int64_t>(result.dims.begin(), result.dims.end());
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef registry;
  registry.def("byoc_lab.dnnl.run_op", RunOp).def("byoc_lab.dnnl.check_op", CheckOp);
  for (const Kernel& kernel : Kernels()) {
    registry.def_packed(("byoc_lab.dnnl." + kernel.name).c_str(),
                        [kernel](ffi::PackedArgs args, ffi::Any*) { Call(kernel, args); });
  }
}

}  // namespace byoc_lab
