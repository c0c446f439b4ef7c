// oneDNN memory descriptors: row-major ones, broadcasting, and names of layouts.
#ifndef BYOC_LAB_LAYOUT_H_
#define BYOC_LAB_LAYOUT_H_

#include <dnnl.hpp>
#include <string>
#include <utility>

#include "../../byoc_lab/backends/dnnl/cpp/onednn_faults.h"
#include "check.h"

namespace byoc_lab {

using MemoryDesc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

// The layouts that convolutions request: blocks of channels, or oneDNN's preference for each.
enum class Layouts { kBlocked, kAny };

// Row-major, without gaps. A scalar, shape (), becomes (1,): oneDNN has no rank 0.
MemoryDesc Plain(const Dims& dims, DType dtype = DType::f32);
MemoryDesc Plain(const Operand& operand);

// The layout of `tensor`, which has the shape of `operand` and no gaps.
MemoryDesc LayoutOf(const Operand& operand, const TensorView& tensor);

// The layout is chosen by oneDNN.
MemoryDesc AnyLayout(const Dims& dims, DType dtype = DType::f32);
MemoryDesc AnyLayout(const Operand& operand);

// Blocks of `block` channels: nCw16c, nChw16c, nCdhw16c.
MemoryDesc Blocked(const Dims& dims, int block);

// Channels innermost: nwc, nhwc, ndhwc.
MemoryDesc ChannelsLast(const Dims& dims, DType dtype);

// Row-major, except that one axis is the innermost.
MemoryDesc Innermost(const Dims& dims, DType dtype, size_t axis);

// The layout of `desc`, without blocks, for elements of `dtype`.
MemoryDesc As(DType dtype, const MemoryDesc& desc);

// The layout for an operand of shape `dims` that broadcasts to `tensor`: in the same blocks if it
// has one number per channel (otherwise oneDNN has only a reference kernel), or else row-major.
MemoryDesc Beside(const MemoryDesc& tensor, const Dims& dims);

// The descriptor for memory that is moved from one layout to another.
using onednn_faults::Moved;

// `dims` with leading ones up to `rank`, as NumPy broadcasting aligns shapes.
Dims PadRank(const Dims& dims, size_t rank);

// NumPy broadcasting of two shapes. Raises ValueError naming both if they do not broadcast.
Dims Broadcast(const std::string& where, const Operand& a, const Operand& b);

// The order of axes in memory: "nchw", "nChw16c" (blocks of 16 channels: "n", chunks of channels,
// height, width). `axes` gives one letter per dimension. A leading "g" is added for weights with a
// dimension for groups, and "abcdef" is used if the axes do not fit.
std::string LayoutName(const MemoryDesc& desc, const std::string& axes);

}  // namespace byoc_lab

#endif  // BYOC_LAB_LAYOUT_H_
