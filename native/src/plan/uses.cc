#include "plan/uses.h"

#include <algorithm>
#include <climits>

namespace byoc_lab {

Uses::Uses(const GraphSpec& graph)
    : graph_(graph),
      last_use_(graph.tensors.size(), -1),
      viewed_(graph.tensors.size(), false),
      producer_(graph.tensors.size(), -1) {
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const OpSpec& op = graph.ops[i];
    producer_[op.output] = static_cast<int>(i);
    for (int id : op.inputs) last_use_[id] = static_cast<int>(i);
    for (const PostOp& post_op : op.post_ops) {
      if (post_op.input >= 0) last_use_[post_op.input] = static_cast<int>(i);
    }
    const bool part = op.def->part != nullptr && op.def->part(op.call);
    if (op.def->make == nullptr || part) viewed_[op.inputs[0]] = viewed_[op.output] = true;
  }
  for (int id : graph.outputs) last_use_[id] = INT_MAX;
}

bool Uses::DiesHere(int index, int tensor) const {
  const OpSpec& op = graph_.ops[index];
  const bool read_here_too =
      std::count(op.inputs.begin(), op.inputs.end(), tensor) != 0 ||
      std::count_if(op.post_ops.begin(), op.post_ops.end(),
                    [&](const PostOp& p) { return p.input == tensor; }) != 1;
  return last_use_[tensor] == index && !viewed_[tensor] && !read_here_too;
}

bool Uses::FeedsNextAlone(int index) const {
  if (index + 1 == static_cast<int>(graph_.ops.size())) return false;
  const OpSpec &op = graph_.ops[index], &next = graph_.ops[index + 1];
  return last_use_[op.output] == index + 1 && next.inputs[0] == op.output &&
         std::count(next.inputs.begin(), next.inputs.end(), op.output) == 1 &&
         op.post_ops.empty() &&
         std::none_of(next.post_ops.begin(), next.post_ops.end(),
                      [&](const PostOp& p) { return p.input == op.output; });
}

}  // namespace byoc_lab
