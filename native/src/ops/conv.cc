// Convolution over one, two or three spatial axes (conv1d, conv2d, conv3d); for two of them
// dst[n, o, y, x] = bias[o] + sum over i, r, s of
//     data[n, o / (O / groups) * I + i, y * stride + r * dilation - top, ...] * weight[o, i, r, s]
// data (N, C, H, W), weight (O, I = C / groups, R, S), bias O elements, dst (N, O, H', W') with
// H' = (H + top + bottom - ((R - 1) * dilation + 1)) / stride + 1, rounded down.
#include "../integer/products.h"
#include "../windows.h"

namespace byoc_lab {
namespace {

Dims Infer(const OpCall& call) {
  const size_t spatial = CheckConvOperands(call);
  CheckZeroPoint(call);
  const Operand &data = call.inputs[0], &weight = call.inputs[1];
  Operand dst{"result", {data.dims[0], weight.dims[0]}};
  for (size_t axis = 0; axis < spatial; ++axis) {
    dst.dims.push_back(WindowedSize(call, axis, weight.dims[2 + axis]));
  }
  CheckDims(call.where, dst);
  return dst.dims;
}

std::optional<Built> MakeWith(const OpCall& call, const MemoryDesc& src, const MemoryDesc& dst,
                              const dnnl::primitive_attr& attr) {
  const Window window(call);
  dnnl::convolution_forward::primitive_desc desc(
      Cpu(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_auto, src,
      ConvWeights(call), ConvBias(call), dst, window.strides, window.gaps, window.before,
      window.after, attr, /*allow_empty=*/true);
  if (desc && call.inputs[0].dtype != DType::f32) {
    const bool alone =
        onednn_faults::CoversPaddingAlone(call.inputs[0].dims, call.inputs[1].dims, dst.get_dims(),
                                          window.strides, window.gaps, window.before);
    const bool is_integer = IsInteger(call.result);
    onednn_faults::KeepOffAmx(&desc, alone, is_integer && call.attrs.Int("data_zero_point") != 0);
  }
  return Finish(desc, ConvArgs(call));
}

std::optional<Built> Make(const OpCall& call, const std::vector<MemoryDesc>& have,
                          const Dims& dst, const dnnl::primitive_attr& attr) {
  const Operand& src = call.inputs[0];
  if (IsInteger(call.result)) {
    if (!onednn_faults::ProductsAreExact()) return MakeIntegerConv(call, dst);
    return WithZeroPoint(call, MakeWith(call, AnyLayout(src), AnyLayout(dst, call.result),
                                        WithZeroPoint(call, attr)));
  }
  if (call.layouts == Layouts::kAny || src.dtype != DType::f32) {
    return MakeWith(call, AnyLayout(src), AnyLayout(dst, call.result), attr);
  }
  // Blocks of 16 (AVX-512) or 8 (AVX2) channels: these kernels are as fast as those that oneDNN
  // chooses, and reordering at the edges of a region is far cheaper. An image with few channels is
  // not converted.
  for (int block : {16, 8}) {
    if (src.dims[1] <= 4 && have[0] == Plain(src)) {
      auto built = MakeWith(call, have[0], Blocked(dst, block), attr);
      if (built && !built->is_reference()) return built;
    }
    auto built = MakeWith(call, Blocked(src.dims, block), Blocked(dst, block), attr);
    if (built && !built->is_reference()) return built;
  }
  return MakeWith(call, AnyLayout(src), AnyLayout(dst, call.result), attr);
}

OpDef Conv(size_t spatial) {
  OpDef def;
  def.kind = "conv" + std::to_string(spatial) + "d";
  def.inputs = {"data", "weight", "bias"};
  def.required = 2;
  def.axes = {DataAxes(spatial), WeightAxes(spatial), "x"};
  def.dst_axes = DataAxes(spatial);
  def.attrs = ConvAttrSpecs(spatial);
  def.attrs.push_back(ZeroPointSpec());
  def.infer = Infer;
  def.make = Make;
  def.fuses_sum = true;
  def.holds = Holds::kProduct;
  return def;
}

const bool defined[] = {DefineOp(Conv(1)), DefineOp(Conv(2)), DefineOp(Conv(3))};

}  // namespace
}  // namespace byoc_lab
