"""oneDNN kernels to call by hand, on NumPy arrays or any float32 CPU tensor with DLPack.

Each kernel returns `out`, or a new array (on a 64-byte boundary) where `out` is None. Read-only and
strided inputs are copied first; `out` must be writable, row-major and apart from the inputs. Every
argument is checked before memory is touched: TypeError for a wrong type or dtype, ValueError for a
wrong shape, size or value, naming the argument, what was found and what was expected.

Layouts are NCHW for data and OIHW for weights, as in Relay's operators of the same names.
Formulas are those of oneDNN's primitives of the same names, stated in native/src/ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from byoc_lab.dnnl import native

Ints = int | Sequence[int]


def conv2d(
    data: Any,
    weight: Any,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    out: Any = None,
) -> Any:
    """2-D convolution (cross-correlation) of data (N, C, H, W) with weight (O, C/groups, R, S).

    strides and dilation: one number or (vertical, horizontal). padding: one number, (vertical,
    horizontal) or (top, left, bottom, right). Result (N, O, H', W') with
    H' = (H + top + bottom - (R - 1) * dilation - 1) // stride + 1.
    """
    attrs = _conv_attrs(strides, padding, dilation, groups)
    return _run("conv2d", "conv2d", {"data": data, "weight": weight}, attrs, out)


def conv2d_relu(
    data: Any,
    weight: Any,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    out: Any = None,
) -> Any:
    """max(conv2d(data, weight), 0) in one kernel; arguments as for `conv2d`."""
    attrs = _conv_attrs(strides, padding, dilation, groups)
    return _run("conv2d_relu", "conv2d", {"data": data, "weight": weight}, attrs, out)


def conv2d_bias(
    data: Any,
    weight: Any,
    bias: Any,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    out: Any = None,
) -> Any:
    """conv2d(data, weight) + bias in one kernel; bias (O,), (O, 1, 1) or (1, O, 1, 1)."""
    tensors = {"data": data, "weight": weight, "bias": bias}
    attrs = _conv_attrs(strides, padding, dilation, groups)
    return _run("conv2d_bias", "conv2d", tensors, attrs, out)


def conv2d_bias_relu(
    data: Any,
    weight: Any,
    bias: Any,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    out: Any = None,
) -> Any:
    """max(conv2d(data, weight) + bias, 0) in one kernel; arguments as for `conv2d_bias`."""
    tensors = {"data": data, "weight": weight, "bias": bias}
    attrs = _conv_attrs(strides, padding, dilation, groups)
    return _run("conv2d_bias_relu", "conv2d", tensors, attrs, out)


def dense(data: Any, weight: Any, *, out: Any = None) -> Any:
    """data (N, K) times the transpose of weight (M, K): (N, M)."""
    return _run("dense", "dense", {"data": data, "weight": weight}, {}, out)


def dense_bias(data: Any, weight: Any, bias: Any, *, out: Any = None) -> Any:
    """dense(data, weight) + bias in one kernel; bias (M,) or (1, M)."""
    tensors = {"data": data, "weight": weight, "bias": bias}
    return _run("dense_bias", "dense", tensors, {}, out)


def relu(data: Any, *, out: Any = None) -> Any:
    """max(data, 0), element by element; any shape."""
    return _run("relu", "eltwise", {"data": data}, {}, out, fixed={"alg": "relu"})


def add(a: Any, b: Any, *, out: Any = None) -> Any:
    """a + b; shapes broadcast as NumPy's do."""
    return _run("add", "binary", {"a": a, "b": b}, {}, out, fixed={"alg": "add"})


def multiply(a: Any, b: Any, *, out: Any = None) -> Any:
    """a * b, element by element; shapes broadcast as NumPy's do."""
    return _run("multiply", "binary", {"a": a, "b": b}, {}, out, fixed={"alg": "mul"})


def batch_norm(
    data: Any,
    gamma: Any,
    beta: Any,
    mean: Any,
    variance: Any,
    *,
    epsilon: float = 1e-5,
    out: Any = None,
) -> Any:
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta, for inference.

    data (N, C) or (N, C, H, W); gamma, beta, mean and variance (C,).
    """
    tensors = {"data": data, "gamma": gamma, "beta": beta, "mean": mean, "variance": variance}
    return _run("batch_norm", "batch_norm", tensors, {"epsilon": epsilon}, out)


def max_pool2d(
    data: Any,
    pool_size: Ints,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    out: Any = None,
) -> Any:
    """Largest element of each window of data (N, C, H, W); padding is never the largest.

    Arguments and result's shape as for `conv2d`, with pool_size (height, width) for the window.
    Each padding must be smaller than the window, so that no window is empty.
    """
    attrs = _pool_attrs(pool_size, strides, padding, dilation)
    return _run("max_pool2d", "max_pool2d", {"data": data}, attrs, out)


def avg_pool2d(
    data: Any,
    pool_size: Ints,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    count_include_pad: bool = False,
    out: Any = None,
) -> Any:
    """Mean of each window of data (N, C, H, W), over padded zeros too if count_include_pad.

    Arguments as for `max_pool2d`.
    """
    attrs = _pool_attrs(pool_size, strides, padding, dilation)
    attrs["count_include_pad"] = count_include_pad
    return _run("avg_pool2d", "avg_pool2d", {"data": data}, attrs, out)


def global_avg_pool2d(data: Any, *, out: Any = None) -> Any:
    """Mean of each image of data (N, C, H, W): (N, C, 1, 1)."""
    return _run("global_avg_pool2d", "global_avg_pool2d", {"data": data}, {}, out)


def softmax(data: Any, *, axis: int = -1, out: Any = None) -> Any:
    """exp(data) / sum(exp(data)) along `axis`, computed without overflow; any shape."""
    return _run("softmax", "softmax", {"data": data}, {"axis": axis}, out)


def _run(
    kernel: str,
    kind: str,
    tensors: dict[str, Any],
    attrs: dict[str, Any],
    out: Any,
    *,
    fixed: dict[str, Any] | None = None,
) -> Any:
    """Call a native kernel; `fixed` are the attributes that its name stands for."""
    where = f"byoc_lab.dnnl.{kernel}"
    held = [native.as_input(where, name, value) for name, value in tensors.items()]
    attrs = {name: _plain(value) for name, value in attrs.items()}
    if out is None:
        shapes = [[int(size) for size in value.shape] for value in held]
        out = native.aligned_empty(
            native.function("infer_shape")(where, kind, shapes, {**attrs, **(fixed or {})})
        )
    target = native.as_output(where, "out", out)
    native.function(kernel)(*held, *attrs.values(), target)
    return out


def _conv_attrs(strides: Ints, padding: Ints, dilation: Ints, groups: int) -> dict[str, Any]:
    """In the order of the native kernels' arguments."""
    return {
        "strides": _repeat(strides, 2),
        "padding": _sides(padding),
        "dilation": _repeat(dilation, 2),
        "groups": groups,
    }


def _pool_attrs(pool_size: Ints, strides: Ints, padding: Ints, dilation: Ints) -> dict[str, Any]:
    """In the order of the native kernels' arguments."""
    return {
        "pool_size": _repeat(pool_size, 2),
        "strides": _repeat(strides, 2),
        "padding": _sides(padding),
        "dilation": _repeat(dilation, 2),
    }


def _repeat(value: Any, times: int) -> Any:
    return [value] * times if isinstance(value, int | np.integer) else value


def _sides(padding: Any) -> Any:
    """(top, left, bottom, right) from one number, two or four; anything else as it is."""
    padding = _repeat(padding, 4)
    return (
        [*padding, *padding] if isinstance(padding, list | tuple) and len(padding) == 2 else padding
    )


def _plain(value: Any) -> Any:
    """NumPy's integers as Python's; everything else is left for the native check to name."""
    if isinstance(value, list | tuple):
        return [_plain(element) for element in value]
    return int(value) if isinstance(value, np.integer) else value
