// Common parts of operators with sliding windows: convolutions and poolings over one to three
// spatial axes of data (N, C, [D, [H,]] W). Paddings are listed all before, then all after: (top,
// left, bottom, right).
#ifndef BYOC_LAB_WINDOWS_H_
#define BYOC_LAB_WINDOWS_H_

#include <string>
#include <vector>

#include "op.h"

namespace byoc_lab {

// "ncw", "nchw", "ncdhw"; "oiw", ...: letters of layouts.
std::string DataAxes(size_t spatial);
std::string WeightAxes(size_t spatial);

// "batch", "channels", "height", "width": names of the axes in messages.
std::vector<std::string> AxisNames(size_t spatial);

// strides, padding and dilation, as every operator with windows has them.
std::vector<AttrSpec> WindowAttrSpecs(size_t spatial);

// The same with groups.
std::vector<AttrSpec> ConvAttrSpecs(size_t spatial);

// Whether all elements have this value.
bool IsAll(const Dims& values, int64_t value);

// The number of spatial axes, derived from the attributes; CheckRank of data must pass first.
size_t SpatialAxes(const OpCall& call);

// The attributes in oneDNN's terms: gaps are the elements between taps, 0 without dilation.
struct Window {
  explicit Window(const OpCall& call);
  explicit Window(size_t spatial);  // a window without steps and padding
  Dims strides, gaps, before, after;
};

// The result's size along spatial axis `axis` if a window of `taps` slides over call.inputs[0] with
// the attributes strides, padding and dilation; raises ValueError if it does not fit.
int64_t WindowedSize(const OpCall& call, size_t axis, int64_t taps);

// Checks data, weight (O, C / groups, ...) and bias of a convolution; returns the number of spatial
// axes.
size_t CheckConvOperands(const OpCall& call);

// The descriptors for a convolution's primitive: weights in any layout, with groups as a separate
// axis.
MemoryDesc ConvWeights(const OpCall& call);
MemoryDesc ConvBias(const OpCall& call);
std::vector<int> ConvArgs(const OpCall& call);

}  // namespace byoc_lab

#endif  // BYOC_LAB_WINDOWS_H_
