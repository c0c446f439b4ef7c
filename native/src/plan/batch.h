// A graph for another batch: the leading axis of its inputs has another size, and all dependent
// shapes change.
#ifndef BYOC_LAB_BATCH_H_
#define BYOC_LAB_BATCH_H_

#include <vector>

#include "graph_spec.h"

namespace byoc_lab {

// `graph` for inputs with the given shapes. They may differ from the graph's only in the leading
// axis, all from one size to one other size; inputs that keep their shape (weights) are the same
// for every sample. Raises ValueError naming the input with another shape, or the op that does not
// treat each sample separately.
GraphSpec Rebatched(const GraphSpec& graph, const std::vector<Dims>& inputs);

}  // namespace byoc_lab

#endif  // BYOC_LAB_BATCH_H_
