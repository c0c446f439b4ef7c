// dst = exp(data - max) / sum(exp(data - max)) along one axis; negative axes count from the end.
#include "../op.h"

namespace byoc_lab {
namespace {

int64_t Axis(const OpCall& call) {
  const int64_t axis = call.attrs.Int("axis");
  return axis < 0 ? axis + static_cast<int64_t>(call.inputs[0].dims.size()) : axis;
}

Dims Infer(const OpCall& call) {
  const int64_t rank = static_cast<int64_t>(call.inputs[0].dims.size());
  if (Axis(call) < 0 || Axis(call) >= rank) {
    TVM_FFI_THROW(ValueError) << call.where << ": axis: expected a value in [" << -rank << ", "
                              << rank << ") for " << call.inputs[0].name << " "
                              << Text(call.inputs[0].dims) << ", found "
                              << call.attrs.Int("axis");
  }
  return call.inputs[0].dims;
}

std::optional<Built> Make(const OpCall& call, const std::vector<MemoryDesc>& have,
                          const Dims& dst, const dnnl::primitive_attr& attr) {
  const MemoryDesc plain = Plain(dst);
  return Finish(dnnl::softmax_forward::primitive_desc(
                    Cpu(), dnnl::prop_kind::forward_inference, dnnl::algorithm::softmax_accurate,
                    plain, plain, static_cast<int>(Axis(call)), attr, /*allow_empty=*/true),
                {DNNL_ARG_SRC});
}

const bool defined = DefineOp(
    {"softmax", {"data"}, 1, {""}, "", {{"axis", int64_t{-1}, -kMaxSize}}, Infer, Make});

}  // namespace
}  // namespace byoc_lab
