// The producer and the consumers of each tensor of a graph.
#ifndef BYOC_LAB_USES_H_
#define BYOC_LAB_USES_H_

#include <vector>

#include "graph_spec.h"

namespace byoc_lab {

class Uses {
 public:
  // Keeps a reference to `graph`.
  explicit Uses(const GraphSpec& graph);

  // The op that produces a tensor, or -1.
  int producer(int tensor) const { return producer_[tensor]; }

  // Whether an op's first mention of a tensor as a post-op is the tensor's last use.
  bool DiesHere(int op, int tensor) const;

  // Whether the next op reads this one's result as its first operand, and no other op reads it;
  // this op has no post-ops.
  bool FeedsNextAlone(int op) const;

 private:
  const GraphSpec& graph_;
  std::vector<int> last_use_;  // the op that reads a tensor last; INT_MAX: an output
  std::vector<bool> viewed_;   // shares its buffer with another tensor
  std::vector<int> producer_;
};

}  // namespace byoc_lab

#endif  // BYOC_LAB_USES_H_
