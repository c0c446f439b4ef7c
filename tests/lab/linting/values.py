"""Small random inputs of a module, and its results (NumPy reference)."""

from __future__ import annotations

import numpy as np

from byoc_lab import relay
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.run.reference import evaluate


def inputs_of(mod: IRModule) -> list[np.ndarray] | None:
    """Small positive random inputs of @main; None if it takes other types or large tensors."""
    random = np.random.RandomState(0)
    arrays = []
    for p in mod["main"].params:
        ty = p.checked_type
        if not isinstance(ty, relay.TensorType) or not all(isinstance(n, int) for n in ty.shape):
            return None
        if np.prod(ty.shape, dtype=int) > 4096:
            return None
        arrays.append(np.asarray(random.uniform(0.5, 1.5, ty.shape)).astype(ty.dtype))
    return arrays


def values_of(mod: IRModule, inputs: list[np.ndarray]) -> list[np.ndarray]:
    value = evaluate(mod, inputs).value
    return [np.asarray(v) for v in (value if isinstance(value, (list, tuple)) else [value])]
