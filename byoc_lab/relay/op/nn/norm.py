"""Normalizations: most multiply by `gamma` and add `beta`, vectors broadcast along `axis`.

Source: `BatchNormRel`, `LayerNormRel`, `GroupNormRel`, `InstanceNormRel` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import (
    REQUIRED,
    Attr,
    AttrsType,
    boolean,
    integer,
    integers,
    number,
    string,
)
from byoc_lab.relay.ir.dims import Unknown
from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.arrays import broadcast_along
from byoc_lab.relay.op.framework.costs import per_element, per_input_element
from byoc_lab.relay.op.framework.from_relax import RelaxCall, same
from byoc_lab.relay.op.framework.precision import FOLLOW, NEVER
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    Types,
    axes_of,
    axis_of,
    fail,
    need_positive,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import (
    dtype_of,
    need_dtype,
    rank_of,
    scalar,
    shape_of,
    with_wide_floats,
)
from byoc_lab.relay.op.nn import relax_norms

CENTER = Attr("center", boolean, True, "whether to add beta")
SCALE = Attr("scale", boolean, True, "whether to multiply by gamma")
EPSILON = Attr("epsilon", number, 1e-05, "added to the variance, against division by zero")
CHANNEL_AXIS = Attr("axis", integer, 1, "channel axis")


def _vector_along(op: str, axis: int, x: TensorType) -> TensorType:
    return TensorType((x.shape[axis_of(op, axis, len(x.shape))],), x.dtype)


def _in_float32(reference: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The function computed in float32 for 16-bit floats and rounded once, as compiled code
    computes it. With rounding after each step, elements whose terms cancel would be wrong by
    several percent."""

    def computed(attrs: AnyValue, data: np.ndarray, *vectors: np.ndarray) -> np.ndarray:
        if data.dtype.itemsize > 2:
            return reference(attrs, data, *vectors)
        wide = (x.astype(np.float32) for x in (data, *vectors))
        return reference(attrs, *wide).astype(data.dtype)

    return computed


def _scaled(attrs: AnyValue, normal: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    if attrs.scale:
        normal = normal * broadcast_along(gamma, attrs.axis, normal.ndim)
    if attrs.center:
        normal = normal + broadcast_along(beta, attrs.axis, normal.ndim)
    return normal


def _standardized(x: np.ndarray, axes: tuple[int, ...], epsilon: float) -> np.ndarray:
    """(x - mean) / sqrt(variance + epsilon), with mean and variance over `axes`."""
    centered = x - x.mean(axis=axes, keepdims=True)
    variance = (centered * centered).mean(axis=axes, keepdims=True)
    return centered / np.sqrt(variance + x.dtype.type(epsilon))


def batch_norm_relation(attrs: AnyValue, data: Type | None, *vectors: Type | None) -> Types:
    """gamma, beta, mean and variance are (C,). The results: the normalized data, of the type of
    data, and two of (C,)."""
    op = "nn.batch_norm"
    x, *_ = tensors(op, "data gamma beta moving_mean moving_var", data, *vectors)
    if x is None:
        return None, *vectors, None
    if attrs.axis < -1:
        fail(op, f"axis must be -1 or in [0, {len(x.shape)}), found {attrs.axis}")
    v = _vector_along(op, attrs.axis, x)
    return x, v, v, v, v, TupleType((x, v, v))


def batch_norm_reference(
    attrs: AnyValue, data: np.ndarray, *vectors: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inference: the moving statistics are used, and returned unchanged."""
    _, _, mean, variance = vectors
    return _batch_normalized(attrs, data, *vectors), mean, variance


@_in_float32
def _batch_normalized(
    attrs: AnyValue,
    data: np.ndarray,
    gamma: np.ndarray,
    beta: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
) -> np.ndarray:
    deviation = np.sqrt(variance + data.dtype.type(attrs.epsilon))
    centered = data - broadcast_along(mean, attrs.axis, data.ndim)
    normal = centered / broadcast_along(deviation, attrs.axis, data.ndim)
    return _scaled(attrs, normal, gamma, beta)


def _from_relax(op: Op, call: RelaxCall, *operands: Expr) -> Expr:
    if bool(getattr(call.attrs, "training", False)):
        raise call.error(
            "Relay's batch norm supports only inference, found training=True; import the module in "
            "evaluation mode, or run relax.transform.DecomposeOpsForTraining first"
        )
    return same(op, call, *operands)


define_op(
    "nn.batch_norm",
    "data gamma beta moving_mean moving_var",
    batch_norm_relation,
    arithmetic=Arithmetic.BATCH_NORM,
    reference=batch_norm_reference,
    attrs=AttrsType("relay.attrs.BatchNormAttrs", (CHANNEL_AXIS, EPSILON, CENTER, SCALE)),
    flops=per_input_element(4),
    relax=relax_norms.batch_norm,
    built_relax=with_wide_floats(relax_norms.batch_norm),
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    results=3,
    layout=layout_rules.along_axis(vectors=4, vector_results=2),
    doc="(data - moving_mean) / sqrt(moving_var + epsilon) * gamma + beta, by channel; and the "
    "moving mean and variance, unchanged.",
    mixed_precision=FOLLOW,
    from_relax={"nn.batch_norm": _from_relax},
)


def _affine_relation(op: str):
    def relation(
        attrs: AnyValue, data: Type | None, gamma: Type | None, beta: Type | None
    ) -> Types:
        """The result has the type of data; gamma and beta are vectors along its `axis`."""
        x, g, b = tensors(op, "data gamma beta", data, gamma, beta)
        if x is None:
            return None, g, b, None
        v = _vector_along(op, attrs.axis, x)
        groups = attrs.get("num_groups", 1)
        channels = v.shape[0]
        if groups < 1 or (not isinstance(channels, Unknown) and channels % groups):
            fail(op, f"the {channels} channels of {x} are not divisible by num_groups={groups}")
        return x, v, v, x

    return relation


def _norm_flops(attrs: AnyValue, args: AnyValue, result: TensorType) -> int:
    """Per element: mean (1), variance (3), normalization (2), scale and shift (2)."""
    return 8 * prod(result.concrete_shape)


def grouping(
    op: str, attrs: AnyValue, shape: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape to which a normalization reshapes its data, and the axes over which it normalizes
    each group. nn.group_norm splits the channel axis in two."""
    axis = attrs.axis % len(shape)
    if op == "nn.layer_norm":
        return tuple(shape), (axis,)
    if op == "nn.instance_norm":
        return tuple(shape), tuple(n for n in range(1, len(shape)) if n != axis)
    split = (*shape[:axis], attrs.num_groups, shape[axis] // attrs.num_groups, *shape[axis + 1 :])
    return split, tuple(range(axis + 1, len(split)))


def groups_of(op: str, attrs: AnyValue, x: np.ndarray) -> tuple[np.ndarray, tuple[int, ...]]:
    """The data of a normalization, reshaped by `grouping`, and the axes of a group."""
    shape, axes = grouping(op, attrs, x.shape)
    return x.reshape(shape), axes


def _normalization_reference(op: str) -> Callable[..., np.ndarray]:
    @_in_float32
    def reference(
        attrs: AnyValue, x: np.ndarray, gamma: np.ndarray, beta: np.ndarray
    ) -> np.ndarray:
        normal = _standardized(*groups_of(op, attrs, x), attrs.epsilon)
        return _scaled(attrs, normal.reshape(x.shape), gamma, beta)

    return reference


def _by_deviations(op: str) -> Callable[..., AnyValue]:
    def translate(
        R: AnyValue, attrs: AnyValue, x: AnyValue, gamma: AnyValue, beta: AnyValue
    ) -> AnyValue:
        groups = grouping(op, attrs, shape_of(x))
        return relax_norms.by_deviations(R, attrs, groups, x, gamma, beta)

    return translate


def _layer_norm_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, *vectors: AnyValue) -> AnyValue:
    affine = relax_norms.affine(R, attrs, *vectors)
    return R.nn.layer_norm(x, *affine, axes=[attrs.axis], epsilon=attrs.epsilon)


def _built_layer_norm(R: AnyValue, attrs: AnyValue, x: AnyValue, *vectors: AnyValue) -> AnyValue:
    """TVM has code for float32, and for float16 that rounds before gamma and beta."""
    translate = _layer_norm_relax
    if dtype_of(x) != "float32":
        translate = _by_deviations("nn.layer_norm")
    return translate(R, attrs, x, *vectors)


def _normalization(
    op: str, attrs: AttrsType, doc: str, relax: Callable[..., AnyValue], **facts: AnyValue
) -> None:
    facts = {
        "from_relax": {op: relax_norms.grouped_norm},
        "built_relax": _by_deviations(op),
        **facts,
    }
    define_op(
        op,
        "data gamma beta",
        _affine_relation(op),
        arithmetic=Arithmetic.NORMALIZATION,
        reference=_normalization_reference(op),
        attrs=attrs,
        flops=_norm_flops,
        relax=relax,
        doc=doc,
        **facts,
    )


_normalization(
    "nn.layer_norm",
    AttrsType(
        "relay.attrs.LayerNormAttrs",
        (Attr("axis", integer, -1, "axis that is normalized"), EPSILON, CENTER, SCALE),
    ),
    "Data normalized over one axis to mean 0 and variance 1, times gamma plus beta.",
    _layer_norm_relax,
    from_relax={"nn.layer_norm": relax_norms.layer_norm},
    built_relax=_built_layer_norm,
    layout=layout_rules.along_axis(vectors=2),
    mixed_precision=NEVER,
)
_normalization(
    "nn.group_norm",
    AttrsType(
        "relay.attrs.GroupNormAttrs",
        (
            Attr("num_groups", integer, 0, "number of groups of channels"),
            CHANNEL_AXIS,
            EPSILON,
            CENTER,
            SCALE,
        ),
    ),
    "Data normalized over each group of channels and all later axes, times gamma plus beta.",
    lambda R, attrs, x, gamma, beta: R.nn.group_norm(
        x,
        *relax_norms.affine(R, attrs, gamma, beta),
        num_groups=attrs.num_groups,
        channel_axis=attrs.axis % rank_of(x),
        axes=list(range(attrs.axis % rank_of(x) + 1, rank_of(x))),
        epsilon=attrs.epsilon,
    ),
    defaults={"num_groups": REQUIRED},
)
_normalization(
    "nn.instance_norm",
    AttrsType("relay.attrs.InstanceNormAttrs", (CHANNEL_AXIS, EPSILON, CENTER, SCALE)),
    "Data normalized over all axes except batch and channels, times gamma plus beta.",
    lambda R, attrs, x, gamma, beta: R.nn.instance_norm(
        x,
        *relax_norms.affine(R, attrs, gamma, beta),
        channel_axis=attrs.axis % rank_of(x),
        axes=list(grouping("nn.instance_norm", attrs, shape_of(x))[1]),
        epsilon=attrs.epsilon,
    ),
    layout=layout_rules.along_axis(vectors=2),
)


def l2_normalize_type(attrs: AnyValue, x: TensorType) -> Type:
    """The result has the type of data."""
    axes_of("nn.l2_normalize", attrs.axis or (), len(x.shape))
    return x


def l2_normalize_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    squares = (x * x).sum(axis=tuple(attrs.axis or range(x.ndim)), keepdims=True)
    return x / np.sqrt(np.maximum(squares, x.dtype.type(attrs.eps)))


def _l2_normalize_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    axes = list(attrs.axis) if attrs.axis else None
    squares = R.sum(R.multiply(x, x), axis=axes, keepdims=True)
    return R.divide(x, R.sqrt(R.maximum(squares, scalar(attrs.eps, dtype_of(x)))))


define_op(
    "nn.l2_normalize",
    "data",
    result_type=l2_normalize_type,
    arithmetic=Arithmetic.SQUARES,
    reference=l2_normalize_reference,
    attrs=AttrsType(
        "relay.attrs.L2NormalizeAttrs",
        (
            Attr("eps", number, doc="lower limit of the sum of squares"),
            Attr("axis", integers, REQUIRED, "axes of the sum; None: all", may_be_none=True),
        ),
    ),
    flops=per_element(3),
    relax=_l2_normalize_relax,
    layout=layout_rules.along_axis(),
    doc="out = data / sqrt(max(sum of squares over axis, eps)).",
    mixed_precision=NEVER,
)


NORM_REGIONS = ("ACROSS_CHANNELS", "WITHIN_CHANNEL")


def lrn_type(attrs: AnyValue, x: TensorType) -> Type:
    """The result has the type of data."""
    op = "nn.lrn"
    axis_of(op, attrs.axis, len(x.shape))
    need_positive(op, attrs, "size")
    return x


def _lrn_reach(attrs: AnyValue) -> tuple[int, int]:
    """The numbers of neighbouring channels before and after a channel that are included. An even
    size includes one more after the channel, as in ONNX; TVM 0.16 infers the type of such a call
    but compiles only odd sizes."""
    return (attrs.size - 1) // 2, attrs.size // 2


def lrn_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    axis = attrs.axis % x.ndim
    around = [_lrn_reach(attrs) if n == axis else (0, 0) for n in range(x.ndim)]
    squares = np.moveaxis(np.pad(x * x, around), axis, -1)
    near = sum(squares[..., n : n + x.shape[axis]] for n in range(attrs.size))
    total = np.moveaxis(np.asarray(near, x.dtype), -1, axis)
    scale = attrs.bias + attrs.alpha * total / attrs.size
    return (x / np.power(scale, attrs.beta)).astype(x.dtype, copy=False)


def _lrn_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    need_dtype("nn.lrn", x)
    rank, length = rank_of(x), shape_of(x)
    axis, dtype = attrs.axis % rank, dtype_of(x)
    around = [_lrn_reach(attrs)[n % 2] if n // 2 == axis else 0 for n in range(2 * rank)]
    squares = R.nn.pad(R.multiply(x, x), around)
    total = R.strided_slice(squares, [axis], [0], [length[axis]])
    for n in range(1, attrs.size):
        total = R.add(total, R.strided_slice(squares, [axis], [n], [n + length[axis]]))
    scaled = R.multiply(total, scalar(attrs.alpha / attrs.size, dtype))
    return R.divide(x, R.power(R.add(scaled, scalar(attrs.bias, dtype)), scalar(attrs.beta, dtype)))


define_op(
    "nn.lrn",
    "data",
    result_type=lrn_type,
    arithmetic=Arithmetic.SQUARES,
    reference=lrn_reference,
    attrs=AttrsType(
        "relay.attrs.LRNAttrs",
        (
            Attr("size", integer, 5, "number of neighbouring channels in the mean"),
            Attr("axis", integer, 1, "channel axis"),
            Attr("bias", number, 2.0, "added to the scaled mean square"),
            Attr("alpha", number, 0.0001, "factor of the mean square"),
            Attr("beta", number, 0.75, "exponent"),
            Attr(
                "norm_region",
                string,
                NORM_REGIONS[0],
                "ignored, as in TVM, which always computes across channels",
            ),
        ),
    ),
    # As in TVM, the builder's defaults differ from the attributes' defaults.
    defaults={"bias": 2, "alpha": 1e-05},
    flops=lambda attrs, args, result: (attrs.size + 5) * prod(result.shape),
    relax=_lrn_relax,
    doc="out = data / (bias + alpha * mean square of neighbouring channels) ** beta.",
)
