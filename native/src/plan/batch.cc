#include "plan/batch.h"

namespace byoc_lab {
namespace {

// A tensor is "batched" if its leading axis is the batch, or a multiple of it, with all rows of the
// first sample first. An op may read batched tensors if each row of its result comes from the same
// rows of them.
class Rebatcher {
 public:
  explicit Rebatcher(const GraphSpec& graph)
      : stated_(graph), graph_(graph), batched_(graph.tensors.size(), false) {}

  GraphSpec Run(const std::vector<Dims>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) SetInput(graph_.inputs[i], inputs[i]);
    for (OpSpec& op : graph_.ops) {
      try {
        SetOp(&op);
      } catch (const ffi::Error& error) {
        throw ffi::Error(error.kind(),
                         where() + ": it cannot run with batch " + std::to_string(to_) +
                             " instead of " + std::to_string(from_) + ": " + error.message(),
                         error.backtrace());
      }
    }
    return std::move(graph_);
  }

 private:
  std::string where() const { return "graph '" + graph_.symbol + "'"; }

  void SetInput(int id, const Dims& dims) {
    Operand& tensor = graph_.tensors[id];
    const std::string name = "input '" + tensor.name + "'";
    if (dims == tensor.dims) return;
    Dims expected = tensor.dims;
    if (!expected.empty() && dims.size() == expected.size()) expected[0] = dims[0];
    CheckShape(where(), {name, dims}, expected,
               "the graph states " + Text(tensor.dims) + "; the leading axis alone may differ");
    CheckDims(where(), {name, dims});
    if (to_ != 0 && (from_ != tensor.dims[0] || to_ != dims[0])) {
      TVM_FFI_THROW(ValueError) << where() << ": " << name << ": expected shape "
                                << Text(tensor.dims) << " or another batch as " << first_
                                << " has it (" << to_ << " instead of " << from_ << "), found "
                                << Text(dims);
    }
    first_ = name;
    from_ = tensor.dims[0];
    to_ = dims[0];
    tensor.dims = dims;
    batched_[id] = true;
  }

  void SetOp(OpSpec* op) {
    const std::string& where = op->call.where;
    const Dims& stated = stated_.tensors[op->output].dims;
    const bool view = op->def->make == nullptr && op->def->reshapes;
    bool any = false;
    for (size_t i = 0; i < op->inputs.size(); ++i) {
      op->call.inputs[i].dims = graph_.tensors[op->inputs[i]].dims;
      if (!batched_[op->inputs[i]]) continue;
      any = true;
      const std::string& axes = op->def->axes[op->def->variadic ? 0 : i];
      if (!axes.empty() && axes[0] != 'n') Refuse(*op, op->call.inputs[i].name + " has no batch");
      if (!view) CheckLeads(*op, op->call.inputs[i], stated);
    }
    for (const PostOp& post_op : op->post_ops) any |= post_op.input >= 0 && batched_[post_op.input];
    if (!any) return;
    for (const AttrSpec& spec : op->def->attrs) {
      if (spec.name == "axis" && Axis(op->call) == 0) Refuse(*op, "it works along the batch");
    }

    Operand result{"result", stated};
    if (stated.empty() || stated[0] % from_ != 0) Refuse(*op, "its result has no batch");
    result.dims[0] = stated[0] / from_ * to_;
    CheckDims(where, result);
    const Dims inferred = op->def->infer(op->call);
    if (view ? Count(inferred) != Count(result.dims) : inferred != result.dims) {
      Refuse(*op, "its result would have shape " + Text(inferred));
    }
    for (size_t i = 0; i < op->post_ops.size(); ++i) {
      PostOp& post_op = op->post_ops[i];
      if (post_op.input < 0) continue;
      post_op.input_dims = graph_.tensors[post_op.input].dims;
      const Operand input{"the input of post-op " + std::to_string(i), post_op.input_dims};
      if (batched_[post_op.input]) CheckLeads(*op, input, stated);
      CheckPostOpInput(where, post_op, input, result);
    }
    graph_.tensors[op->output].dims = result.dims;
    batched_[op->output] = true;
  }

  // Broadcasting aligns shapes at their ends: the batch has to be the result's leading axis.
  void CheckLeads(const OpSpec& op, const Operand& operand, const Dims& result) const {
    if (operand.dims.size() != result.size()) {
      Refuse(op, "the leading axis of " + operand.name + " is not the result's");
    }
  }

  [[noreturn]] void Refuse(const OpSpec& op, const std::string& why) const {
    TVM_FFI_THROW(ValueError) << op.call.where << " does not treat each sample separately: " << why
                              << "; create a region for this batch";
    TVM_FFI_UNREACHABLE();
  }

  const GraphSpec& stated_;
  GraphSpec graph_;
  std::vector<bool> batched_;
  std::string first_;  // the first input with another batch
  int64_t from_ = 0, to_ = 0;
};

}  // namespace

GraphSpec Rebatched(const GraphSpec& graph, const std::vector<Dims>& inputs) {
  return Rebatcher(graph).Run(inputs);
}

}  // namespace byoc_lab
