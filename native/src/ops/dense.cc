// dst = data * transpose(weight) + bias: data (N, K), weight (M, K), bias M elements, dst (N, M).
#include "../integer/products.h"
#include "../one_row.h"

namespace byoc_lab {
namespace {

Dims Infer(const OpCall& call) {
  const Operand &data = call.inputs[0], &weight = call.inputs[1];
  CheckRank(call.where, data, {"batch", "in features"});
  CheckRank(call.where, weight, {"out features", "in features"});
  CheckShape(call.where, weight, {weight.dims[0], data.dims[1]},
             "its second dimension is " + data.name + "'s");
  if (call.inputs.size() == 3) CheckBias(call.where, call.inputs[2], weight.dims[0]);
  CheckZeroPoint(call);
  return {data.dims[0], weight.dims[0]};
}

std::optional<Built> Make(const OpCall& call, const std::vector<MemoryDesc>& have,
                          const Dims& dst, const dnnl::primitive_attr& attr) {
  if (IsInteger(call.result)) {
    if (!onednn_faults::ProductsAreExact()) return MakeIntegerDense(call, dst);
    // Only the matmul primitive supports zero points; it reads the weight transposed.
    const MemoryDesc stored = Plain(call.inputs[1]);
    auto built = Finish(
        dnnl::matmul::primitive_desc(Cpu(), Plain(call.inputs[0]), stored.permute_axes({1, 0}),
                                     Plain(dst, call.result), WithZeroPoint(call, attr),
                                     /*allow_empty=*/true),
        {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS});
    if (built) built->inputs[1].stored = stored;
    return WithZeroPoint(call, built);
  }
  if (auto row = MakeOneRow(call, dst, attr)) return row;
  const bool biased = call.inputs.size() == 3;
  std::vector<int> args = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS};
  if (biased) args.push_back(DNNL_ARG_BIAS);
  const auto product = [&] {
    return dnnl::inner_product_forward::primitive_desc(
        Cpu(), dnnl::prop_kind::forward_inference, Plain(call.inputs[0]),
        AnyLayout(call.inputs[1]),
        biased ? Plain({dst[1]}, call.inputs[2].dtype) : MemoryDesc(), Plain(dst, call.result),
        attr, /*allow_empty=*/true);
  };
  auto desc = product();
  if (dst[0] == 1 && desc) {
    // One row takes as long as reading its weights. oneDNN prefers kernels for many rows, which
    // read weights in blocks; its gemm reads them in row-major order, in two thirds of the time.
    auto streaming = product();
    while (!IsKernel(streaming.impl_info_str(), ":gemm:") && streaming.next_impl()) continue;
    if (IsKernel(streaming.impl_info_str(), ":gemm:")) desc = streaming;
  }
  return Finish(desc, args);
}

const bool defined = DefineOp({"dense",
                               {"data", "weight", "bias"},
                               2,
                               {"nc", "oi", "x"},
                               "nc",
                               {ZeroPointSpec()},
                               Infer,
                               Make,
                               /*fuses_sum=*/true,
                               /*variadic=*/false,
                               /*reshapes=*/true,
                               Holds::kProduct});

}  // namespace
}  // namespace byoc_lab
