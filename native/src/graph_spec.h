// A region as data: the JSON graph of native/README.md, read and fully checked.
#ifndef BYOC_LAB_GRAPH_SPEC_H_
#define BYOC_LAB_GRAPH_SPEC_H_

#include <string>
#include <vector>

#include "op.h"

namespace byoc_lab {

constexpr const char* kGraphFormat = "byoc_lab.dnnl.graph";
constexpr int64_t kGraphVersion = 1;

struct OpSpec {
  std::string name;
  const OpDef* def;
  OpCall call;
  std::vector<int> inputs;  // tensor ids
  int output;
  std::vector<PostOp> post_ops;
};

struct GraphSpec {
  std::string symbol;
  std::vector<Operand> tensors;
  std::vector<int> inputs, constants, outputs;  // tensor ids
  std::vector<OpSpec> ops;                      // each after the ops that it reads from
};

// Reads and checks a graph. A fault (invalid JSON, a wrong version, unknown keys, ids out of range,
// tensors used before they are defined or defined twice, inconsistent shapes, overflowing sizes)
// raises a ValueError or TypeError naming the op and the tensor.
GraphSpec ReadGraph(const std::string& text);

// One post-op of the list "post_ops". The caller interprets its `input`, and checks the input's
// shape with CheckPostOpInput.
PostOp ReadPostOp(const std::string& where, const ffi::Any& value);
// Refuses post-ops of an op whose result is not floating point.
void CheckPostOpResult(const std::string& where, const OpCall& call);
void CheckPostOpInput(const std::string& where, const PostOp& post_op, const Operand& input,
                      const Operand& result);

}  // namespace byoc_lab

#endif  // BYOC_LAB_GRAPH_SPEC_H_
