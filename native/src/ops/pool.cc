// Largest element or mean of each window, over one, two or three spatial axes: max_pool2d,
// avg_pool2d, ...; for two axes dst[n, c, y, x] is the largest element or mean of data[n, c, ...] in
// a window of pool_size. data (N, C, H, W), dst (N, C, H', W') with
// H' = (H + top + bottom - ((pool_height - 1) * dilation + 1)) / stride + 1, rounded down.
// A mean counts padded zeros if count_include_pad. A largest element may be of uint8 or int8. A global pool (global_avg_pool2d,
// global_max_pool2d, ...) has the whole image as window.
#include <algorithm>
#include <map>

#include "../planes.h"

namespace byoc_lab {
namespace {

using Algorithm = dnnl::algorithm;

const std::map<Pooling, Algorithm> kAlgorithms = {
    {Pooling::kMax, Algorithm::pooling_max},
    {Pooling::kMeanOfAll, Algorithm::pooling_avg_include_padding},
    {Pooling::kMeanOfData, Algorithm::pooling_avg_exclude_padding}};

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
      // Such a window would contain only padding, and have no maximum.
      TVM_FFI_THROW(ValueError) << call.where << ": padding: expected (before..., behind...) each "
                                << "smaller than the window (" << extent << " here), found "
                                << Text(pad);
    }
    dst.push_back(WindowedSize(call, axis, window[axis]));
  }
  return dst;
}

// Without padding both means are equal; oneDNN has more kernels for the one that counts padding.
bool CountsPadding(const OpCall& call) {
  return call.attrs.Flag("count_include_pad") || IsAll(call.attrs.Ints("padding"), 0);
}

Dims InferAvg(const OpCall& call) {
  if (!CountsPadding(call) && !IsAll(call.attrs.Ints("dilation"), 1)) {
    TVM_FFI_THROW(ValueError) << call.where << ": dilation: expected ones if there is padding "
                              << "that the mean does not count (oneDNN has no such kernel), "
                              << "found " << Text(call.attrs.Ints("dilation"));
  }
  return Infer(call);
}

// Row-major data for which oneDNN is slow: it pools blocks of channels, including the padding of
// incomplete blocks, and has only plain loops for dilated windows.
bool IsForPlanes(const OpCall& call, const MemoryDesc& src, const Window& window) {
  return !IsInteger(call.result) && src == Plain(call.inputs[0]) &&
         (call.inputs[0].dims[1] % 8 != 0 || !IsAll(window.gaps, 0));
}

std::optional<Built> MakeWindowed(const OpCall& call, Pooling pooling, const MemoryDesc& src,
                                  const Dims& taps, const Window& window, const Dims& dst,
                                  const dnnl::primitive_attr& attr) {
  if (!IsForPlanes(call, src, window)) {
    // For integers in another layout, oneDNN has only plain loops.
    const MemoryDesc data =
        IsInteger(call.result) ? ChannelsLast(src.get_dims(), call.result) : src;
    return Finish(dnnl::pooling_forward::primitive_desc(
                      Cpu(), dnnl::prop_kind::forward_inference, kAlgorithms.at(pooling), data,
                      AnyLayout(dst, call.result), window.strides, taps, window.gaps,
                      window.before, window.after, attr, /*allow_empty=*/true),
                  {DNNL_ARG_SRC});
  }
  // Following operations run separately, on the smaller result.
  if (attr.get_post_ops().len() != 0) return std::nullopt;
  Built built;
  built.impl = "planes";
  built.own = MakePlanePool(pooling, call.inputs[0], taps, window, dst);
  built.inputs.push_back({0, src, src});
  built.dst = Plain(dst, call.result);
  return built;
}

std::optional<Built> MakePool(const OpCall& call, Pooling pooling, const MemoryDesc& src,
                              const Dims& dst, const dnnl::primitive_attr& attr) {
  return MakeWindowed(call, pooling, src, call.attrs.Ints("pool_size"), Window(call), dst, attr);
}

std::optional<Built> MakeMax(const OpCall& call, const std::vector<MemoryDesc>& have,
                             const Dims& dst, const dnnl::primitive_attr& attr) {
  return MakePool(call, Pooling::kMax, have[0], dst, attr);
}

std::optional<Built> MakeAvg(const OpCall& call, const std::vector<MemoryDesc>& have,
                             const Dims& dst, const dnnl::primitive_attr& attr) {
  return MakePool(call, CountsPadding(call) ? Pooling::kMeanOfAll : Pooling::kMeanOfData, have[0],
                  dst, attr);
}

template <size_t spatial>
Dims InferGlobal(const OpCall& call) {
  const Operand& data = call.inputs[0];
  CheckRank(call.where, data, AxisNames(spatial));
  Dims dst(2 + spatial, 1);
  std::copy_n(data.dims.begin(), 2, dst.begin());
  return dst;
}

std::optional<Built> MakeGlobal(const OpCall& call, Pooling pooling, const MemoryDesc& src,
                                const Dims& dst, const dnnl::primitive_attr& attr) {
  const Dims& dims = call.inputs[0].dims;
  const Dims all(dims.begin() + 2, dims.end());
  return MakeWindowed(call, pooling, src, all, Window(all.size()), dst, attr);
}

std::optional<Built> MakeGlobalMax(const OpCall& call, const std::vector<MemoryDesc>& have,
                                   const Dims& dst, const dnnl::primitive_attr& attr) {
  return MakeGlobal(call, Pooling::kMax, have[0], dst, attr);
}

std::optional<Built> MakeGlobalAvg(const OpCall& call, const std::vector<MemoryDesc>& have,
                                   const Dims& dst, const dnnl::primitive_attr& attr) {
  return MakeGlobal(call, Pooling::kMeanOfData, have[0], dst, attr);
}

template <size_t spatial>
bool DefinePools() {
  const std::string suffix = "_pool" + std::to_string(spatial) + "d", axes = DataAxes(spatial);
  std::vector<AttrSpec> attrs = {{"pool_size", Dims(spatial, 1), 1, kMaxSize, /*required=*/true}};
  for (const AttrSpec& spec : WindowAttrSpecs(spatial)) attrs.push_back(spec);
  std::vector<AttrSpec> avg_attrs = attrs;
  avg_attrs.push_back({"count_include_pad", false});
  const auto define = [&](const std::string& name, const std::vector<AttrSpec>& specs,
                          auto infer, auto make, Holds holds) {
    OpDef def{name + suffix, {"data"}, 1, {axes}, axes, specs, infer, make};
    def.holds = holds;
    return DefineOp(def);
  };
  return define("max", attrs, Infer, MakeMax, Holds::kNumbers) &&
         define("avg", avg_attrs, InferAvg, MakeAvg, Holds::kReal) &&
         define("global_max", {}, InferGlobal<spatial>, MakeGlobalMax, Holds::kNumbers) &&
         define("global_avg", {}, InferGlobal<spatial>, MakeGlobalAvg, Holds::kReal);
}

const bool defined[] = {DefinePools<1>(), DefinePools<2>(), DefinePools<3>()};

}  // namespace
}  // namespace byoc_lab
