"""Argument handling that all kernels share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from byoc_lab.backends.dnnl import native
from byoc_lab.errors import ArgumentError

Ints = int | Sequence[int]
PostOps = Sequence[Mapping[str, Any]]
AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])

# By the number of spatial axes: layout of the data, and the paddings of both sides.
DATA = {1: "(N, C, W)", 2: "(N, C, H, W)", 3: "(N, C, D, H, W)"}
SIDES = {
    1: "(before, after)",
    2: "(top, left, bottom, right)",
    3: "(front, top, left, back, bottom, right)",
}


def named(function: AnyFunction, name: str, doc: str) -> AnyFunction:
    """The function, renamed and documented like one written for its number of axes."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = inspect.cleandoc(doc)
    return function


def run(
    kernel: str,
    kind: str,
    tensors: Mapping[str, Any],
    attrs: Mapping[str, Any] | None = None,
    out: Any = None,
    post_ops: PostOps = (),
    dtype: str | None = None,
    product: bool = False,
    optional: Sequence[str] = ("bias",),
    first: PostOps = (),
) -> Any:
    """Run one native operation; `kernel` is its name in messages.

    optional: the names of tensors that may be None. first: post-ops that belong to the kernel.
    dtype: of the result, if neither `out` nor the operands determine it. product: whether products
    of 8-bit integers are int32.
    """
    where = f"byoc_lab.dnnl.{kernel}"
    given = [
        native.described(where, name, value, None)
        for name, value in tensors.items()
        if value is not None or name not in optional
    ]
    plain = {name: _plain(value) for name, value in (attrs or {}).items()}
    of = native.dtype_name(given[0]) if given else "float32"
    dtype = dtype or ("int32" if product and of in ("int8", "uint8") else of)
    if out is not None:
        target = native.as_output(where, "out", out, None)
        dtype = native.dtype_name(out)
    chain, read = _chain(where, first, post_ops, dtype)
    # Everything is checked by shapes and dtypes before a strided array is copied.
    ends = [] if out is None else [_shape(out)]
    check = native.function("check_op")
    shape = check(
        *(where, kind, *_described(given), dtype, plain),
        *(chain, *_described(read), ends),
    )
    if out is None:
        out = native.aligned_empty(shape, dtype)
        target = native.as_output(where, "out", out, None)
    native.function("run_op")(where, kind, _tensors(given), plain, chain, _tensors(read), target)
    return out


def _shape(value: Any) -> list[int]:
    return [int(size) for size in value.shape]


def _described(values: Sequence[Any]) -> tuple[list[list[int]], list[str]]:
    """Shapes and dtypes."""
    return [_shape(value) for value in values], [native.dtype_name(value) for value in values]


def _chain(
    where: str, first: PostOps, post_ops: PostOps, dtype: str
) -> tuple[list[dict[str, Any]], list[Any]]:
    """The post-ops with input tensors replaced by their indices, and these tensors."""
    if not isinstance(post_ops, list | tuple):
        raise ArgumentError(
            f"{where}: post_ops: expected a list of dicts, found {type(post_ops).__name__}"
        )
    chain: list[dict[str, Any]] = []
    read: list[Any] = []
    for n, post_op in enumerate((*first, *post_ops)):
        if not isinstance(post_op, Mapping):
            raise ArgumentError(
                f"{where}: post-op {n}: expected a dict, found {type(post_op).__name__}"
            )
        entry = {key: _plain(value) for key, value in post_op.items() if key != "input"}
        if "input" in post_op:
            given = post_op["input"]
            if isinstance(given, int | float | np.generic):
                given = np.asarray(given, native.numpy_dtype(dtype))
            entry["input"] = len(read)
            read.append(native.described(where, f"the input of post-op {n}", given, None))
        chain.append(entry)
    return chain, read


def _tensors(values: Sequence[Any]) -> list[Any]:
    import tvm_ffi

    held = [native.row_major(value) for value in values]
    return [v if isinstance(v, tvm_ffi.Tensor) else tvm_ffi.from_dlpack(v) for v in held]


def repeat(value: Any, times: int) -> Any:
    """One number as `times` numbers; anything else as it is."""
    return [value] * times if isinstance(value, int | np.integer) else value


def sides(padding: Any, axes: int) -> Any:
    """Padding from one number, one per axis or both sides as all before, then all after; other
    values are returned unchanged."""
    padding = repeat(padding, 2 * axes)
    if isinstance(padding, list | tuple) and len(padding) == axes:
        return [*padding, *padding]
    return padding


def window(strides: Ints, padding: Ints, dilation: Ints, axes: int) -> dict[str, Any]:
    """The attributes that convolutions and poolings share."""
    return {
        "strides": repeat(strides, axes),
        "padding": sides(padding, axes),
        "dilation": repeat(dilation, axes),
    }


def _plain(value: Any) -> Any:
    """A NumPy number as a Python number; other values are unchanged, and the native check reports
    invalid ones."""
    if isinstance(value, list | tuple):
        return [_plain(element) for element in value]
    return value.item() if isinstance(value, np.generic) else value
