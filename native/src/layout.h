// oneDNN memory descriptors: the row-major one, broadcasting, and their names.
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

// Which layouts convolutions ask for: blocks of channels, or what oneDNN prefers for each.
enum class Layouts { kBlocked, kAny };

// Row-major, without gaps. A scalar, shape (), becomes (1,): oneDNN has no rank 0.
MemoryDesc Plain(const Dims& dims, DType dtype = DType::f32);
MemoryDesc Plain(const Operand& operand);

// The layout of `tensor`, which has the shape of `operand` and no gaps.
MemoryDesc LayoutOf(const Operand& operand, const TensorView& tensor);

// The layout left to oneDNN.
MemoryDesc AnyLayout(const Dims& dims, DType dtype = DType::f32);
MemoryDesc AnyLayout(const Operand& operand);

// Blocks of `block` channels: nCw16c, nChw16c, nCdhw16c.
MemoryDesc Blocked(const Dims& dims, int block);

// Channels innermost: nwc, nhwc, ndhwc.
MemoryDesc ChannelsLast(const Dims& dims, DType dtype);

// Row-major but for one axis, which is the innermost.
MemoryDesc Innermost(const Dims& dims, DType dtype, size_t axis);

// The layout of `desc`, which has no blocks, for elements of `dtype`.
MemoryDesc As(DType dtype, const MemoryDesc& desc);

// How an operand of shape `dims` that broadcasts should lie beside `tensor`: in the same blocks if
// it has one number for each channel (else oneDNN has nothing but a reference kernel), or row-major.
MemoryDesc Beside(const MemoryDesc& tensor, const Dims& dims);

// What to tell oneDNN of memory that is moved from one layout to another.
using onednn_faults::Moved;

// `dims` with ones put in front up to `rank`, as NumPy broadcasting lines shapes up.
Dims PadRank(const Dims& dims, size_t rank);

// NumPy broadcasting of two shapes. ValueError naming both when they do not fit.
Dims Broadcast(const std::string& where, const Operand& a, const Operand& b);

// Order of axes in memory: "nchw", "nChw16c" (blocks of 16 channels, "n", chunks of channels,
// height, width). `axes` gives one letter for each dimension; "g" is put in front for weights that
// have a dimension for groups, and "abcdef" stands for axes that do not fit.
std::string LayoutName(const MemoryDesc& desc, const std::string& axes);

}  // namespace byoc_lab

#endif  // BYOC_LAB_LAYOUT_H_
