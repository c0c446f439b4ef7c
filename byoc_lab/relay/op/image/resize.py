"""Resizing of images with one, two and three spatial axes: image.resize1d, resize2d, resize3d.

A result pixel is a weighted sum of data pixels, and the weights of each axis are independent:
the reference is a product with one matrix per axis. Source: `Resize1DRel`, `Resize2DRel`,
`Resize3DRel` and topi/image/resize.py of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import (
    REQUIRED,
    Attr,
    AttrsType,
    dtype,
    integer,
    integers,
    number,
    string,
)
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op, const
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.from_relax import RelaxCall, ints, relay_call
from byoc_lab.relay.op.framework.from_relax import number as number_of
from byoc_lab.relay.op.framework.layout import inverse_permute, permute, positions
from byoc_lab.relay.op.framework.precision import FOLLOW
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    NO_DTYPE,
    fail,
    need_length,
    need_one_of,
    need_rank,
    out_dtype,
)
from byoc_lab.relay.op.framework.relax_types import by_topi, constant_of, dtype_of, shape_of, typed
from byoc_lab.relay.op.framework.windows import SPATIAL, spatial_axis_names

METHODS = ("nearest_neighbor", "linear", "cubic")
MODES = (
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)


AxisRange = tuple[float, float]  # first and last position, as fractions of the axis


def sample_positions(
    length: int, target: int, mode: str, region: AxisRange = (0.0, 0.0)
) -> np.ndarray:
    """The positions in data of `length` that the `target` pixels of the result sample.

    `region`: the part that tf_crop_and_resize samples. Raises ValueError for an unknown mode.
    """
    x, scale = np.arange(target), length / target
    first, last = region
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
    if mode == "tf_crop_and_resize":
        if target == 1:
            return np.array([0.5 * (first + last) * (length - 1)])
        return first * (length - 1) + x * ((last - first) * (length - 1) / (target - 1))
    raise ValueError(
        f"coordinate_transformation_mode must be one of {', '.join(MODES)}, found {mode!r}"
    )


def nearest_index(at: np.ndarray, rounding: str, mode: str) -> np.ndarray:
    """The index of the data pixel that is nearest to each position."""
    rules = {
        "round": lambda: np.sign(at) * np.floor(np.abs(at) + 0.5),
        "round_prefer_floor": lambda: np.ceil(at - 0.5),
        "round_prefer_ceil": lambda: np.floor(at + 0.5),
        # As in TVM: 1e-5 corrects positions that rounding put just below or above a pixel.
        "floor": lambda: np.floor(at + 1e-5),
        "ceil": lambda: np.ceil(at - 1e-5),
    }
    rounding = rounding or ("round" if mode == "align_corners" else "floor")
    if rounding not in rules:
        raise ValueError(f"rounding_method must be one of {', '.join(rules)}, found {rounding!r}")
    return rules[rounding]().astype(np.int64)


def cubic_weights(t: np.ndarray, alpha: float) -> np.ndarray:
    """The weights of the four surrounding pixels, for a position `t` past the second one."""
    t2, t3 = t * t, t * t * t
    return np.stack(
        [
            alpha * (t3 - 2 * t2 + t),
            (alpha + 2) * t3 - (alpha + 3) * t2 + 1,
            -(alpha + 2) * t3 + (2 * alpha + 3) * t2 - alpha * t,
            -alpha * t3 + alpha * t2,
        ]
    )


def resize_taps(
    length: int, at: np.ndarray, attrs: AnyValue
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The data pixels that are summed for each position in `at`: pairs of indices and weights."""
    mode = attrs.coordinate_transformation_mode
    if attrs.method == "nearest_neighbor":
        nearest = nearest_index(at, attrs.rounding_method, mode)
        return [(nearest.clip(0, length - 1), np.ones(len(at)))]
    first = np.floor(at).astype(np.int64)
    if attrs.method == "linear":
        columns = np.stack([first, first + 1])
        weights = np.stack([1 - (at - first), at - first])
    else:
        columns = first + np.arange(-1, 3)[:, None]
        weights = cubic_weights(at - first, attrs.cubic_alpha)
        if attrs.cubic_exclude:
            weights = np.where((columns >= 0) & (columns < length), weights, 0)
            weights = weights / weights.sum(axis=0)
    return list(zip(columns.clip(0, length - 1), weights, strict=True))


def resampled(x: np.ndarray, axis: int, at: np.ndarray, attrs: AnyValue) -> np.ndarray:
    """`x` at the positions `at` of one axis; nan and infinite pixels affect only results near
    them."""
    rows = np.moveaxis(x, axis, -1)
    taps = resize_taps(rows.shape[-1], at, attrs)
    if attrs.method == "nearest_neighbor":
        ((index, _),) = taps
        found = rows[..., index]
    else:
        found = np.sum([rows[..., i] * w.astype(x.dtype) for i, w in taps], 0, x.dtype)
    return np.moveaxis(found, -1, axis)


def roi_range(attrs: AnyValue, axis: int, rank: int) -> AxisRange:
    """The part of a spatial axis in `roi`. With three axes TVM reads roi in reverse order.

    Raises ValueError unless roi has two numbers for each axis.
    """
    if attrs.coordinate_transformation_mode != "tf_crop_and_resize":
        return 0.0, 0.0
    if attrs.roi is None or len(attrs.roi) != 2 * rank:
        raise ValueError(f"roi must have {2 * rank} numbers, found {attrs.roi}")
    at = rank - 1 - axis if rank == 3 else axis
    return attrs.roi[at], attrs.roi[at + rank]


def resize_positions(
    attrs: AnyValue, length: int, target: int, region: AxisRange, rank: int
) -> np.ndarray:
    """As `sample_positions`; with two axes TVM finds some nearest pixels by integer division."""
    mode = attrs.coordinate_transformation_mode
    if (rank, mode, attrs.method) == (2, "asymmetric", "nearest_neighbor"):
        factor, rest = divmod(target, length)
        if factor and not rest:
            return np.arange(target) // factor
    return sample_positions(length, target, mode, region)


def resized(attrs: AnyValue, x: np.ndarray, regions: Sequence[AxisRange]) -> np.ndarray:
    """`x` (N, C, spatial axes) resized to the attributes' size; pixels outside are extrapolated.

    As in TVM, the first of three axes is not extrapolated.
    """
    mode = attrs.coordinate_transformation_mode
    for n, (target, region) in enumerate(zip(attrs.size, regions, strict=True)):
        length = x.shape[n + 2]
        at = resize_positions(attrs, length, target, region, len(regions))
        x = np.moveaxis(resampled(x, n + 2, at, attrs), n + 2, -1)
        if mode == "tf_crop_and_resize" and (n or len(regions) < 3):
            x[..., (at < 0) | (at > length - 1)] = attrs.extrapolation_value
        x = np.moveaxis(x, -1, n + 2)
    return x


def resize_flops(attrs: AnyValue, args: AnyValue, result: TensorType) -> int:
    """Two operations per result element and data element in its sum (2 or 4 data elements per
    axis)."""
    terms = {"nearest_neighbor": 0, "linear": 2}.get(attrs.method, 4)
    return 2 * prod(result.concrete_shape) * terms ** len(attrs.size or ())


def roi_numbers(value: AnyValue) -> tuple[float, ...]:
    return tuple(map(number, value))


RESIZE_ATTRS: dict[int, AttrsType] = {}


def _define(rank: int) -> None:
    op, spatial, axes = f"image.resize{rank}d", SPATIAL[rank], spatial_axis_names(rank)

    def result_type(attrs: AnyValue, x: TensorType) -> Type:
        """data (N, C, spatial axes) gives (N, C, *size)."""
        need_rank(op, "data", x, rank + 2)
        if attrs.size is None:
            fail(op, f"attribute size must be given: ({axes})")
        need_length(op, "size", attrs.size, rank)
        for name, possible in (("method", METHODS), ("coordinate_transformation_mode", MODES)):
            need_one_of(op, name, attrs[name], possible)
        order = positions(op, "layout", attrs.layout, f"NC{spatial}")
        n, c, *_ = permute(x.shape, order)
        return TensorType(inverse_permute((n, c, *attrs.size), order), out_dtype(attrs, x))

    def reference(attrs: AnyValue, data: np.ndarray) -> np.ndarray:
        order = positions(op, "layout", attrs.layout, f"NC{spatial}")
        x = data.transpose(order).astype(np.result_type(data.dtype, np.float32))
        out = resized(attrs, x, [roi_range(attrs, n, rank) for n in range(rank)])
        kind = np.dtype(attrs.out_dtype or data.dtype)
        return np.ascontiguousarray(out.transpose(np.argsort(order)).astype(kind))

    def nearest_unlike_relax(attrs: AnyValue, x: AnyValue) -> list[tuple[int, np.ndarray]]:
        """(axis, indices) of each spatial axis along which TVM 0.16 chooses a different nearest
        pixel than Relax: halfway between two (away from zero, not to even), or by integer
        division."""
        order = positions(op, "layout", attrs.layout, f"NC{spatial}")
        mode, indices, differs = attrs.coordinate_transformation_mode, [], False
        for n, axis in enumerate(order[2:]):
            length, region = shape_of(x)[axis], roi_range(attrs, n, rank)
            at = resize_positions(attrs, length, attrs.size[n], region, rank)
            plain = sample_positions(length, attrs.size[n], mode, region)
            index = nearest_index(at, attrs.rounding_method, mode)
            differs |= bool((at % 1 == 0.5).any())
            differs |= not np.array_equal(index, nearest_index(plain, attrs.rounding_method, mode))
            indices.append((axis, index.clip(0, length - 1)))
        return indices if differs and mode != "tf_crop_and_resize" else []

    def relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
        indices = nearest_unlike_relax(attrs, x) if attrs.method == "nearest_neighbor" else []
        if indices:
            for axis, index in indices:
                x = typed(R.take(x, constant_of(index), axis))
            return R.astype(x, attrs.out_dtype) if attrs.out_dtype else x
        if attrs.coordinate_transformation_mode == "align_corners" and 1 in attrs.size:
            # Relax divides by the size minus 1, so resize to 2 pixels and keep the first one.
            order = positions(op, "layout", attrs.layout, f"NC{spatial}")
            single = {axis for axis, n in zip(order[2:], attrs.size, strict=True) if n == 1}
            x = relax(R, attrs.replace(size=[max(n, 2) for n in attrs.size]), x)
            for axis in sorted(single):
                x = R.take(typed(x), constant_of(np.zeros(1, np.int64)), axis)
            return x
        if rank == 1:  # Relax resizes only two or three axes
            more = attrs.cubic_alpha, attrs.cubic_exclude, attrs.extrapolation_value
            mode = attrs.coordinate_transformation_mode
            names = attrs.layout, attrs.method, mode, attrs.rounding_method
            region = list(attrs.roi or (0.0, 0.0))
            kind = attrs.out_dtype or None
            return by_topi("image.resize1d", x, region, list(attrs.size), *names, *more, kind)
        names = ("layout", "method", "coordinate_transformation_mode", "rounding_method")
        numbers = ("cubic_alpha", "cubic_exclude", "extrapolation_value")
        kind = attrs.out_dtype or dtype_of(x)  # Relax's own out_dtype has no effect
        if "float" in kind and "float" not in dtype_of(x):
            x = typed(R.astype(x, kind))
        made = getattr(R.image, f"resize{rank}d")(
            x,
            attrs.size,
            roi=tuple(attrs.roi or (0.0,) * (2 * rank)),
            **{n: attrs[n] for n in (*names, *numbers)},
        )
        return made if kind == dtype_of(x) else R.astype(typed(made), kind)

    attrs_type = RESIZE_ATTRS[rank] = AttrsType(
        f"relay.attrs.Resize{rank}DAttrs",
        (
            Attr("size", integers, None, f"size of the result: ({axes})"),
            Attr(
                "roi", roi_numbers, None, "region for tf_crop_and_resize: all starts, then all ends"
            ),
            Attr("layout", string, f"NC{spatial}", "layout of data and result"),
            Attr("method", string, "linear", ", ".join(METHODS)),
            Attr("coordinate_transformation_mode", string, "half_pixel", ", ".join(MODES)),
            Attr("rounding_method", string, "round", "for nearest_neighbor: round, floor, ..."),
            Attr("cubic_alpha", number, -0.5, "coefficient of the cubic spline"),
            Attr("cubic_exclude", integer, 0, "whether cubic ignores pixels outside the data"),
            Attr("extrapolation_value", number, 0.0, "value of pixels outside the data"),
            Attr("out_dtype", dtype, NO_DTYPE, "dtype of the result; empty: the dtype of the data"),
        ),
    )

    def normalize(values: dict[str, AnyValue]) -> dict[str, AnyValue]:
        """Replaces constants by their values, whole numbers by ints, a missing roi by zeros."""
        roi = (0.0,) * (2 * rank) if values["roi"] is None else _values(values["roi"])
        given = _values(values["size"])
        size = [int(n) if isinstance(n, float) and n.is_integer() else n for n in given]
        return {**values, "size": size, "roi": roi}

    define_op(
        op,
        "data",
        result_type=result_type,
        reference=reference,
        attrs=attrs_type,
        arithmetic=resampling,
        from_relax={op: _from_relax} if rank > 1 else {},  # Relax lacks resize1d
        flops=resize_flops,
        relax=relax,
        pattern=OpPattern.INJECTIVE,
        layout=layout_rules.resize if rank < 3 else None,  # as in TVM
        defaults={"size": REQUIRED, "rounding_method": "", "out_dtype": None},
        normalize=normalize,
        mixed_precision=FOLLOW if rank == 2 else None,  # as in TVM
        fake_quantized=FakeQuantized.SAME if rank == 2 else None,
        doc=f"Images with {rank} spatial {'axis' if rank == 1 else 'axes'} resized to ({axes}).",
    )


def resampling(attrs: AnyValue) -> Arithmetic:
    """The kind of arithmetic; cubic interpolation is not a mean, because some of its weights are
    negative."""
    return Arithmetic.OTHER if "cubic" in attrs.method else Arithmetic.RESAMPLED


def _from_relax(op: Op, call: RelaxCall, x: Expr, size: AnyValue) -> Expr:
    attrs = call.attrs
    roi = [float(number_of(value)) for value in attrs.roi or ()]
    made = relay_call(
        call.name,
        x,
        size=ints(size),
        roi=roi if any(roi) else None,
        layout=str(attrs.layout),
        method=str(attrs.method),
        coordinate_transformation_mode=str(attrs.coordinate_transformation_mode),
        rounding_method=str(attrs.rounding_method),
        cubic_alpha=float(attrs.cubic_alpha),
        cubic_exclude=int(attrs.cubic_exclude),
        extrapolation_value=float(attrs.extrapolation_value),
        out_dtype=str(attrs.out_dtype) if attrs.out_dtype else None,
    )
    assert isinstance(made, Call)
    indices = _nearest_in_relax(op.name, made.attrs, call.shape)
    if not indices:
        return made
    for axis, index in indices:
        x = relay_call("take", x, const(index), axis=axis)
    return relay_call("cast", x, dtype=made.attrs.out_dtype) if made.attrs.out_dtype else x


def _nearest_in_relax(
    op: str, attrs: AnyValue, shape: Sequence[int]
) -> list[tuple[int, np.ndarray]]:
    """(axis, indices) of each spatial axis, if Relax chooses other nearest pixels than TVM 0.16:
    halfway between two it rounds to even, and only "floor" divides integers."""
    mode, rank = attrs.coordinate_transformation_mode, len(attrs.size)
    if attrs.method != "nearest_neighbor" or mode == "tf_crop_and_resize":
        return []
    order = positions(op, "layout", attrs.layout, f"NC{SPATIAL[rank]}")
    indices, differs = [], False
    for axis, target in zip(order[2:], attrs.size, strict=True):
        length, region = shape[axis], (0.0, 0.0)
        at = sample_positions(length, target, mode, region)
        rounds = (attrs.rounding_method or ("round" if mode == "align_corners" else "")) == "round"
        index = np.rint(at) if rounds else nearest_index(at, attrs.rounding_method, mode)
        index = index.astype(np.int64).clip(0, length - 1)
        before = resize_positions(attrs, length, target, region, rank)
        before = nearest_index(before, attrs.rounding_method, mode).clip(0, length - 1)
        differs |= not np.array_equal(index, before)
        indices.append((axis, index))
    return indices if differs else []


def _values(given: AnyValue) -> list[AnyValue]:
    return given.numpy().tolist() if isinstance(given, Constant) else list(given)


for _rank in SPATIAL:
    _define(_rank)
