"""Kernels that put elements in other places, or together; see native/src/ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from byoc_lab.dnnl import native
from byoc_lab.dnnl.kernels.running import PostOps, run


def concatenate(data: Sequence[Any], *, axis: int = 0, out: Any = None) -> Any:
    """Arrays one behind the other along `axis`; their other dimensions agree."""
    tensors = {f"data{n}": d for n, d in enumerate(data)}
    return run("concatenate", "concat", tensors, {"axis": axis}, out)


def transpose(data: Any, axes: Sequence[int], *, out: Any = None) -> Any:
    """The axes of data in another order, laid out anew: axis n of the result is axes[n] of data."""
    return run("transpose", "transpose", {"data": data}, {"axes": axes}, out)


def reduce(alg: str, data: Any, *, axis: int = -1, post_ops: PostOps = (), out: Any = None) -> Any:
    """sum, mean, prod, max or min (`alg`) of data along one axis, which is kept with size 1."""
    return run("reduce", "reduce", {"data": data}, {"alg": alg, "axis": axis}, out, post_ops)


def resample(
    data: Any, size: Sequence[int], *, alg: str = "linear", post_ops: PostOps = (), out: Any = None
) -> Any:
    """Images (N, C, [D, [H,]] W) resized to (N, C, *size), by alg "linear" or "nearest".

    Pixels have area: element y of the result lies at (y + 1/2) * H / H' - 1/2 of the data.
    """
    kind = f"resample{len(size)}d"
    return run("resample", kind, {"data": data}, {"alg": alg, "size": size}, out, post_ops)


def reorder(data: Any, src_layout: str, dst_layout: str, *, out: Any = None) -> Any:
    """data, whose axes lie as `src_layout` says, laid out as `dst_layout` says.

    Layouts are written as TVM's: a capital for each axis in the order of memory, and blocks behind
    them. From "NCHW" to "NCHW16c", data (N, C, H, W) becomes (N, C // 16, H, W, 16); a block has to
    divide its axis.
    """
    where = "byoc_lab.dnnl.reorder"
    held = native.as_input(where, "data", data)
    if out is None:
        shape = [int(size) for size in held.shape]
        out = native.aligned_empty(
            native.function("reordered_shape")(shape, src_layout, dst_layout)
        )
    native.function("reorder")(held, src_layout, dst_layout, native.as_output(where, "out", out))
    return out
