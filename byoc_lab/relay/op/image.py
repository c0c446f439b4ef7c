"""Resizing images: image.resize2d and nn.upsampling.

A result pixel is a weighted sum of data pixels, and the weights of rows and columns are apart: the
reference is a product with one matrix for each. Source: `Resize2DRel`, `UpSamplingRel` and
topi/image/resize.py of TVM 0.16.
"""

from __future__ import annotations

from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.errors import BuildError
from byoc_lab.relay.attrs import Attr, AttrsType, boolean, dtype, integer, integers, number, string
from byoc_lab.relay.expr import Call, Constant, Expr
from byoc_lab.relay.op.layout import pick, positions, unpick
from byoc_lab.relay.op.namespace import builds
from byoc_lab.relay.op.registry import OpPattern, define_op
from byoc_lab.relay.op.relations import (
    NO_DTYPE,
    Types,
    dim,
    fail,
    need_length,
    need_rank,
    out_dtype,
    tensors,
)
from byoc_lab.relay.op.relax_types import shape_of
from byoc_lab.relay.types import TensorType, Type

METHODS = ("nearest_neighbor", "linear", "cubic")
MODES = (
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)


def places(length: int, target: int, mode: str) -> np.ndarray:
    """Where in data of `length` each of `target` pixels of the result is looked up.

    Raises ValueError for tf_crop_and_resize, which needs a region.
    """
    x, scale = np.arange(target), length / target
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and target > 1):
        return (x + 0.5) * scale - 0.5
    if mode == "pytorch_half_pixel":
        return np.zeros(1)
    if mode == "align_corners":
        return x * ((length - 1) / max(target - 1, 1))
    if mode == "asymmetric":
        return x * scale
    if mode == "tf_half_pixel_for_nn":
        return (x + 0.5) * scale
    raise ValueError(f"coordinate_transformation_mode {mode!r} has no NumPy reference")


def nearest(at: np.ndarray, rounding: str, mode: str) -> np.ndarray:
    """The index of the data pixel that stands for each place."""
    rules = {
        "round": lambda: np.sign(at) * np.floor(np.abs(at) + 0.5),
        "round_prefer_floor": lambda: np.ceil(at - 0.5),
        "round_prefer_ceil": lambda: np.floor(at + 0.5),
        "floor": lambda: np.floor(at + 1e-5),  # TVM's guard against places just below a pixel
        "ceil": lambda: np.ceil(at - 1e-5),
    }
    rounding = rounding or ("round" if mode == "align_corners" else "floor")
    if rounding not in rules:
        raise ValueError(f"rounding_method must be one of {', '.join(rules)}, found {rounding!r}")
    return rules[rounding]().astype(np.int64)


def cubic_weights(t: np.ndarray, alpha: float) -> np.ndarray:
    """The weights of the four pixels around, for a place `t` past the second one."""
    t2, t3 = t * t, t * t * t
    return np.stack(
        [
            alpha * (t3 - 2 * t2 + t),
            (alpha + 2) * t3 - (alpha + 3) * t2 + 1,
            -(alpha + 2) * t3 + (2 * alpha + 3) * t2 - alpha * t,
            -alpha * t3 + alpha * t2,
        ]
    )


def resizing(length: int, target: int, attrs: AnyValue) -> np.ndarray:
    """The matrix (target, length) whose rows are the weights of the data for each result pixel."""
    at = places(length, target, attrs.coordinate_transformation_mode)
    mode = attrs.coordinate_transformation_mode
    first = np.floor(at).astype(np.int64)
    if attrs.method == "nearest_neighbor":
        offsets, weights = [0], np.ones((1, target))
        first = nearest(at, attrs.rounding_method, mode)
    elif attrs.method == "linear":
        offsets, weights = [0, 1], np.stack([1 - (at - first), at - first])
    else:
        offsets, weights = [-1, 0, 1, 2], cubic_weights(at - first, attrs.cubic_alpha)
    matrix = np.zeros((target, length))
    for offset, weight in zip(offsets, weights, strict=True):
        column = first + offset
        if attrs.method == "cubic" and attrs.cubic_exclude:
            weight = np.where((column >= 0) & (column < length), weight, 0)
        np.add.at(matrix, (np.arange(target), column.clip(0, length - 1)), weight)
    if attrs.method == "cubic" and attrs.cubic_exclude:
        matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix


def resized(attrs: AnyValue, data: np.ndarray, size: AnyValue, kind: np.dtype) -> np.ndarray:
    order = positions("image.resize2d", "layout", attrs.layout, "NCHW")
    x = data.transpose(order).astype(np.result_type(data.dtype, np.float32))
    for axis, target in zip((2, 3), size, strict=True):
        matrix = resizing(x.shape[axis], target, attrs).astype(x.dtype)
        x = np.moveaxis(np.moveaxis(x, axis, -1) @ matrix.T, -1, axis)
    return np.ascontiguousarray(x.transpose(np.argsort(order)).astype(kind))


def resize_flops(attrs: AnyValue, args: AnyValue, result: TensorType) -> int:
    """Two per result element and data element that it is made of: 1, 4 or 16 of them."""
    method = attrs.method.removeprefix("bi")
    return 2 * prod(result.concrete_shape) * {"nearest_neighbor": 0, "linear": 4}.get(method, 16)


def resize2d_relation(attrs: AnyValue, data: Type | None) -> Types:
    """data (N, C, H, W) gives (N, C, *size)."""
    op = "image.resize2d"
    (x,) = tensors(op, "data", data)
    if x is None:
        return None, None
    need_rank(op, "data", x, 4)
    if attrs.size is None:
        fail(op, "attribute size must be given: (height, width)")
    need_length(op, "size", attrs.size, 2)
    for name, known in (("method", METHODS), ("coordinate_transformation_mode", MODES)):
        if attrs[name] not in known:
            fail(op, f"attribute {name} must be one of {', '.join(known)}, found {attrs[name]!r}")
    order = positions(op, "layout", attrs.layout, "NCHW")
    n, c, *_ = pick(x.shape, order)
    return x, TensorType(unpick((n, c, *attrs.size), order), out_dtype(attrs, x))


def _resize2d_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    return resized(attrs, x, attrs.size, np.dtype(attrs.out_dtype or x.dtype))


def _resize2d_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    if attrs.coordinate_transformation_mode == "tf_crop_and_resize":
        raise BuildError("image.resize2d: tf_crop_and_resize is not translated to Relax")
    names = ("layout", "method", "coordinate_transformation_mode", "rounding_method")
    return R.image.resize2d(
        x,
        attrs.size,
        **{n: attrs[n] for n in (*names, "cubic_alpha", "cubic_exclude", "extrapolation_value")},
        out_dtype=attrs.out_dtype or None,
    )


def numbers(value: AnyValue) -> tuple[float, ...]:
    return tuple(map(number, value))


RESIZE = define_op(
    "image.resize2d",
    "data",
    resize2d_relation,
    reference=_resize2d_reference,
    attrs=AttrsType(
        "relay.attrs.Resize2DAttrs",
        (
            Attr("size", integers, None, "size of the result: (height, width)"),
            Attr("roi", numbers, None, "region for tf_crop_and_resize: (top, left, bottom, right)"),
            Attr("layout", string, "NCHW", "order of the axes of data and result"),
            Attr("method", string, "linear", ", ".join(METHODS)),
            Attr("coordinate_transformation_mode", string, "half_pixel", ", ".join(MODES)),
            Attr("rounding_method", string, "round", "nearest_neighbor: round, floor, ceil, ..."),
            Attr("cubic_alpha", number, -0.5, "coefficient of the cubic spline"),
            Attr("cubic_exclude", integer, 0, "whether cubic leaves out pixels outside"),
            Attr("extrapolation_value", number, 0.0, "what lies outside for tf_crop_and_resize"),
            Attr("out_dtype", dtype, NO_DTYPE, "dtype of the result; empty: as the data"),
        ),
    ),
    flops=resize_flops,
    relax=_resize2d_relax,
    pattern=OpPattern.INJECTIVE,
    doc="An image in another size.",
)


@builds("image.resize2d")
def resize2d(
    data: Expr,
    size: AnyValue,
    roi: AnyValue = None,
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    cubic_alpha: float = -0.5,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
) -> Call:
    """Images `data` in `size` (height, width); both may be constants."""
    attrs = RESIZE.definition.attrs.make(
        size=_values(size),
        roi=(0.0,) * 4 if roi is None else _values(roi),
        layout=layout,
        method=method,
        coordinate_transformation_mode=coordinate_transformation_mode,
        rounding_method=rounding_method,
        cubic_alpha=cubic_alpha,
        cubic_exclude=cubic_exclude,
        extrapolation_value=extrapolation_value,
        out_dtype=out_dtype or NO_DTYPE,
    )
    return Call(RESIZE, [data], attrs)


def _values(given: AnyValue) -> list[AnyValue]:
    return given.numpy().tolist() if isinstance(given, Constant) else list(given)


# nn.upsampling -----------------------------------------------------------------------------------

UPSAMPLING_METHODS = ("nearest_neighbor", "bilinear", "bicubic")


def upsampled(size: AnyValue, attrs: AnyValue) -> list[AnyValue]:
    """(height, width) times the scales, rounded."""
    scales = (attrs.scale_h, attrs.scale_w)
    return [dim(lambda n, s=s: round(n * s), d) for d, s in zip(size, scales, strict=True)]


def upsampling_relation(attrs: AnyValue, data: Type | None) -> Types:
    """data (N, C, H, W) gives (N, C, round(H * scale_h), round(W * scale_w))."""
    op = "nn.upsampling"
    (x,) = tensors(op, "data", data)
    if x is None:
        return None, None
    need_rank(op, "data", x, 4)
    if attrs.method not in UPSAMPLING_METHODS:
        known = ", ".join(UPSAMPLING_METHODS)
        fail(op, f"attribute method must be one of {known}, found {attrs.method!r}")
    order = positions(op, "layout", attrs.layout, "NCHW")
    n, c, *size = pick(x.shape, order)
    return x, TensorType(unpick((n, c, *upsampled(size, attrs)), order), x.dtype)


def _as_resize(attrs: AnyValue, shape: AnyValue) -> AnyValue:
    """The attributes of the `image.resize2d` that upsamples data of `shape`."""
    _, _, *size = pick(shape, positions("nn.upsampling", "layout", attrs.layout, "NCHW"))
    return RESIZE.definition.attrs.make(
        size=upsampled(size, attrs),
        layout=attrs.layout,
        method=attrs.method.removeprefix("bi"),
        coordinate_transformation_mode="align_corners" if attrs.align_corners else "asymmetric",
        rounding_method="",
    )


define_op(
    "nn.upsampling",
    "data",
    upsampling_relation,
    reference=lambda attrs, x: _resize2d_reference(_as_resize(attrs, x.shape), x),
    attrs=AttrsType(
        "relay.attrs.UpSamplingAttrs",
        (
            Attr("scale_h", number, doc="result height / data height"),
            Attr("scale_w", number, doc="result width / data width"),
            Attr("layout", string, "NCHW", "order of the axes of data and result"),
            Attr("method", string, "nearest_neighbor", ", ".join(UPSAMPLING_METHODS)),
            Attr("align_corners", boolean, False, "whether the corner pixels stay where they are"),
        ),
    ),
    defaults={"scale_h": 1, "scale_w": 1},
    flops=resize_flops,
    relax=lambda R, attrs, x: _resize2d_relax(R, _as_resize(attrs, shape_of(x)), x),
    pattern=OpPattern.INJECTIVE,
    doc="An image enlarged by a factor in each direction.",
)
