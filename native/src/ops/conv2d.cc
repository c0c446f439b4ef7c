// dst[n, o, y, x] = bias[o] + sum over i, r, s of
//     data[n, o / (O / groups) * I + i, y * stride + r * dilation - top, ...] * weight[o, i, r, s]
// data (N, C, H, W), weight (O, I = C / groups, R, S), bias O elements, dst (N, O, H', W') with
// H' = (H + top + bottom - ((R - 1) * dilation + 1)) / stride + 1, rounded down.
#include "../op.h"

namespace byoc_lab {
namespace {

Dims Infer(const OpCall& call) {
  const Operand &data = call.inputs[0], &weight = call.inputs[1];
  CheckRank(call.where, data, {"batch", "channels", "height", "width"});
  CheckRank(call.where, weight, {"out channels", "in channels / groups", "height", "width"});
  const int64_t groups = call.attrs.Int("groups");
  const int64_t channels = data.dims[1], out_channels = weight.dims[0];
  if (channels % groups != 0 || out_channels % groups != 0) {
    TVM_FFI_THROW(ValueError) << call.where << ": groups: expected a divisor of the "
                              << channels << " channels of " << data.name << " and the "
                              << out_channels << " of " << weight.name << ", found " << groups;
  }
  CheckShape(call.where, weight,
             {out_channels, channels / groups, weight.dims[2], weight.dims[3]},
             "its second dimension is " + data.name + "'s " + std::to_string(channels) +
                 " channels over " + std::to_string(groups) + " groups");
  if (call.inputs.size() == 3) CheckBias(call.where, call.inputs[2], out_channels);
  const Operand dst{"result",
                    {data.dims[0], out_channels, WindowedSize(call, 0, weight.dims[2]),
                     WindowedSize(call, 1, weight.dims[3])}};
  CheckDims(call.where, dst);
  return dst.dims;
}

std::optional<Built> MakeWith(const OpCall& call, const MemoryDesc& src, const MemoryDesc& dst,
                              const dnnl::primitive_attr& attr) {
  const Attrs& a = call.attrs;
  const Dims& pad = a.Ints("padding");
  const Dims &w = call.inputs[1].dims, &dilation = a.Ints("dilation");
  const int64_t groups = a.Int("groups");
  // oneDNN wants groups as a dimension of their own, and counts the gaps between taps.
  const MemoryDesc weights = AnyLayout(
      groups == 1 ? w : Dims{groups, w[0] / groups, w[1], w[2], w[3]});
  const bool biased = call.inputs.size() == 3;
  const MemoryDesc bias = biased ? Plain({w[0]}) : MemoryDesc();
  std::vector<int> args = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS};
  if (biased) args.push_back(DNNL_ARG_BIAS);
  return Finish(dnnl::convolution_forward::primitive_desc(
                    Cpu(), dnnl::prop_kind::forward_inference,
                    dnnl::algorithm::convolution_auto, src, weights, bias, dst, a.Ints("strides"),
                    {dilation[0] - 1, dilation[1] - 1}, {pad[0], pad[1]}, {pad[2], pad[3]}, attr,
                    /*allow_empty=*/true),
                args);
}

std::optional<Built> Make(const OpCall& call, const std::vector<MemoryDesc>& have,
                          const Dims& dst, const dnnl::primitive_attr& attr) {
  const Dims& src = call.inputs[0].dims;
  const auto blocked = [](const Dims& dims, Tag tag) {
    return MemoryDesc(dims, dnnl::memory::data_type::f32, tag);
  };
  // Blocks of 16 (AVX-512) or 8 (AVX2) channels: the kernels are as quick as those oneDNN picks
  // for itself, and reordering at the edges of a region is far cheaper. An image of a few channels
  // is read as it is.
  for (Tag tag : {Tag::nChw16c, Tag::nChw8c}) {
    if (src[1] <= 4 && have[0] == Plain(src)) {
      auto built = MakeWith(call, have[0], blocked(dst, tag), attr);
      if (built && !built->is_reference()) return built;
    }
    auto built = MakeWith(call, blocked(src, tag), blocked(dst, tag), attr);
    if (built && !built->is_reference()) return built;
  }
  return MakeWith(call, AnyLayout(src), AnyLayout(dst), attr);
}

const bool defined = DefineOp({"conv2d",
                               {"data", "weight", "bias"},
                               2,
                               {"nchw", "oihw", "x"},
                               "nchw",
                               {{"strides", Dims{1, 1}, 1},
                                {"padding", Dims{0, 0, 0, 0}},
                                {"dilation", Dims{1, 1}, 1},
                                {"groups", int64_t{1}, 1}},
                               Infer,
                               Make,
                               /*fuses_sum=*/true});

}  // namespace
}  // namespace byoc_lab
