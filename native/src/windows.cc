#include "windows.h"

#include <algorithm>

namespace byoc_lab {
namespace {

const std::vector<std::string> kSpatial = {"depth", "height", "width"};

std::vector<std::string> Last(const std::vector<std::string>& words, size_t count) {
  return {words.end() - static_cast<std::ptrdiff_t>(count), words.end()};
}

}  // namespace

std::string DataAxes(size_t spatial) { return "nc" + std::string("dhw").substr(3 - spatial); }

std::string WeightAxes(size_t spatial) { return "oi" + std::string("dhw").substr(3 - spatial); }

std::vector<std::string> AxisNames(size_t spatial) {
  std::vector<std::string> names = {"batch", "channels"};
  for (const std::string& name : Last(kSpatial, spatial)) names.push_back(name);
  return names;
}

bool IsAll(const Dims& values, int64_t value) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == value; });
}

std::vector<AttrSpec> WindowAttrSpecs(size_t spatial) {
  return {{"strides", Dims(spatial, 1), 1},
          {"padding", Dims(2 * spatial, 0)},
          {"dilation", Dims(spatial, 1), 1}};
}

std::vector<AttrSpec> ConvAttrSpecs(size_t spatial) {
  std::vector<AttrSpec> specs = WindowAttrSpecs(spatial);
  specs.push_back({"groups", int64_t{1}, 1});
  return specs;
}

size_t SpatialAxes(const OpCall& call) { return call.attrs.Ints("strides").size(); }

Window::Window(const OpCall& call) : strides(call.attrs.Ints("strides")) {
  const Dims& pad = call.attrs.Ints("padding");
  const auto half = pad.begin() + static_cast<std::ptrdiff_t>(strides.size());
  before.assign(pad.begin(), half);
  after.assign(half, pad.end());
  for (int64_t step : call.attrs.Ints("dilation")) gaps.push_back(step - 1);
}

Window::Window(size_t spatial)
    : strides(spatial, 1), gaps(spatial, 0), before(spatial, 0), after(spatial, 0) {}

int64_t WindowedSize(const OpCall& call, size_t axis, int64_t taps) {
  const size_t spatial = SpatialAxes(call);
  const Dims& pad = call.attrs.Ints("padding");
  const int64_t size = call.inputs[0].dims[2 + axis] + pad[axis] + pad[axis + spatial];
  const int64_t extent = (taps - 1) * call.attrs.Ints("dilation")[axis] + 1;
  if (extent > size) {
    TVM_FFI_THROW(ValueError) << call.where << ": " << call.inputs[0].name << ": expected a "
                              << "padded " << Last(kSpatial, spatial)[axis] << " of at least the "
                              << "window's " << extent << ", found " << size
                              << "; pad more, or use a smaller window or dilation";
  }
  return (size - extent) / call.attrs.Ints("strides")[axis] + 1;
}

size_t CheckConvOperands(const OpCall& call) {
  const Operand &data = call.inputs[0], &weight = call.inputs[1];
  const size_t spatial = SpatialAxes(call);
  CheckRank(call.where, data, AxisNames(spatial));
  std::vector<std::string> weight_axes = {"out channels", "in channels / groups"};
  for (const std::string& name : Last(kSpatial, spatial)) weight_axes.push_back(name);
  CheckRank(call.where, weight, weight_axes);
  const int64_t groups = call.attrs.Int("groups");
  const int64_t channels = data.dims[1], out_channels = weight.dims[0];
  if (channels % groups != 0 || out_channels % groups != 0) {
    TVM_FFI_THROW(ValueError) << call.where << ": groups: expected a divisor of the "
                              << channels << " channels of " << data.name << " and the "
                              << out_channels << " of " << weight.name << ", found " << groups;
  }
  Dims expected = weight.dims;
  expected[1] = channels / groups;
  CheckShape(call.where, weight, expected,
             "its second dimension is " + data.name + "'s " + std::to_string(channels) +
                 " channels over " + std::to_string(groups) + " groups");
  if (call.inputs.size() == 3) CheckBias(call.where, call.inputs[2], out_channels);
  return spatial;
}

MemoryDesc ConvWeights(const OpCall& call) {
  const int64_t groups = call.attrs.Int("groups");
  Dims dims = call.inputs[1].dims;
  if (groups != 1) {
    dims[0] /= groups;
    dims.insert(dims.begin(), groups);
  }
  return AnyLayout(dims, call.inputs[1].dtype);
}

MemoryDesc ConvBias(const OpCall& call) {
  return call.inputs.size() == 3 ? Plain({call.inputs[1].dims[0]}, call.inputs[2].dtype) : MemoryDesc();
}

std::vector<int> ConvArgs(const OpCall& call) {
  std::vector<int> args = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS};
  if (call.inputs.size() == 3) args.push_back(DNNL_ARG_BIAS);
  return args;
}

}  // namespace byoc_lab
