#include "op.h"

#include <algorithm>

namespace byoc_lab {
namespace {

std::map<std::string, OpDef>& Registry() {
  static std::map<std::string, OpDef> registry;
  return registry;
}

void CheckDTypes(const OpDef& def, const OpCall& call) {
  if (def.holds == Holds::kOwn) return;
  const auto refuse = [&](const std::string& name, DType found, const std::string& expected) {
    TVM_FFI_THROW(TypeError) << call.where << ": " << name << ": expected dtype " << expected
                             << ", found " << Name(found);
  };
  const Operand& first = call.inputs[0];
  const bool real = first.dtype == DType::f32 || first.dtype == DType::bf16;
  const bool narrow = first.dtype == DType::u8 || first.dtype == DType::s8;
  if (def.holds == Holds::kProduct && narrow) {
    if (call.inputs[1].dtype != DType::s8) {
      refuse(call.inputs[1].name, call.inputs[1].dtype,
             "int8, as " + first.name + " is " + Name(first.dtype));
    }
    if (call.inputs.size() > 2) {
      // oneDNN would add it in float32, which cannot represent all integers.
      TVM_FFI_THROW(ValueError) << call.where << ": " << call.inputs[2].name << ": products of "
                                << "integers take no bias; give it to requantize";
    }
    if (call.result != DType::s32) refuse(call.result_name, call.result, "int32");
    return;
  }
  if (def.holds != Holds::kAny && !real && !(def.holds == Holds::kNumbers && narrow)) {
    refuse(first.name, first.dtype,
           def.holds == Holds::kReal ? "float32 or bfloat16" : "float32, bfloat16, uint8 or int8");
  }
  for (const Operand& input : call.inputs) {
    if (input.dtype == first.dtype) continue;
    refuse(input.name, input.dtype, Name(first.dtype) + ", that of " + first.name);
  }
  if (call.result != first.dtype) {
    refuse(call.result_name, call.result, Name(first.dtype) + ", that of " + first.name);
  }
}

}  // namespace

dnnl::algorithm Algorithm(const std::string& where, const std::string& alg,
                          const std::map<std::string, dnnl::algorithm>& known) {
  const auto found = known.find(alg);
  if (found != known.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, unused] : known) names.push_back(name);
  TVM_FFI_THROW(ValueError) << where << ": unknown alg '" << alg << "'; known are " << Join(names);
  TVM_FFI_UNREACHABLE();
}

bool DefineOp(OpDef def) { return Registry().emplace(def.kind, def).second; }

const OpDef& FindOp(const std::string& where, const std::string& kind) {
  const auto found = Registry().find(kind);
  if (found != Registry().end()) return found->second;
  std::vector<std::string> kinds;
  for (const auto& [name, unused] : Registry()) kinds.push_back(name);
  TVM_FFI_THROW(ValueError) << where << ": unknown kind '" << kind << "'; known are "
                            << Join(kinds);
  TVM_FFI_UNREACHABLE();
}

OpCall Bind(const std::string& where, const OpDef& def, const std::vector<Operand>& inputs,
            DType result, const JsonObject& attrs, const std::string& result_name) {
  const size_t most = def.variadic ? kMaxOperands : def.inputs.size();
  if (inputs.size() < def.required || inputs.size() > most) {
    TVM_FFI_THROW(ValueError) << where << ": expected inputs " << Join(def.inputs) << " ("
                              << def.required << " at least), found " << inputs.size();
  }
  OpCall call{where, {}, Attrs::Read(where, def.attrs, attrs), result, result_name};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = def.variadic ? def.inputs[0] + std::to_string(i) : def.inputs[i];
    call.inputs.push_back(inputs[i]);
    call.inputs.back().name = inputs[i].name.empty() ? name : name + " " + inputs[i].name;
    CheckDims(where, call.inputs.back());
  }
  CheckDTypes(def, call);
  return call;
}

dnnl::algorithm EltwiseAlgorithm(const std::string& where, const std::string& alg) {
  using dnnl::algorithm;
  static const std::map<std::string, algorithm> known = {
      {"relu", algorithm::eltwise_relu},        // max(x, 0) + alpha * min(x, 0)
      {"clip", algorithm::eltwise_clip},        // min(max(x, alpha), beta)
      {"tanh", algorithm::eltwise_tanh},
      {"sigmoid", algorithm::eltwise_logistic},  // 1 / (1 + exp(-x))
      {"exp", algorithm::eltwise_exp},
      {"log", algorithm::eltwise_log},
      {"sqrt", algorithm::eltwise_sqrt},
      {"square", algorithm::eltwise_square},
      {"abs", algorithm::eltwise_abs},
      {"round", algorithm::eltwise_round},      // to nearest, halves to even
      {"elu", algorithm::eltwise_elu},          // x > 0 ? x : alpha * (exp(x) - 1)
      {"gelu", algorithm::eltwise_gelu_erf},    // x / 2 * (1 + erf(x / sqrt(2)))
      {"gelu_tanh", algorithm::eltwise_gelu_tanh},
      {"swish", algorithm::eltwise_swish},      // x / (1 + exp(-alpha * x))
      {"mish", algorithm::eltwise_mish},        // x * tanh(log(1 + exp(x)))
      {"linear", algorithm::eltwise_linear},    // alpha * x + beta
      {"pow", algorithm::eltwise_pow},          // alpha * x ** beta
      {"softplus", algorithm::eltwise_soft_relu},  // log(1 + exp(alpha * x)) / alpha
      {"hard_swish", algorithm::eltwise_hardswish},  // x * min(max(alpha * x + beta, 0), 1)
      {"hard_sigmoid", algorithm::eltwise_hardsigmoid},  // min(max(alpha * x + beta, 0), 1)
  };
  return Algorithm(where, alg, known);
}

bool IsFloat32Only(const std::string& alg) {
  return onednn_faults::IsFloat32Only(EltwiseAlgorithm("eltwise", alg));
}

void CheckEltwise(const std::string& where, const std::string& alg, double alpha, double beta) {
  EltwiseAlgorithm(where, alg);
  if (alg == "clip" && alpha > beta) {
    TVM_FFI_THROW(ValueError) << where << ": clip: expected a low end (alpha) of at most the high "
                              << "end (beta) " << beta << ", found " << alpha;
  }
  if (alg == "softplus" && alpha == 0) {
    TVM_FFI_THROW(ValueError) << where << ": softplus: alpha: expected another number than 0, by "
                              << "which it divides, found 0";
  }
}

bool IsReference(const std::string& impl) {
  return impl.rfind("ref", 0) == 0 || impl.rfind("simple_nchw", 0) == 0 ||
         impl.rfind("simple_nhwc", 0) == 0;
}

dnnl::algorithm BinaryAlgorithm(const std::string& where, const std::string& alg) {
  using dnnl::algorithm;
  static const std::map<std::string, algorithm> known = {
      {"add", algorithm::binary_add}, {"sub", algorithm::binary_sub},
      {"mul", algorithm::binary_mul}, {"div", algorithm::binary_div},
      {"max", algorithm::binary_max}, {"min", algorithm::binary_min},
  };
  return Algorithm(where, alg, known);
}

dnnl::primitive_attr FusedAttr(const std::vector<PostOp>& post_ops, size_t count,
                               const Dims& dst) {
  dnnl::post_ops fused;
  for (size_t i = 0; i < count; ++i) {
    const PostOp& op = post_ops[i];
    switch (op.kind) {
      case PostOp::Kind::kEltwise:
        fused.append_eltwise(EltwiseAlgorithm("post-op", op.alg), op.alpha, op.beta);
        break;
      case PostOp::Kind::kBinary: {
        const Dims shape = PadRank(dst, 1);  // a scalar has one axis in oneDNN
        const Dims dims = PadRank(op.input_dims, shape.size());
        // An operand with the result's shape gets the result's layout, whatever it will be.
        fused.append_binary(BinaryAlgorithm("post-op", op.alg),
                            dims == shape ? AnyLayout(dims, op.input_dtype)
                                        : Plain(dims, op.input_dtype));
        break;
      }
      case PostOp::Kind::kSum:
        fused.append_sum(op.scale);
        break;
    }
  }
  dnnl::primitive_attr attr;
  attr.set_post_ops(fused);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

bool ReadsWhatBroadcasts(const dnnl::primitive_attr& attr, const Dims& dst) {
  const dnnl::post_ops post_ops = attr.get_post_ops();
  for (int i = 0; i < post_ops.len(); ++i) {
    if (post_ops.kind(i) != dnnl::primitive::kind::binary) continue;
    dnnl::algorithm alg;
    MemoryDesc operand;
    post_ops.get_params_binary(i, alg, operand);
    const Dims dims = operand.get_dims();
    if (dims != dst && Count(dims) != 1) return true;
  }
  return false;
}

void CheckBias(const std::string& where, const Operand& bias, int64_t channels) {
  Dims others = bias.dims;
  const auto found = std::find(others.begin(), others.end(), channels);
  if (found != others.end()) others.erase(found);
  const bool alone = std::all_of(others.begin(), others.end(), [](int64_t n) { return n == 1; });
  if (others.size() + 1 == bias.dims.size() && alone) return;
  CheckShape(where, bias, {channels}, "one for each output channel; ones may surround it");
}

dnnl::primitive_attr WithZeroPoint(const OpCall& call, const dnnl::primitive_attr& attr) {
  dnnl::primitive_attr mine = attr;
  if (call.attrs.Int("data_zero_point") != 0) mine.set_zero_points_mask(DNNL_ARG_SRC, 0);
  return mine;
}

std::optional<Built> WithZeroPoint(const OpCall& call, std::optional<Built> built) {
  const int64_t zero = call.attrs.Int("data_zero_point");
  if (built && zero != 0) {
    built->numbers = {{DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, static_cast<int32_t>(zero)}};
  }
  return built;
}

AttrSpec ZeroPointSpec() { return {"data_zero_point", int64_t{0}, -128, 255}; }

void CheckZeroPoint(const OpCall& call) {
  const int64_t zero = call.attrs.Int("data_zero_point");
  if (zero == 0 || IsInteger(call.result)) return;
  TVM_FFI_THROW(ValueError) << call.where << ": data_zero_point: expected 0, as "
                            << call.inputs[0].name << " is " << Name(call.inputs[0].dtype)
                            << ", found " << zero;
}

size_t Axis(const OpCall& call) {
  const int64_t rank = static_cast<int64_t>(call.inputs[0].dims.size());
  const int64_t given = call.attrs.Int("axis"), axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank) {
    TVM_FFI_THROW(ValueError) << call.where << ": axis: expected a value in [" << -rank << ", "
                              << rank << ") for " << call.inputs[0].name << " "
                              << Text(call.inputs[0].dims) << ", found " << given;
  }
  return static_cast<size_t>(axis);
}

void CheckEpsilon(const OpCall& call) {
  const double epsilon = call.attrs.Number("epsilon");
  if (epsilon < 0) {
    TVM_FFI_THROW(ValueError) << call.where << ": epsilon: expected a value of at least 0, found "
                              << epsilon;
  }
}

const dnnl::engine& Cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

bool IsKernel(const std::string& impl, const char* part) {
  return impl.find(part) != std::string::npos;
}

std::optional<Built> FinishBase(const dnnl::primitive_desc_base& desc,
                                const dnnl::primitive& primitive,
                                const std::vector<int>& args) {
  const auto query = [&](int arg) { return desc.query_md(dnnl::query::exec_arg_md, arg); };
  Built built;
  built.primitive = primitive;
  built.impl = desc.impl_info_str();
  for (int arg : args) built.inputs.push_back({arg, query(arg), query(arg)});
  const dnnl::post_ops fused = desc.get_primitive_attr().get_post_ops();
  for (int i = 0; i < fused.len(); ++i) {
    if (fused.kind(i) != dnnl::primitive::kind::binary) continue;
    const int arg = DNNL_ARG_ATTR_MULTIPLE_POST_OP(i) | DNNL_ARG_SRC_1;
    built.post_op_inputs.push_back({arg, query(arg), query(arg)});
    // Some primitives accept `any` here without choosing a layout; then they cannot run.
    if (built.post_op_inputs.back().desc.get_format_kind() == dnnl::memory::format_kind::any) {
      return std::nullopt;
    }
  }
  built.dst = query(DNNL_ARG_DST);
  built.scratchpad = query(DNNL_ARG_SCRATCHPAD);
  return built;
}

}  // namespace byoc_lab
