// dst = a (op) b, element by element, for the functions BinaryAlgorithm lists. Shapes broadcast as
// NumPy's do.
#include "../broadcast.h"
#include "../op.h"

namespace byoc_lab {
namespace {

Dims Infer(const OpCall& call) {
  BinaryAlgorithm(call.where, call.attrs.Word("alg"));
  return Broadcast(call.where, call.inputs[0], call.inputs[1]);
}

Built MadeHere(const OpCall& call, dnnl::algorithm alg, const Dims& shape) {
  Built built;
  built.impl = "rows";
  built.dst = Plain(shape, call.result);
  for (int i = 0; i < 2; ++i) {
    const MemoryDesc desc = Plain(PadRank(call.inputs[i].dims, shape.size()), call.result);
    built.inputs.push_back({i, desc, desc});
  }
  built.own = MakeBroadcast(alg, built.inputs[0].desc.get_dims(), built.inputs[1].desc.get_dims(),
                            shape, call.result);
  return built;
}

std::optional<Built> Make(const OpCall& call, const std::vector<MemoryDesc>& have,
                          const Dims& dst, const dnnl::primitive_attr& attr) {
  const Dims shape = Plain(dst, call.result).get_dims();
  // If all axes after the channels have one element, oneDNN's kernel reads a fused operand with one
  // number per channel as if it had separate channels for each sample.
  const bool pixel = shape.size() > 2 && Count(shape) == shape[0] * shape[1];
  if (pixel && ReadsWhatBroadcasts(attr, shape)) return std::nullopt;
  // The larger operand determines the layout; a broadcast operand gets a matching one.
  const size_t leader = Plain(call.inputs[0]).get_dims() == shape ? 0 : 1;
  const bool led = Plain(call.inputs[leader]).get_dims() == shape;
  const MemoryDesc layout = led ? have[leader] : Plain(dst, call.result);
  const auto wanted = [&](size_t i) {
    const Dims dims = PadRank(call.inputs[i].dims, shape.size());
    return dims == shape ? layout : Beside(layout, dims);
  };
  const dnnl::algorithm alg = BinaryAlgorithm(call.where, call.attrs.Word("alg"));
  auto built = Finish(dnnl::binary::primitive_desc(Cpu(), alg, wanted(0), wanted(1), layout, attr,
                                                   /*allow_empty=*/true),
                      {DNNL_ARG_SRC_0, DNNL_ARG_SRC_1});
  if (attr.get_post_ops().len() != 0 || (built && !built->is_reference())) return built;
  return MadeHere(call, alg, shape);
}

const bool defined = DefineOp({"binary",
                               {"a", "b"},
                               2,
                               {"", ""},
                               "",
                               {{"alg", std::string(), 0, 0, /*required=*/true}},
                               Infer,
                               Make,
                               /*fuses_sum=*/true});

}  // namespace
}  // namespace byoc_lab
