// dst = (data - mean) / sqrt(variance + epsilon) * gamma + beta, each of the four having one
// element for each channel: data (N, C, ...), gamma, beta, mean, variance (C,).
#include "../op.h"

namespace byoc_lab {
namespace {

Dims Infer(const OpCall& call) {
  const Operand& data = call.inputs[0];
  if (data.dims.size() < 2 || data.dims.size() > 5) {
    TVM_FFI_THROW(ValueError) << call.where << ": " << data.name << ": expected 2 to 5 dimensions "
                              << "(batch, channels, up to 3 more), found shape "
                              << Text(data.dims);
  }
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    CheckShape(call.where, call.inputs[i], {data.dims[1]}, "one for each channel of " + data.name);
  }
  CheckEpsilon(call);
  return data.dims;
}

std::optional<Built> Make(const OpCall& call, const std::vector<MemoryDesc>& have,
                          const Dims& dst, const dnnl::primitive_attr& attr) {
  using Flags = dnnl::normalization_flags;
  return Finish(dnnl::batch_normalization_forward::primitive_desc(
                    Cpu(), dnnl::prop_kind::forward_inference, have[0], have[0],
                    static_cast<float>(call.attrs.Number("epsilon")),
                    Flags::use_global_stats | Flags::use_scale | Flags::use_shift, attr,
                    /*allow_empty=*/true),
                {DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE});
}

const bool defined = DefineOp({"batch_norm",
                               {"data", "gamma", "beta", "mean", "variance"},
                               5,
                               {"nchw", "x", "x", "x", "x"},
                               "nchw",
                               {{"epsilon", 1e-5}},
                               Infer,
                               Make});

}  // namespace
}  // namespace byoc_lab
