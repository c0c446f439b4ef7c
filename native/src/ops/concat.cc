// The operands concatenated along `axis`; their other dimensions are equal. Negative axes count
// from the end. Any number of operands, also of uint8 or int8.
#include "../op.h"

namespace byoc_lab {
namespace {

Dims Infer(const OpCall& call) {
  const size_t axis = Axis(call);
  Operand dst{"result", call.inputs[0].dims};
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    const Operand& input = call.inputs[i];
    Dims expected = dst.dims;
    if (input.dims.size() == expected.size()) expected[axis] = input.dims[axis];
    CheckShape(call.where, input, expected,
               "that of " + call.inputs[0].name + " but for axis " + std::to_string(axis));
    dst.dims[axis] += input.dims[axis];
    CheckDims(call.where, dst);
  }
  return dst.dims;
}

std::optional<Built> Make(const OpCall& call, const std::vector<MemoryDesc>& have,
                          const Dims& dst, const dnnl::primitive_attr& attr) {
  std::vector<int> args;
  for (size_t i = 0; i < have.size(); ++i) {
    args.push_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i));
  }
  // Only the primitive's scratchpad mode is set: oneDNN fuses nothing here.
  if (attr.get_post_ops().len() != 0) return std::nullopt;
  const dnnl::concat::primitive_desc desc(Cpu(), AnyLayout(dst, call.result), static_cast<int>(Axis(call)), have,
                                          attr);
  return Finish(desc, args);
}

OpDef Concat() {
  OpDef def{"concat", {"data"}, 1, {""}, "", {{"axis", int64_t{0}, -kMaxSize}}, Infer, Make};
  def.variadic = true;
  def.holds = Holds::kNumbers;
  return def;
}

const bool defined = DefineOp(Concat());

}  // namespace
}  // namespace byoc_lab
