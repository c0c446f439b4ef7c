"""Operators on tensors of any meaning: element-wise, broadcast, shapes, indices, reductions."""
