// Largest element or mean of each window, over one, two or three spatial axes: max_pool2d,
// avg_pool2d, ...; for two of them dst[n, c, y, x] is that of data[n, c, ...] over a window of
// pool_size. data (N, C, H, W), dst (N, C, H', W') with
// H' = (H + top + bottom - ((pool_height - 1) * dilation + 1)) / stride + 1, rounded down.
// A mean counts padded zeros if count_include_pad. A global pool (global_avg_pool2d,
// global_max_pool2d, ...) has the whole image as window.
#include <algorithm>

#include "../windows.h"

namespace byoc_lab {
namespace {

using Algorithm = dnnl::algorithm;

Dims Infer(const OpCall& call) {
  const Operand& data = call.inputs[0];
  const size_t spatial = SpatialAxes(call);
  CheckRank(call.where, data, AxisNames(spatial));
  const Dims &window = call.attrs.Ints("pool_size"), &pad = call.attrs.Ints("padding");
  const Dims& dilation = call.attrs.Ints("dilation");
  Dims dst = {data.dims[0], data.dims[1]};
  for (size_t axis = 0; axis < spatial; ++axis) {
    const int64_t extent = (window[axis] - 1) * dilation[axis] + 1;
    if (std::max(pad[axis], pad[axis + spatial]) >= extent) {
      // Such a window would hold nothing but padding, and has no maximum.
      TVM_FFI_THROW(ValueError) << call.where << ": padding: expected (before..., behind...) each "
                                << "smaller than the window (" << extent << " here), found "
                                << Text(pad);
    }
    dst.push_back(WindowedSize(call, axis, window[axis]));
  }
  return dst;
}

// Without padding the two means are one; oneDNN has more kernels for the one that counts it.
bool CountsPadding(const OpCall& call) {
  return call.attrs.Flag("count_include_pad") || IsAll(call.attrs.Ints("padding"), 0);
}

Dims InferAvg(const OpCall& call) {
  if (!CountsPadding(call) && !IsAll(call.attrs.Ints("dilation"), 1)) {
    TVM_FFI_THROW(ValueError) << call.where << ": dilation: expected ones when there is padding "
                              << "that count_include_pad leaves out (oneDNN has no such kernel), "
                              << "found " << Text(call.attrs.Ints("dilation"));
  }
  return Infer(call);
}

std::optional<Built> MakePool(const OpCall& call, Algorithm algorithm, const MemoryDesc& src,
                              const Dims& dst, const dnnl::primitive_attr& attr) {
  const Window window(call);
  return Finish(dnnl::pooling_forward::primitive_desc(
                    Cpu(), dnnl::prop_kind::forward_inference, algorithm, src, AnyLayout(dst, call.result),
                    window.strides, call.attrs.Ints("pool_size"), window.gaps, window.before,
                    window.after, attr, /*allow_empty=*/true),
                {DNNL_ARG_SRC});
}

std::optional<Built> MakeMax(const OpCall& call, const std::vector<MemoryDesc>& have,
                             const Dims& dst, const dnnl::primitive_attr& attr) {
  return MakePool(call, Algorithm::pooling_max, have[0], dst, attr);
}

std::optional<Built> MakeAvg(const OpCall& call, const std::vector<MemoryDesc>& have,
                             const Dims& dst, const dnnl::primitive_attr& attr) {
  return MakePool(call,
                  CountsPadding(call) ? Algorithm::pooling_avg_include_padding
                                      : Algorithm::pooling_avg_exclude_padding,
                  have[0], dst, attr);
}

template <size_t spatial>
Dims InferGlobal(const OpCall& call) {
  const Operand& data = call.inputs[0];
  CheckRank(call.where, data, AxisNames(spatial));
  Dims dst(2 + spatial, 1);
  std::copy_n(data.dims.begin(), 2, dst.begin());
  return dst;
}

std::optional<Built> MakeGlobal(const OpCall& call, Algorithm algorithm, const MemoryDesc& src,
                                const Dims& dst, const dnnl::primitive_attr& attr) {
  const Dims& dims = call.inputs[0].dims;
  const Dims window(dims.begin() + 2, dims.end());
  const Dims ones(window.size(), 1), zeros(window.size(), 0);
  return Finish(dnnl::pooling_forward::primitive_desc(
                    Cpu(), dnnl::prop_kind::forward_inference, algorithm, src, AnyLayout(dst, call.result), ones,
                    window, zeros, zeros, zeros, attr, /*allow_empty=*/true),
                {DNNL_ARG_SRC});
}

std::optional<Built> MakeGlobalMax(const OpCall& call, const std::vector<MemoryDesc>& have,
                                   const Dims& dst, const dnnl::primitive_attr& attr) {
  return MakeGlobal(call, Algorithm::pooling_max, have[0], dst, attr);
}

std::optional<Built> MakeGlobalAvg(const OpCall& call, const std::vector<MemoryDesc>& have,
                                   const Dims& dst, const dnnl::primitive_attr& attr) {
  return MakeGlobal(call, Algorithm::pooling_avg_exclude_padding, have[0], dst, attr);
}

template <size_t spatial>
bool DefinePools() {
  const std::string suffix = "_pool" + std::to_string(spatial) + "d", axes = DataAxes(spatial);
  std::vector<AttrSpec> attrs = {{"pool_size", Dims(spatial, 1), 1, kMaxSize, /*required=*/true}};
  for (const AttrSpec& spec : WindowAttrSpecs(spatial)) attrs.push_back(spec);
  std::vector<AttrSpec> avg_attrs = attrs;
  avg_attrs.push_back({"count_include_pad", false});
  const auto define = [&](const std::string& name, const std::vector<AttrSpec>& specs,
                          auto infer, auto make) {
    return DefineOp({name + suffix, {"data"}, 1, {axes}, axes, specs, infer, make});
  };
  return define("max", attrs, Infer, MakeMax) && define("avg", avg_attrs, InferAvg, MakeAvg) &&
         define("global_max", {}, InferGlobal<spatial>, MakeGlobalMax) &&
         define("global_avg", {}, InferGlobal<spatial>, MakeGlobalAvg);
}

const bool defined[] = {DefinePools<1>(), DefinePools<2>(), DefinePools<3>()};

}  // namespace
}  // namespace byoc_lab
