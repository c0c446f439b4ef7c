// dst[n, c, y, x] = max or mean of data[n, c, ...] over a window of pool_size.
// data (N, C, H, W), dst (N, C, H', W') with
// H' = (H + top + bottom - ((pool_height - 1) * dilation + 1)) / stride + 1, rounded down.
// A mean counts padded zeros if count_include_pad. global_avg_pool2d has the whole image as window.
#include "../op.h"

namespace byoc_lab {
namespace {

const std::vector<std::string> kAxes = {"batch", "channels", "height", "width"};

Dims Infer(const OpCall& call) {
  const Operand& data = call.inputs[0];
  CheckRank(call.where, data, kAxes);
  const Dims &window = call.attrs.Ints("pool_size"), &pad = call.attrs.Ints("padding");
  const Dims& dilation = call.attrs.Ints("dilation");
  for (size_t side = 0; side < pad.size(); ++side) {
    const int64_t extent = (window[side % 2] - 1) * dilation[side % 2] + 1;
    if (pad[side] < extent) continue;
    // Such a window would hold nothing but padding, and has no maximum.
    TVM_FFI_THROW(ValueError) << call.where << ": padding: expected (top, left, bottom, right) "
                              << "each smaller than the window (" << extent << " here), found "
                              << Text(pad);
  }
  return {data.dims[0], data.dims[1], WindowedSize(call, 0, window[0]),
          WindowedSize(call, 1, window[1])};
}

// Without padding the two means are one; oneDNN has more kernels for the one that counts it.
bool CountsPadding(const OpCall& call) {
  return call.attrs.Flag("count_include_pad") || call.attrs.Ints("padding") == Dims{0, 0, 0, 0};
}

Dims InferAvg(const OpCall& call) {
  if (!CountsPadding(call) && call.attrs.Ints("dilation") != Dims{1, 1}) {
    TVM_FFI_THROW(ValueError) << call.where << ": dilation: expected (1, 1) when there is padding "
                              << "that count_include_pad leaves out (oneDNN has no such kernel), "
                              << "found " << Text(call.attrs.Ints("dilation"));
  }
  return Infer(call);
}

std::optional<Built> MakeWith(dnnl::algorithm algorithm, const MemoryDesc& src, const Dims& dst,
                              const Dims& strides, const Dims& window, const Dims& dilation,
                              const Dims& pad, const dnnl::primitive_attr& attr) {
  return Finish(dnnl::pooling_forward::primitive_desc(
                    Cpu(), dnnl::prop_kind::forward_inference, algorithm, src, AnyLayout(dst),
                    strides, window, {dilation[0] - 1, dilation[1] - 1}, {pad[0], pad[1]},
                    {pad[2], pad[3]}, attr, /*allow_empty=*/true),
                {DNNL_ARG_SRC});
}

std::optional<Built> MakePool(const OpCall& call, dnnl::algorithm algorithm,
                              const MemoryDesc& src, const Dims& dst,
                              const dnnl::primitive_attr& attr) {
  const Attrs& a = call.attrs;
  return MakeWith(algorithm, src, dst, a.Ints("strides"), a.Ints("pool_size"),
                  a.Ints("dilation"), a.Ints("padding"), attr);
}

std::optional<Built> MakeMax(const OpCall& call, const std::vector<MemoryDesc>& have,
                             const Dims& dst, const dnnl::primitive_attr& attr) {
  return MakePool(call, dnnl::algorithm::pooling_max, have[0], dst, attr);
}

std::optional<Built> MakeAvg(const OpCall& call, const std::vector<MemoryDesc>& have,
                             const Dims& dst, const dnnl::primitive_attr& attr) {
  return MakePool(call,
                  CountsPadding(call)
                      ? dnnl::algorithm::pooling_avg_include_padding
                      : dnnl::algorithm::pooling_avg_exclude_padding,
                  have[0], dst, attr);
}

Dims InferGlobal(const OpCall& call) {
  const Operand& data = call.inputs[0];
  CheckRank(call.where, data, kAxes);
  return {data.dims[0], data.dims[1], 1, 1};
}

std::optional<Built> MakeGlobalAvg(const OpCall& call, const std::vector<MemoryDesc>& have,
                                   const Dims& dst, const dnnl::primitive_attr& attr) {
  const Dims& src = call.inputs[0].dims;
  return MakeWith(dnnl::algorithm::pooling_avg_exclude_padding, have[0], dst, {1, 1},
                  {src[2], src[3]}, {1, 1}, {0, 0, 0, 0}, attr);
}

std::vector<AttrSpec> WindowAttrs() {
  return {{"pool_size", Dims{1, 1}, 1, kMaxSize, /*required=*/true},
          {"strides", Dims{1, 1}, 1},
          {"padding", Dims{0, 0, 0, 0}},
          {"dilation", Dims{1, 1}, 1}};
}

std::vector<AttrSpec> AvgAttrs() {
  std::vector<AttrSpec> attrs = WindowAttrs();
  attrs.push_back({"count_include_pad", false});
  return attrs;
}

const bool defined_max =
    DefineOp({"max_pool2d", {"data"}, 1, {"nchw"}, "nchw", WindowAttrs(), Infer, MakeMax});
const bool defined_avg =
    DefineOp({"avg_pool2d", {"data"}, 1, {"nchw"}, "nchw", AvgAttrs(), InferAvg, MakeAvg});
const bool defined_global_avg = DefineOp(
    {"global_avg_pool2d", {"data"}, 1, {"nchw"}, "nchw", {}, InferGlobal, MakeGlobalAvg});

}  // namespace
}  // namespace byoc_lab
