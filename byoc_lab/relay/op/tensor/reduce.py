"""Reductions over some axes. Source: `ReduceRel`, `VarianceRel` of TVM 0.16."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, boolean, integers
from byoc_lab.relay.ir.expr import Call, Expr, Op, Tuple, TupleWrapper
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.costs import per_input_element
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.from_relax import RelaxCall, number, reads, relay_call
from byoc_lab.relay.op.framework.namespace import builds, function
from byoc_lab.relay.op.framework.normalizers import numbers_to_lists
from byoc_lab.relay.op.framework.precision import FOLLOW, NEVER
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import Types, axes_of, tensors
from byoc_lab.relay.op.framework.relax_types import (
    dtype_of,
    in_wide_floats,
    mean_of,
    rank_of,
    scalar,
    shape_of,
    typed,
)

AXES = (
    Attr("axis", integers, None, "axes to reduce; None or empty: all"),
    Attr("keepdims", boolean, False, "whether reduced axes are kept with size 1"),
    Attr("exclude", boolean, False, "whether `axis` lists the axes to keep instead"),
)
REDUCE_ATTRS = AttrsType("relay.attrs.ReduceAttrs", AXES)
VARIANCE_ATTRS = AttrsType(
    "relay.attrs.VarianceAttrs",
    (*AXES, Attr("unbiased", boolean, False, "whether to divide by n - 1 instead of n")),
)


def reduced_axes(op: str, attrs: AnyValue, rank: int) -> tuple[int, ...]:
    """The reduced axes, counted from the front and sorted."""
    if not attrs.axis:
        return () if attrs.exclude and attrs.axis is not None else tuple(range(rank))
    named = axes_of(op, attrs.axis, rank)
    return tuple(n for n in range(rank) if (n in named) != attrs.exclude)


def reduced_type(op: str, attrs: AnyValue, x: TensorType) -> TensorType:
    """The type of `x` without the reduced axes; with keepdims, these axes have size 1."""
    gone = reduced_axes(op, attrs, len(x.shape))
    if attrs.keepdims:
        return TensorType([1 if n in gone else d for n, d in enumerate(x.shape)], x.dtype)
    return TensorType([d for n, d in enumerate(x.shape) if n not in gone], x.dtype)


def _from_relax(op: Op, call: RelaxCall, x: Expr) -> Expr:
    keepdims = bool(call.attrs.keepdims)
    return relay_call(op.name, x, axis=call.axes(call.attrs.axis), keepdims=keepdims)


def _reduction(
    op: str, compute, arithmetic: Arithmetic, doc: str, relax=None, **facts: AnyValue
) -> None:
    """relax(R, data, axes, keepdims): the Relax expression, if not one call of the operator of this
    name."""

    def reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
        axes = reduced_axes(op, attrs, x.ndim)
        result = np.asarray(compute(x, axis=axes, keepdims=attrs.keepdims))
        return result.astype(x.dtype, copy=False)

    def translated(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
        axes = list(reduced_axes(op, attrs, rank_of(x)))
        if relax is None:
            return getattr(R, op)(x, axis=axes, keepdims=attrs.keepdims)
        return relax(R, x, axes, attrs.keepdims)

    facts = {"layout": layout_rules.reduction, "from_relax": {op: _from_relax}, **facts}
    define_op(
        op,
        "data",
        result_type=partial(reduced_type, op),
        reference=reference,
        attrs=REDUCE_ATTRS,
        normalize=numbers_to_lists("axis"),
        flops=per_input_element(1),
        relax=translated,
        pattern=OpPattern.COMM_REDUCE,
        arithmetic=arithmetic,
        **facts,
        doc=doc,
    )


_reduction("sum", np.sum, Arithmetic.SUM, "The sum over some axes.", mixed_precision=NEVER)
_reduction(
    "mean",
    np.mean,
    Arithmetic.MEAN,
    "The arithmetic mean over some axes.",
    relax=mean_of,
    mixed_precision=NEVER,
    fake_quantized=FakeQuantized.MEAN,
)


def _extreme(compute: AnyValue, sign: int) -> AnyValue:
    """The largest (sign -1) or smallest (sign 1) element; without elements, the smallest or largest
    value of the dtype."""

    def computed(x: np.ndarray, **reduced: AnyValue) -> AnyValue:
        if x.size:
            return compute(x, **reduced)
        if x.dtype.kind in "iu":
            limits = np.iinfo(x.dtype)
            return compute(x, initial=limits.max if sign > 0 else limits.min, **reduced)
        return compute(x, initial=sign * np.inf, **reduced)

    return computed


_reduction(
    "max",
    _extreme(np.max, -1),
    Arithmetic.EXTREME,
    "The maximum over some axes; of no elements -inf, or the least integer.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.SAME,
    qat=True,
)
_reduction(
    "min",
    _extreme(np.min, 1),
    Arithmetic.EXTREME,
    "The minimum over some axes; of no elements inf, or the greatest integer.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.SAME,
    qat=True,
)
_reduction("prod", np.prod, Arithmetic.OTHER, "The product over some axes.")


def variance_relation(attrs: AnyValue, data: Type | None, mean: Type | None) -> Types:
    """data and its mean (reduced axes kept with size 1) give data without those axes."""
    op = "variance"
    x, m = tensors(op, "data mean", data, mean)
    if x is None:
        return None, m, None
    kept = attrs.replace(keepdims=True)
    mean_type = reduced_type(op, kept, x)
    return x, mean_type, reduced_type(op, attrs, x)


def _divisor(attrs: AnyValue, shape: AnyValue) -> int:
    count = prod(shape[n] for n in reduced_axes("variance", attrs, len(shape)))
    return max(count - 1, 1) if attrs.unbiased else count


def variance_reference(attrs: AnyValue, x: np.ndarray, mean: np.ndarray) -> np.ndarray:
    axes = reduced_axes("variance", attrs, x.ndim)
    wide = np.result_type(x.dtype, np.float32) if x.dtype.kind == "f" else x.dtype
    difference = x.astype(wide, copy=False) - mean.astype(wide, copy=False)
    squares = np.square(difference).sum(axis=axes, keepdims=attrs.keepdims)
    return np.asarray(squares / _divisor(attrs, x.shape)).astype(x.dtype, copy=False)


def _variance_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, mean: AnyValue) -> AnyValue:
    axes = list(reduced_axes("variance", attrs, rank_of(x)))
    divisor = _divisor(attrs, shape_of(x))

    def spread(x: AnyValue, mean: AnyValue) -> AnyValue:
        difference = R.subtract(x, mean)
        total = R.sum(R.multiply(difference, difference), axis=axes, keepdims=attrs.keepdims)
        return R.divide(total, scalar(divisor, dtype_of(x)))

    return in_wide_floats(R, spread, x, mean)


def _with_mean(values: dict[str, AnyValue]) -> dict[str, AnyValue]:
    """Normalizes the arguments: the axes as a list, and the mean if it is not given."""
    if values["mean"] is None:
        mean = function("mean")(values["data"], values["axis"], True, values["exclude"])
        values = {**values, "mean": mean}
    return numbers_to_lists("axis")(values)


define_op(
    "variance",
    "data mean",
    variance_relation,
    arithmetic=Arithmetic.VARIANCE,
    reference=variance_reference,
    attrs=VARIANCE_ATTRS,
    flops=per_input_element(3),
    relax=_variance_relax,
    pattern=OpPattern.COMM_REDUCE,
    layout=layout_rules.reduction,
    parameters="data axis keepdims exclude unbiased with_mean=mean",
    defaults={"mean": None},
    normalize=_with_mean,
    doc="The mean square distance from the mean over some axes; with_mean may give that mean, "
    "with its reduced axes kept.",
    mixed_precision=NEVER,
)


@builds("std", defaults_of="variance")
def std(data: Expr, axis: AnyValue, keepdims: bool, exclude: bool, unbiased: bool) -> Call:
    """The standard deviation of `data` over `axis`: sqrt(variance(...))."""
    variance = function("variance")(data, axis, keepdims, exclude, unbiased)
    return function("sqrt")(variance)


@builds("mean_variance", defaults_of="variance")
def mean_variance(
    data: Expr, axis: AnyValue, keepdims: bool, exclude: bool, unbiased: bool
) -> TupleWrapper:
    """(mean, variance) of `data` over `axis`."""
    mean = function("mean")(data, axis, True, exclude)
    variance = function("variance")(data, axis, keepdims, exclude, unbiased, mean)
    if not keepdims:
        mean = function("squeeze")(mean, axis)
    return TupleWrapper(Tuple([mean, variance]), 2)


@builds("mean_std", defaults_of="variance")
def mean_std(data: Expr, axis: AnyValue, keepdims: bool, exclude: bool) -> TupleWrapper:
    """(mean, standard deviation) of `data` over `axis`."""
    mean = function("mean")(data, axis, True, exclude)
    deviation = function("sqrt")(function("variance")(data, axis, keepdims, exclude, False, mean))
    if not keepdims:  # TVM squeezes every axis of size 1 here
        mean = function("squeeze")(mean)
    return TupleWrapper(Tuple([mean, deviation]), 2)


# all, any: for bool; TVM accepts any dtype and returns the same dtype
# ------------------------------


def _logical(name: str) -> AnyValue:
    """`all` or `any` for Relax, which lacks both: the minimum or maximum (`name`) of zeros and
    ones."""

    def relax(R: AnyValue, x: AnyValue, axes: list[int], keepdims: bool) -> AnyValue:
        ones = R.astype(R.astype(x, "bool"), "int8")
        return R.astype(getattr(R, name)(ones, axis=axes, keepdims=keepdims), dtype_of(x))

    return relax


_reduction(
    "all",
    np.all,
    Arithmetic.EXTREME,
    "Whether all elements over some axes are not 0.",
    relax=_logical("min"),
    from_relax={},
)
_reduction(
    "any",
    np.any,
    Arithmetic.EXTREME,
    "Whether any element over some axes is not 0.",
    relax=_logical("max"),
    from_relax={},
    layout=None,  # as in TVM
)

# argmax, argmin ----------------------------------------------------------------------------------

ARG_ATTRS = AttrsType(
    "relay.attrs.ArgReduceAttrs",
    (
        AXES[0],
        AXES[1],
        Attr(
            "select_last_index",
            boolean,
            False,
            "True: the last of equal elements; False: the first",
        ),
        AXES[2],
    ),
)


def _arg_reduction(op: str, compute, arithmetic: Arithmetic, doc: str) -> None:
    def result_type(attrs: AnyValue, x: TensorType) -> Type:
        """int32, with the shape of data without the reduced axes; for several axes, the index
        refers to these axes flattened."""
        return TensorType(reduced_type(op, attrs, x).shape, "int32")

    def reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
        axes = reduced_axes(op, attrs, x.ndim)
        kept = [n for n in range(x.ndim) if n not in axes]
        flat = x.transpose(*kept, *axes).reshape(
            *(x.shape[n] for n in kept), prod(x.shape[n] for n in axes)
        )
        if attrs.select_last_index:
            found = flat.shape[-1] - 1 - compute(flat[..., ::-1], axis=-1)
        else:
            found = compute(flat, axis=-1)
        shape = [1 if n in axes else d for n, d in enumerate(x.shape)]
        found = np.asarray(found).astype(np.int32)
        return found.reshape(shape) if attrs.keepdims else found

    def relax(
        R: AnyValue, attrs: AnyValue, x: AnyValue, settled: AnyValue = lambda found: found
    ) -> AnyValue:
        axes = reduced_axes(op, attrs, rank_of(x))
        shape = shape_of(x)
        kept = [n for n in range(len(shape)) if n not in axes]
        count = prod(shape[n] for n in axes)
        flat = R.reshape(R.permute_dims(x, [*kept, *axes]), [*(shape[n] for n in kept), count])
        last = len(kept)
        if attrs.select_last_index:  # the last extreme is the first one in reversed data
            flat = R.flip(flat, last)
        found = settled(getattr(R, op)(flat, last))
        if attrs.select_last_index:
            found = R.subtract(scalar(count - 1, "int64"), found)
        kept_shape = [1 if n in axes else d for n, d in enumerate(shape)]
        found = R.reshape(found, kept_shape) if attrs.keepdims else found
        return R.astype(found, "int32")

    def built_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
        """Corrects the index for `build`: TVM's loop starts with index -1 and an extreme value; if
        no element is beyond that value, the index remains -1."""
        return relax(R, attrs, x, lambda found: R.maximum(typed(found), scalar(0, "int64")))

    define_op(
        op,
        "data",
        result_type=result_type,
        reference=reference,
        attrs=ARG_ATTRS,
        parameters="data axis keepdims exclude select_last_index",
        normalize=numbers_to_lists("axis"),
        flops=per_input_element(1),
        relax=relax,
        built_relax=built_relax,
        pattern=OpPattern.COMM_REDUCE,
        layout=layout_rules.reduction,
        arithmetic=arithmetic,
        mixed_precision=FOLLOW,
        doc=doc,
    )


_arg_reduction("argmax", np.argmax, Arithmetic.ARGMAX, "The index of the maximum over some axes.")
_arg_reduction("argmin", np.argmin, Arithmetic.ARGMIN, "The index of the minimum over some axes.")


@builds("logsumexp", defaults_of="sum")
def logsumexp(data: Expr, axis: AnyValue, keepdims: bool) -> Call:
    """log(sum(exp(data))) over `axis`, without overflow: the largest element is subtracted
    first."""
    greatest = function("max")(data, axis, True)
    exponentials = function("exp")(function("subtract")(data, greatest))
    total = function("sum")(exponentials, axis, True)
    result = function("add")(function("log")(total), greatest)
    return result if keepdims else function("squeeze")(result, axis)


@reads("variance")
def _read_variance(call: RelaxCall, x: Expr) -> Expr:
    axes = call.axes(call.attrs.axis)
    mean = relay_call("mean", x, axis=axes, keepdims=True)
    return relay_call("variance", x, mean, axis=axes, keepdims=bool(call.attrs.keepdims))


@reads("argmax", "argmin")
def _position(call: RelaxCall, x: Expr) -> Expr:
    """Reads argmax or argmin of Relax, whose indices are int64; Relay's are int32."""
    axis = None if call.attrs.axis is None else int(number(call.attrs.axis))
    found = relay_call(call.name, x, axis=axis, keepdims=bool(call.attrs.keepdims))
    return relay_call("cast", found, dtype=str(call.dtype))
