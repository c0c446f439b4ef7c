#include "integer/products.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "integer/product_kernel.h"
#include "windows.h"

namespace byoc_lab {
namespace {

bool IsSigned(const OpCall& call) { return call.inputs[0].dtype == DType::s8; }

Built Finished(std::shared_ptr<const RowsKernel> kernel, std::vector<Built::Input> inputs,
               MemoryDesc dst) {
  Built built;
  built.impl = kernel->name();
  built.inputs = std::move(inputs);
  built.dst = std::move(dst);
  built.scratchpad = Plain({kernel->threads() * kernel->memory_bytes()}, DType::u8);
  built.own = std::move(kernel);
  return built;
}

// `values` of the spatial axes, preceded by `missing` up to three values.
std::vector<int64_t> Three(const Dims& values, int64_t missing) {
  std::vector<int64_t> three(3 - values.size(), missing);
  three.insert(three.end(), values.begin(), values.end());
  return three;
}

Dims Spatial(const Dims& dims) { return {dims.begin() + 2, dims.end()}; }

// The number of groups, each with `columns` columns, that are computed together: the largest
// divisor of the number of groups that fits a panel.
int64_t Merged(int64_t groups, int64_t columns) {
  int64_t merged = std::max<int64_t>(1, std::min(groups, kPanel / columns));
  while (groups % merged != 0) --merged;
  return merged;
}

// Whether each row is a pixel of the data, in the order of the pixels.
bool IsProductOfPixels(const Sliding& window) {
  return window.size == window.result && IsAll(window.taps, 1) && IsAll(window.strides, 1) &&
         IsAll(window.before, 0);
}

// The strides of an operand's last two axes, in the order of the formula.
std::pair<int64_t, int64_t> Strides(const OpCall& call, size_t operand, const char* transposed) {
  const Dims& dims = call.inputs[operand].dims;
  const int64_t width = dims.back();
  return call.attrs.Flag(transposed) ? std::pair{int64_t{1}, width} : std::pair{width, int64_t{1}};
}

// For each batch of the result, its offset in an operand that broadcasts, in elements.
std::vector<int64_t> BatchesAt(const Dims& operand, const Dims& dst) {
  const Dims padded = PadRank(operand, dst.size());
  const size_t axes = dst.size() - 2;
  const int64_t matrix = padded[axes] * padded[axes + 1];
  std::vector<int64_t> at = {0};
  int64_t held = Count({padded.begin(), padded.begin() + static_cast<std::ptrdiff_t>(axes)});
  for (size_t axis = 0; axis < axes; ++axis) {
    held /= padded[axis];
    std::vector<int64_t> next;
    for (int64_t start : at) {
      for (int64_t i = 0; i < dst[axis]; ++i) {
        next.push_back(start + (padded[axis] == 1 ? 0 : i * held * matrix));
      }
    }
    at = std::move(next);
  }
  return at;
}

}  // namespace

Built MakeIntegerConv(const OpCall& call, const Dims& dst) {
  static const Tag depthwise[] = {Tag::wigo, Tag::hwigo, Tag::dhwigo};
  static const Tag panels[] = {Tag::Owi16o, Tag::Ohwi16o, Tag::Odhwi16o};
  static const Tag grouped_panels[] = {Tag::gOwi16o, Tag::gOhwi16o, Tag::gOdhwi16o};
  const Operand &data = call.inputs[0], &weight = call.inputs[1];
  const int64_t groups = call.attrs.Int("groups"), channels = data.dims[1];
  const auto zero = static_cast<int16_t>(call.attrs.Int("data_zero_point"));
  const Window window(call);
  const Dims dilation = call.attrs.Ints("dilation");
  Sliding sliding{channels,
                  channels / groups,
                  Three(Spatial(data.dims), 1),
                  Three(Spatial(dst), 1),
                  Three(Spatial(weight.dims), 1),
                  Three(window.strides, 1),
                  Three(dilation, 1),
                  Three(window.before, 0)};
  const size_t kind = data.dims.size() - 3;
  const Dims weight_dims = ConvWeights(call).get_dims();  // groups are a separate axis
  const auto weights = [&](Tag tag) { return MemoryDesc(weight_dims, weight.dtype, tag); };
  const MemoryDesc src = ChannelsLast(data.dims, data.dtype), out = ChannelsLast(dst, call.result);
  const auto finished = [&](std::shared_ptr<const RowsKernel> made, const MemoryDesc& desc) {
    return Finished(std::move(made), {{DNNL_ARG_SRC, src, src}, {DNNL_ARG_WEIGHTS, desc, desc}}, out);
  };
  // Padding is a pixel with the value of the zero point, if the data type can represent it.
  const bool has_zero = IsSigned(call) ? zero <= 127 : zero >= 0;
  if (groups > 1 && groups == channels && groups == dst[1] && has_zero) {
    return finished(MakeDepthwise(sliding, data.dims[0], IsSigned(call), zero),
                    weights(depthwise[kind]));
  }
  Product product;
  product.batches = groups;
  product.rows = Count(dst) / dst[1];
  product.depth = Count(weight.dims) / weight.dims[0];
  product.columns = dst[1] / groups;
  product.sums_stride = dst[1];
  product.right_row = kPanel;
  product.right_step = 1;
  product.right_panel = product.depth * kPanel;
  product.left_size = Count(call.inputs[0].dims);
  product.is_signed = IsSigned(call);
  product.zero = zero;
  int64_t batch_weights = (product.columns + kPanel - 1) / kPanel * product.right_panel;
  MemoryDesc packed = weights(groups == 1 ? panels[kind] : grouped_panels[kind]);
  if (const int64_t merged = Merged(groups, product.columns); merged > 1) {
    packed = Plain(weight_dims, weight.dtype);
    batch_weights = merged * product.columns * product.depth;
    product.merged = merged;
    product.merged_inputs = channels / groups;
    product.merged_outputs = product.columns;
    product.batches /= merged;
    product.depth *= merged;
    product.columns *= merged;
    sliding.group_channels *= merged;
  }
  for (int64_t batch = 0; batch < product.batches; ++batch) {
    product.left_at.push_back(batch * sliding.group_channels);
    product.right_at.push_back(batch * batch_weights);
    product.sums_at.push_back(batch * product.columns);
  }
  if (IsProductOfPixels(sliding)) {
    product.left_row = channels;
    product.left_step = 1;
  } else {
    product.window = sliding;
  }
  return finished(MakeProduct(std::move(product)), packed);
}

Built MakeIntegerDense(const OpCall& call, const Dims& dst) {
  const Operand &data = call.inputs[0], &weight = call.inputs[1];
  const MemoryDesc src = Plain(data);
  const MemoryDesc weights(weight.dims, weight.dtype, Tag::AB16b16a);
  Product product;
  product.batches = 1;
  product.rows = dst[0];
  product.depth = data.dims[1];
  product.columns = dst[1];
  product.left_at = product.right_at = product.sums_at = {0};
  product.left_row = data.dims[1];
  product.left_step = 1;
  product.sums_stride = dst[1];
  product.right_row = kPanel;
  product.right_step = 1;
  product.right_panel = weights.get_padded_dims()[1] * kPanel;
  product.left_size = Count(call.inputs[0].dims);
  product.is_signed = IsSigned(call);
  product.zero = static_cast<int16_t>(call.attrs.Int("data_zero_point"));
  return Finished(MakeProduct(std::move(product)),
                  {{DNNL_ARG_SRC, src, src}, {DNNL_ARG_WEIGHTS, weights, weights}},
                  Plain(dst, call.result));
}

Built MakeIntegerMatmul(const OpCall& call, const Dims& dst) {
  const size_t rank = dst.size();
  std::vector<Built::Input> inputs;
  for (int arg : {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS}) {
    const Operand& operand = call.inputs[inputs.size()];
    const MemoryDesc desc = Plain(PadRank(operand.dims, rank), operand.dtype);
    inputs.push_back({arg, desc, desc});
  }
  Product product;
  product.rows = dst[rank - 2];
  product.columns = dst[rank - 1];
  product.batches = Count(dst) / (product.rows * product.columns);
  product.left_at = BatchesAt(call.inputs[0].dims, dst);
  product.right_at = BatchesAt(call.inputs[1].dims, dst);
  for (int64_t b = 0; b < product.batches; ++b) {
    product.sums_at.push_back(b * product.rows * product.columns);
  }
  product.depth = call.inputs[0].dims[call.inputs[0].dims.size() -
                                      (call.attrs.Flag("transpose_a") ? 2 : 1)];
  std::tie(product.left_row, product.left_step) = Strides(call, 0, "transpose_a");
  std::tie(product.right_row, product.right_step) = Strides(call, 1, "transpose_b");
  product.right_panel = product.right_step * kPanel;
  product.sums_stride = product.columns;
  product.left_size = Count(call.inputs[0].dims);
  product.is_signed = IsSigned(call);
  product.zero = 0;
  return Finished(MakeProduct(std::move(product)), inputs, Plain(dst, call.result));
}

}  // namespace byoc_lab
