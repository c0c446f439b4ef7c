"""Calls compiled code with the least possible Python code around it.

After a network has run, the processor's caches hold its weights and no longer the Python
interpreter: Python code between two runs takes ten times as long as in a loop without the network.
The general checks of inputs and conversions of results took 1/40 of MobileNet's time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.run.tvm_runtime import ALIGNMENT, IN_DLPACK, import_tvm

Direct = Callable[[Sequence[Any]], "list[np.ndarray] | None"]


def direct_call(compiled: Callable[..., Any], main: Function) -> Direct | None:
    """A function that calls `compiled` directly; None unless `main` has tensors of known shape as
    parameters and one such tensor as result.

    The function takes arrays in the order of the parameters. Each must have exactly the declared
    shape and dtype, and the memory layout that compiled code reads (see `to_device`); otherwise the
    function returns None without running anything.
    """
    if _shape_and_dtype(main.body.checked_type) is None or not hasattr(
        import_tvm().runtime, "from_dlpack"
    ):
        return None
    declared = [_shape_and_dtype(p.checked_type) for p in main.params]
    if None in declared:
        return None
    share = import_tvm().runtime.from_dlpack

    def call(inputs: Sequence[Any]) -> list[np.ndarray] | None:
        if len(inputs) != len(declared):
            return None
        for array, wanted in zip(inputs, declared, strict=True):
            if type(array) is not np.ndarray or (array.shape, array.dtype) != wanted:
                return None
            flags = array.flags
            if not (flags.c_contiguous and flags.writeable) or _address(array) % ALIGNMENT:
                return None
        return [np.from_dlpack(compiled(*map(share, inputs))).copy()]

    return call


def _address(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _shape_and_dtype(ty: Type) -> tuple[tuple[int, ...], np.dtype] | None:
    """Shape and dtype of a tensor type; None if it has unknown dimensions, no elements, or a dtype
    that DLPack and NumPy do not share."""
    if not isinstance(ty, TensorType) or not ty.is_static or ty.dtype not in IN_DLPACK:
        return None
    return (ty.concrete_shape, np.dtype(ty.dtype)) if np.prod(ty.concrete_shape) else None
