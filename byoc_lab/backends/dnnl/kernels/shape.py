"""Kernels that move, join or reduce elements; see native/src/ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from byoc_lab.backends.dnnl import native
from byoc_lab.backends.dnnl.kernels.running import DATA, Ints, PostOps, repeat, run
from byoc_lab.errors import ArgumentError, InputError


def concatenate(
    data: Sequence[Any], *, axis: int = 0, post_ops: PostOps = (), out: Any = None
) -> Any:
    """Concatenate arrays along `axis`; their other dimensions must be equal."""
    if not isinstance(data, list | tuple):
        raise ArgumentError(
            f"byoc_lab.dnnl.concatenate: data: expected a list of tensors, "
            f"found {type(data).__name__}"
        )
    tensors = {f"data{n}": d for n, d in enumerate(data)}
    return run("concatenate", "concat", tensors, {"axis": axis}, out, post_ops)


def strided_slice(
    data: Any,
    *,
    length: int,
    axis: int = 0,
    begin: int = 0,
    step: int = 1,
    out: Any = None,
) -> Any:
    """`length` elements along `axis`, starting at `begin`, in steps of `step`; all of the other
    axes. A negative step goes backwards.

    data: of any dtype, as it is only moved.
    """
    held = native.described("byoc_lab.dnnl.strided_slice", "data", data, None)
    attrs = {"axis": axis, "begin": begin, "length": length, "step": step}
    return run("strided_slice", "slice", {"data": held}, attrs, out)


def transpose(data: Any, axes: Sequence[int], *, out: Any = None) -> Any:
    """data transposed and copied: axis n of the result is axes[n] of data.

    data: of any dtype, as it is only moved.
    """
    held = native.described("byoc_lab.dnnl.transpose", "data", data, None)
    return run("transpose", "transpose", {"data": held}, {"axes": axes}, out)


def reduce(alg: str, data: Any, *, axis: int = -1, post_ops: PostOps = (), out: Any = None) -> Any:
    """sum, mean, prod, max or min (`alg`) of data along one axis, which is kept with size 1."""
    return run("reduce", "reduce", {"data": data}, {"alg": alg, "axis": axis}, out, post_ops)


def resample(
    data: Any, size: Ints, *, alg: str = "linear", post_ops: PostOps = (), out: Any = None
) -> Any:
    """Images (N, C, [D, [H,]] W) resized to (N, C, *size), by alg "linear" or "nearest".

    size: one number, or one for each axis. Pixels are areas: element y of the result is at position
    (y + 1/2) * H / H' - 1/2 of the data.
    """
    held = native.described("byoc_lab.dnnl.resample", "data", data, None)
    axes = len(held.shape) - 2
    if axes not in DATA:
        raise InputError(
            f"byoc_lab.dnnl.resample: data: expected 3 to 5 dimensions (batch, channels, 1 to 3 "
            f"more), found shape {tuple(held.shape)}"
        )
    attrs = {"alg": alg, "size": repeat(size, axes)}
    return run("resample", f"resample{axes}d", {"data": held}, attrs, out, post_ops)


def reorder(data: Any, src_layout: str, dst_layout: str, *, out: Any = None) -> Any:
    """data in `src_layout` reordered to `dst_layout`; of any dtype.

    Layouts are written as in TVM: a capital letter for each axis in memory order, then the blocks.
    From "NCHW" to "NCHW16c", data (N, C, H, W) becomes (N, C // 16, H, W, 16); a block has to
    divide its axis.
    """
    where = "byoc_lab.dnnl.reorder"
    for name, layout in (("src_layout", src_layout), ("dst_layout", dst_layout)):
        if not isinstance(layout, str):
            raise ArgumentError(
                f"{where}: {name}: expected a string, found {type(layout).__name__}"
            )
    held = native.described(where, "data", data, None)
    shape = [int(size) for size in held.shape]
    shape = native.function("reordered_shape")(shape, src_layout, dst_layout)
    if out is None:
        out = native.aligned_empty(shape, native.dtype_name(held))
    target = native.as_output(where, "out", out, None)
    native.function("reorder")(native.row_major(held), src_layout, dst_layout, target)
    return out
