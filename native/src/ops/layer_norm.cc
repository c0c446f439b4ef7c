// dst = (data - mean) / sqrt(variance + epsilon) * gamma + beta, mean and variance taken along the
// last axis: data (..., C), gamma and beta (C,).
#include "../op.h"

namespace byoc_lab {
namespace {

Dims Infer(const OpCall& call) {
  const Operand& data = call.inputs[0];
  if (data.dims.size() < 2) {
    TVM_FFI_THROW(ValueError) << call.where << ": " << data.name << ": expected at least 2 "
                              << "dimensions, found shape " << Text(data.dims);
  }
  for (size_t i = 1; i < 3; ++i) {
    CheckShape(call.where, call.inputs[i], {data.dims.back()},
               "one for each element along the last axis of " + data.name);
  }
  CheckEpsilon(call);
  return data.dims;
}

std::optional<Built> Make(const OpCall& call, const std::vector<MemoryDesc>& have,
                          const Dims& dst, const dnnl::primitive_attr& attr) {
  using Flags = dnnl::normalization_flags;
  const MemoryDesc plain = Plain(dst, call.result);
  return Finish(dnnl::layer_normalization_forward::primitive_desc(
                    Cpu(), dnnl::prop_kind::forward_inference, plain, plain,
                    static_cast<float>(call.attrs.Number("epsilon")),
                    Flags::use_scale | Flags::use_shift, attr, /*allow_empty=*/true),
                {DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_SHIFT});
}

const bool defined = DefineOp({"layer_norm",
                               {"data", "gamma", "beta"},
                               3,
                               {"", "x", "x"},
                               "",
                               {{"epsilon", 1e-5}},
                               Infer,
                               Make});

}  // namespace
}  // namespace byoc_lab
