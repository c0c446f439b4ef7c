// A graph for another batch: the leading axis of its inputs is another size, and everything that
// follows from them.
#ifndef BYOC_LAB_BATCH_H_
#define BYOC_LAB_BATCH_H_

#include <vector>

#include "graph_spec.h"

namespace byoc_lab {

// `graph` for inputs of the given shapes, which differ from those it states in the leading axis
// alone, and all from one size to one other; inputs that keep their shape (weights) are the same
// for every sample. ValueError naming the input that has another shape, or the op that does not
// treat each sample on its own.
GraphSpec Rebatched(const GraphSpec& graph, const std::vector<Dims>& inputs);

}  // namespace byoc_lab

#endif  // BYOC_LAB_BATCH_H_
