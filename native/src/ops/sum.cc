// dst = operand 0 + operand 1 + ...: any number of operands with one shape.
#include "../op.h"

namespace byoc_lab {
namespace {

Dims Infer(const OpCall& call) {
  for (const Operand& input : call.inputs) {
    CheckShape(call.where, input, call.inputs[0].dims, "that of " + call.inputs[0].name);
  }
  return call.inputs[0].dims;
}

std::optional<Built> Make(const OpCall& call, const std::vector<MemoryDesc>& have,
                          const Dims& dst, const dnnl::primitive_attr& attr) {
  std::vector<int> args;
  for (size_t i = 0; i < have.size(); ++i) {
    args.push_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i));
  }
  if (attr.get_post_ops().len() != 0) return std::nullopt;
  const std::vector<MemoryDesc> terms(have.size(), have[0]);
  const dnnl::sum::primitive_desc desc(Cpu(), have[0], std::vector<float>(have.size(), 1.f), terms,
                                       attr);
  return Finish(desc, args);
}

OpDef Sum() {
  OpDef def{"sum", {"data"}, 1, {""}, "", {}, Infer, Make};
  def.variadic = true;
  return def;
}

const bool defined = DefineOp(Sum());

}  // namespace
}  // namespace byoc_lab
