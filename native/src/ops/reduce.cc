// dst = sum, mean, product, maximum or minimum of data along one axis, which is kept with size 1;
// negative axes count from the end. (Several axes are several reductions.)
#include <map>

#include "../op.h"

namespace byoc_lab {
namespace {

dnnl::algorithm ReductionAlgorithm(const OpCall& call) {
  using dnnl::algorithm;
  static const std::map<std::string, algorithm> known = {
      {"sum", algorithm::reduction_sum}, {"mean", algorithm::reduction_mean},
      {"prod", algorithm::reduction_mul}, {"max", algorithm::reduction_max},
      {"min", algorithm::reduction_min},
  };
  return Algorithm(call.where, call.attrs.Word("alg"), known);
}

Dims Infer(const OpCall& call) {
  ReductionAlgorithm(call);
  Dims dims = call.inputs[0].dims;
  dims[Axis(call)] = 1;
  return dims;
}

std::optional<Built> Make(const OpCall& call, const std::vector<MemoryDesc>& have,
                          const Dims& dst, const dnnl::primitive_attr& attr) {
  if (dst == call.inputs[0].dims) {
    // Along an axis with one element, each reduction returns this element; oneDNN does not accept
    // it as a reduction.
    const MemoryDesc plain = Plain(call.inputs[0]);
    return Finish(dnnl::eltwise_forward::primitive_desc(
                      Cpu(), dnnl::prop_kind::forward_inference, dnnl::algorithm::eltwise_linear,
                      plain, plain, /*alpha=*/1.f, /*beta=*/0.f, attr, /*allow_empty=*/true),
                  {DNNL_ARG_SRC});
  }
  return Finish(dnnl::reduction::primitive_desc(Cpu(), ReductionAlgorithm(call),
                                                Plain(call.inputs[0]), Plain(dst, call.result),
                                                /*p=*/0.f, /*eps=*/0.f, attr,
                                                /*allow_empty=*/true),
                {DNNL_ARG_SRC});
}

const bool defined = DefineOp({"reduce",
                               {"data"},
                               1,
                               {""},
                               "",
                               {{"alg", std::string(), 0, 0, /*required=*/true},
                                {"axis", int64_t{-1}, -kMaxSize}},
                               Infer,
                               Make,
                               /*fuses_sum=*/true});

}  // namespace
}  // namespace byoc_lab
