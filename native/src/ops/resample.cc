// Images resized along their one, two or three spatial axes (resample1d, ...): data (N, C, H, W),
// dst (N, C, size...). Element y of the result lies at (y + 1/2) * H / H' - 1/2 of the data, whose
// elements are at integer positions: "nearest" takes the element at the rounded position, "linear"
// interpolates and repeats the edges.
#include "../windows.h"

namespace byoc_lab {
namespace {

dnnl::algorithm ResamplingAlgorithm(const OpCall& call) {
  using dnnl::algorithm;
  static const std::map<std::string, algorithm> known = {
      {"nearest", algorithm::resampling_nearest}, {"linear", algorithm::resampling_linear}};
  return Algorithm(call.where, call.attrs.Word("alg"), known);
}

Dims Infer(const OpCall& call) {
  ResamplingAlgorithm(call);
  const Dims& size = call.attrs.Ints("size");
  CheckRank(call.where, call.inputs[0], AxisNames(size.size()));
  Operand dst{"result", {call.inputs[0].dims[0], call.inputs[0].dims[1]}};
  dst.dims.insert(dst.dims.end(), size.begin(), size.end());
  CheckDims(call.where, dst);
  return dst.dims;
}

std::optional<Built> Make(const OpCall& call, const std::vector<MemoryDesc>& have,
                          const Dims& dst, const dnnl::primitive_attr& attr) {
  // If the result has one element per channel, oneDNN's kernel reads fused operands at wrong
  // addresses.
  if (Count(dst) == dst[0] * dst[1] && attr.get_post_ops().len() != 0) return std::nullopt;
  return Finish(dnnl::resampling_forward::primitive_desc(
                    Cpu(), dnnl::prop_kind::forward_inference, ResamplingAlgorithm(call), have[0],
                    AnyLayout(dst, call.result), attr, /*allow_empty=*/true),
                {DNNL_ARG_SRC});
}

bool DefineResample(size_t spatial) {
  const std::string axes = DataAxes(spatial);
  return DefineOp({"resample" + std::to_string(spatial) + "d",
                   {"data"},
                   1,
                   {axes},
                   axes,
                   {{"alg", std::string("linear")},
                    {"size", Dims(spatial, 1), 1, kMaxSize, /*required=*/true}},
                   Infer,
                   Make,
                   /*fuses_sum=*/true});
}

const bool defined[] = {DefineResample(1), DefineResample(2), DefineResample(3)};

}  // namespace
}  // namespace byoc_lab
