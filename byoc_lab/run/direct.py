"""Calling compiled code with as little Python around it as there can be.

When a network has run, the processor's caches hold weights and nothing of Python's: the lines after
it, and those before the next run, take ten times as long as in a loop of their own. Checking every
kind of input and turning every kind of result came to a fortieth of MobileNet's time.
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
    """A way to call `compiled`, or None where `main` has other than one plain result.

    It takes arrays in order, of just the shapes and dtypes that `main` declares and lying as
    compiled code reads them (see `to_device`). It gives None, and has done nothing, when one is
    not so.
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
    """Of a tensor that has elements of a common dtype, and no dimension left open."""
    if not isinstance(ty, TensorType) or not ty.is_static or ty.dtype not in IN_DLPACK:
        return None
    return (ty.concrete_shape, np.dtype(ty.dtype)) if np.prod(ty.concrete_shape) else None
