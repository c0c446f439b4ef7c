// Transposed convolution over one, two or three spatial axes (conv1d_transpose, ...): the gradient
// of a convolution with respect to its data. For two axes
// dst[n, o, y * stride + r * dilation - top, ...] += data[n, i, y, x] * weight[o, i, r, s], + bias
// data (N, C, H, W), weight (O, I = C / groups, R, S), as a convolution's, dst (N, O, H', W') with
// H' = (H - 1) * stride + (R - 1) * dilation + 1 - top - bottom + output_padding.
#include "../disjoint.h"

namespace byoc_lab {
namespace {

Dims Infer(const OpCall& call) {
  const size_t spatial = CheckConvOperands(call);
  const Operand &data = call.inputs[0], &weight = call.inputs[1];
  const Dims &stride = call.attrs.Ints("strides"), &pad = call.attrs.Ints("padding");
  const Dims &dilation = call.attrs.Ints("dilation"), &extra = call.attrs.Ints("output_padding");
  Operand dst{"result", {data.dims[0], weight.dims[0]}};
  for (size_t axis = 0; axis < spatial; ++axis) {
    const int64_t extent = (weight.dims[2 + axis] - 1) * dilation[axis] + 1;
    if (extra[axis] >= stride[axis]) {
      TVM_FFI_THROW(ValueError) << call.where << ": output_padding: expected values smaller than "
                                << "the strides " << Text(stride) << ", found " << Text(extra);
    }
    const int64_t size = (data.dims[2 + axis] - 1) * stride[axis] + extent - pad[axis] -
                         pad[axis + spatial] + extra[axis];
    if (size < 1) {
      TVM_FFI_THROW(ValueError) << call.where << ": padding: it leaves nothing of the result: "
                                << "expected less, found " << Text(pad);
    }
    dst.dims.push_back(size);
  }
  CheckDims(call.where, dst);
  return dst.dims;
}

std::optional<Built> Make(const OpCall& call, const std::vector<MemoryDesc>& have,
                          const Dims& dst, const dnnl::primitive_attr& attr) {
  if (auto disjoint = MakeDisjoint(call, dst)) return disjoint;
  Window window(call);
  // oneDNN derives the result's size from the final padding, from which output_padding is
  // subtracted.
  const Dims& extra = call.attrs.Ints("output_padding");
  for (size_t axis = 0; axis < extra.size(); ++axis) window.after[axis] -= extra[axis];
  // The bias is added afterwards, in float32, so that sums are rounded once.
  const bool biased = call.inputs.size() == 3;
  return Finish(dnnl::deconvolution_forward::primitive_desc(
                    Cpu(), dnnl::prop_kind::forward_inference,
                    dnnl::algorithm::deconvolution_direct, AnyLayout(call.inputs[0]),
                    ConvWeights(call), AnyLayout(dst, biased ? DType::f32 : call.result),
                    window.strides, window.gaps, window.before, window.after, attr,
                    /*allow_empty=*/true),
                {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS});
}

OpDef ConvTranspose(size_t spatial) {
  OpDef def;
  def.kind = "conv" + std::to_string(spatial) + "d_transpose";
  def.inputs = {"data", "weight", "bias"};
  def.required = 2;
  def.axes = {DataAxes(spatial), WeightAxes(spatial), "x"};
  def.dst_axes = DataAxes(spatial);
  def.attrs = ConvAttrSpecs(spatial);
  def.attrs.push_back({"output_padding", Dims(spatial, 0)});
  def.infer = Infer;
  def.make = Make;
  def.fuses = onednn_faults::kDeconvolutionFuses;
  return def;
}

const bool defined[] = {DefineOp(ConvTranspose(1)), DefineOp(ConvTranspose(2)),
                        DefineOp(ConvTranspose(3))};

}  // namespace
}  // namespace byoc_lab
