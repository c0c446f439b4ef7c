#include "layout.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace byoc_lab {

MemoryDesc Plain(const Dims& dims, DType dtype) {
  const Dims shape = dims.empty() ? Dims{1} : dims;
  Dims strides(shape.size(), 1);
  for (size_t i = shape.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * shape[i];
  return MemoryDesc(shape, dtype, strides);
}

MemoryDesc Plain(const Operand& operand) { return Plain(operand.dims, operand.dtype); }

MemoryDesc LayoutOf(const Operand& operand, const TensorView& tensor) {
  if (tensor.IsContiguous()) return Plain(operand);
  const std::vector<size_t> axes = AxesInMemory(tensor).value();
  Dims lying;
  for (size_t axis : axes) lying.push_back(operand.dims[axis]);
  return Plain(lying, operand.dtype).permute_axes({axes.begin(), axes.end()});
}

MemoryDesc AnyLayout(const Dims& dims, DType dtype) { return MemoryDesc(dims, dtype, Tag::any); }

MemoryDesc AnyLayout(const Operand& operand) { return AnyLayout(operand.dims, operand.dtype); }

MemoryDesc Blocked(const Dims& dims, int block) {
  static const Tag tags[2][3] = {{Tag::nCw8c, Tag::nChw8c, Tag::nCdhw8c},
                                 {Tag::nCw16c, Tag::nChw16c, Tag::nCdhw16c}};
  return MemoryDesc(dims, dnnl::memory::data_type::f32, tags[block == 16][dims.size() - 3]);
}

MemoryDesc ChannelsLast(const Dims& dims, DType dtype) {
  static const Tag tags[] = {Tag::nwc, Tag::nhwc, Tag::ndhwc};
  return MemoryDesc(dims, dtype, tags[dims.size() - 3]);
}

MemoryDesc Innermost(const Dims& dims, DType dtype, size_t axis) {
  if (dims[axis] == 1) return Plain(dims, dtype);  // oneDNN misreads other strides for one element
  Dims strides(dims.size(), 1);
  int64_t step = dims[axis];
  for (size_t i = dims.size(); i-- > 0;) {
    if (i == axis) continue;
    strides[i] = step;
    step *= dims[i];
  }
  return MemoryDesc(dims, dtype, strides);
}

MemoryDesc As(DType dtype, const MemoryDesc& desc) {
  return MemoryDesc(desc.get_dims(), dtype, desc.get_strides());
}

MemoryDesc Beside(const MemoryDesc& tensor, const Dims& dims) {
  const Dims shape = tensor.get_dims();
  const bool per_channel = dims.size() >= 3 && dims.size() <= 5 && dims.size() == shape.size() &&
                           Count(dims) == dims[1] && dims[1] == shape[1];
  for (int block : {16, 8}) {
    if (per_channel && tensor == Blocked(shape, block)) return Blocked(dims, block);
  }
  return Plain(dims, tensor.get_data_type());
}

Dims PadRank(const Dims& dims, size_t rank) {
  Dims padded(rank - std::min(rank, dims.size()), 1);
  padded.insert(padded.end(), dims.begin(), dims.end());
  return padded;
}

Dims Broadcast(const std::string& where, const Operand& a, const Operand& b) {
  const size_t rank = std::max(a.dims.size(), b.dims.size());
  const Dims left = PadRank(a.dims, rank), right = PadRank(b.dims, rank);
  Operand result{"result", Dims(rank)};
  for (size_t i = 0; i < rank; ++i) {
    if (left[i] != right[i] && left[i] != 1 && right[i] != 1) {
      TVM_FFI_THROW(ValueError) << where << ": " << b.name << ": expected a shape that broadcasts "
                                << "with " << a.name << " " << Text(a.dims) << ", found "
                                << Text(b.dims);
    }
    result.dims[i] = std::max(left[i], right[i]);
  }
  CheckDims(where, result);
  return result.dims;
}

std::string LayoutName(const MemoryDesc& desc, const std::string& axes) {
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return "opaque";
  const Dims strides = desc.get_strides(), sizes = desc.get_padded_dims();
  const Dims blocks = desc.get_inner_blks(), block_axes = desc.get_inner_idxs();
  const std::string letters = axes.size() == strides.size()       ? axes
                              : axes.size() + 1 == strides.size() ? "g" + axes
                                                                        : "abcdefghijkl";
  Dims outer = sizes;
  for (size_t i = 0; i < blocks.size(); ++i) outer[block_axes[i]] /= blocks[i];
  std::vector<size_t> order(strides.size());
  std::iota(order.begin(), order.end(), 0);
  // Axes of size 1 may have any stride; of two equal strides, the axis with the larger size comes
  // first.
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) {
    return strides[i] != strides[j] ? strides[i] > strides[j] : outer[i] > outer[j];
  });
  std::string name;
  for (size_t axis : order) {
    const bool blocked =
        std::find(block_axes.begin(), block_axes.end(), static_cast<int64_t>(axis)) !=
        block_axes.end();
    name += blocked ? static_cast<char>(std::toupper(letters[axis])) : letters[axis];
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    name += std::to_string(blocks[i]) + letters[block_axes[i]];
  }
  return name;
}

}  // namespace byoc_lab
