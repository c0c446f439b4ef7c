// dst[i[axes[0]], i[axes[1]], ...] = data[i]: the axes in another order. Moves nothing: the plan
// lets both tensors share one buffer, and consumers read the result with other strides.
#include <algorithm>

#include "../op.h"

namespace byoc_lab {
namespace {

Dims Infer(const OpCall& call) {
  const Dims& dims = call.inputs[0].dims;
  const Dims axes = call.attrs.Ints("axes");
  Dims sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  bool order = axes.size() == dims.size();
  for (size_t i = 0; order && i < sorted.size(); ++i) order = sorted[i] == static_cast<int64_t>(i);
  if (!order) {
    TVM_FFI_THROW(ValueError) << call.where << ": axes: expected an order of 0 to "
                              << static_cast<int64_t>(dims.size()) - 1 << ", found " << Text(axes);
  }
  Dims result;
  for (int64_t axis : axes) result.push_back(dims[static_cast<size_t>(axis)]);
  return result;
}

OpDef Transpose() {
  AttrSpec axes{"axes", Dims(), 0, static_cast<int64_t>(kMaxRank), /*required=*/true};
  axes.any_length = true;
  OpDef def{"transpose", {"data"}, 1, {""}, "", {axes}, Infer, nullptr};
  def.reshapes = false;
  def.holds = Holds::kAny;
  return def;
}

const bool defined = DefineOp(Transpose());

}  // namespace
}  // namespace byoc_lab
