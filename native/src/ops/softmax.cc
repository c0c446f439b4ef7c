// softmax: dst = exp(data - max) / sum(exp(data - max)) along one axis; log_softmax is its
// logarithm. Negative axes count from the end.
#include "../op.h"

namespace byoc_lab {
namespace {

Dims Infer(const OpCall& call) {
  Axis(call);
  return call.inputs[0].dims;
}

template <dnnl::algorithm algorithm>
std::optional<Built> Make(const OpCall& call, const std::vector<MemoryDesc>& have,
                          const Dims& dst, const dnnl::primitive_attr& attr) {
  // oneDNN's kernel reads operands that broadcast along some axes at wrong addresses.
  if (ReadsWhatBroadcasts(attr, dst)) return std::nullopt;
  // Its fast kernels reduce along the innermost axis in memory.
  const MemoryDesc rows = Innermost(dst, call.result, Axis(call));
  return Finish(dnnl::softmax_forward::primitive_desc(
                    Cpu(), dnnl::prop_kind::forward_inference, algorithm, rows, rows,
                    static_cast<int>(Axis(call)), attr, /*allow_empty=*/true),
                {DNNL_ARG_SRC});
}

const AttrSpec kAxis{"axis", int64_t{-1}, -kMaxSize};

const bool defined[] = {
    DefineOp({"softmax", {"data"}, 1, {""}, "", {kAxis}, Infer,
              Make<dnnl::algorithm::softmax_accurate>}),
    DefineOp({"log_softmax", {"data"}, 1, {""}, "", {kAxis}, Infer,
              Make<dnnl::algorithm::softmax_log>}),
};

}  // namespace
}  // namespace byoc_lab
