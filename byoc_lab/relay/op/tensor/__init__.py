"""General operators on tensors: element-wise, broadcast, shapes, indices, reductions."""
