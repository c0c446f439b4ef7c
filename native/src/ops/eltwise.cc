// dst = f(data), element by element, for the functions EltwiseAlgorithm lists. Any shape.
#include "../op.h"

namespace byoc_lab {
namespace {

Dims Infer(const OpCall& call) {
  const Attrs& a = call.attrs;
  CheckEltwise(call.where, a.Word("alg"), a.Number("alpha"), a.Number("beta"));
  return call.inputs[0].dims;
}

std::optional<Built> Make(const OpCall& call, const std::vector<MemoryDesc>& have,
                          const Dims& dst, const dnnl::primitive_attr& attr) {
  const Attrs& a = call.attrs;
  const MemoryDesc data =
      IsFloat32Only(a.Word("alg")) && call.result != DType::f32 ? Plain(dst) : have[0];
  return Finish(dnnl::eltwise_forward::primitive_desc(
                    Cpu(), dnnl::prop_kind::forward_inference,
                    EltwiseAlgorithm(call.where, a.Word("alg")), data, data,
                    static_cast<float>(a.Number("alpha")), static_cast<float>(a.Number("beta")),
                    attr, /*allow_empty=*/true),
                {DNNL_ARG_SRC});
}

const bool defined = DefineOp({"eltwise",
                               {"data"},
                               1,
                               {""},
                               "",
                               {{"alg", std::string(), 0, 0, /*required=*/true},
                                {"alpha", 0.0}, {"beta", 0.0}},
                               Infer,
                               Make});

}  // namespace
}  // namespace byoc_lab
