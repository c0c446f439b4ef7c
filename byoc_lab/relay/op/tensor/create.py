"""Operators that create tensors of given values.

Source: `InitOpRel`, `FullRel`, `ArangeRel` of TVM 0.16.
"""

from __future__ import annotations

from math import ceil
from typing import Any as AnyValue

import numpy as np

from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, dtype, integers
from byoc_lab.relay.ir.dims import Any
from byoc_lab.relay.ir.expr import Constant, Expr, const
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.costs import no_flops
from byoc_lab.relay.op.framework.from_relax import RelaxCall, number, reads, relay_call, same
from byoc_lab.relay.op.framework.normalizers import numbers_to_lists
from byoc_lab.relay.op.framework.precision import FOLLOW, NEVER
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op, identity
from byoc_lab.relay.op.framework.relations import NO_DTYPE, Types, fail, tensors
from byoc_lab.relay.op.framework.relax_types import NOT_CONSTANT, dtype_of, scalar

INIT_ATTRS = AttrsType(
    "relay.attrs.InitOpAttrs",
    (
        Attr("shape", integers, REQUIRED, "shape of the result", may_be_none=True),
        Attr("dtype", dtype, NO_DTYPE, "dtype of the result"),
    ),
)


def _constant_value(op: str, make, doc: str, **facts: AnyValue) -> None:
    def relation(attrs: AnyValue) -> Types:
        """A tensor of the attributes' shape and dtype."""
        if not attrs.dtype or attrs.shape is None:
            fail(op, "attributes shape and dtype must be given")
        return (TensorType(attrs.shape, attrs.dtype),)

    define_op(
        op,
        "",
        relation,
        reference=lambda attrs: make(attrs.shape, attrs.dtype),
        attrs=INIT_ATTRS,
        flops=no_flops,
        relax=lambda R, attrs: getattr(R, op)(attrs.shape, attrs.dtype),
        pattern=OpPattern.ELEMWISE,
        defaults={"shape": REQUIRED, "dtype": REQUIRED},
        normalize=numbers_to_lists("shape"),
        **facts,
        arithmetic=Arithmetic.EXACT,
        doc=doc,
    )


_constant_value("zeros", np.zeros, "A tensor of zeros.", mixed_precision=FOLLOW)
_constant_value("ones", np.ones, "A tensor of ones.")


def full_type(attrs: AnyValue, v: TensorType) -> Type:
    """A scalar gives a tensor of the attributes' shape and dtype (default: the scalar's dtype)."""
    if v.shape:
        fail("full", f"fill_value must be a scalar, found {v}")
    if attrs.shape is None:
        fail("full", "attribute shape must be given")
    return TensorType(attrs.shape, attrs.dtype or v.dtype)


define_op(
    "full",
    "fill_value",
    result_type=full_type,
    reference=lambda attrs, v: np.full(attrs.shape, v, attrs.dtype or v.dtype),
    attrs=INIT_ATTRS,
    defaults={"shape": ()},
    normalize=numbers_to_lists("shape"),
    relax=lambda R, attrs, v: R.full(attrs.shape, v, attrs.dtype or None),
    pattern=OpPattern.ELEMWISE,
    doc="A tensor with all elements equal to fill_value.",
    mixed_precision=FOLLOW,
    arithmetic=Arithmetic.COPY,
)


def _like(op: str, make, doc: str) -> None:
    define_op(
        op,
        "data",
        identity,
        reference=lambda attrs, x: make(x),
        flops=no_flops,
        relax=lambda R, attrs, x: getattr(R, op)(x),
        from_relax={op: same},
        pattern=OpPattern.ELEMWISE,
        layout=layout_rules.elementwise,
        arithmetic=Arithmetic.EXACT,
        doc=doc,
    )


_like("zeros_like", np.zeros_like, "A tensor of zeros of the shape and dtype of data.")
_like("ones_like", np.ones_like, "A tensor of ones of the shape and dtype of data.")


def full_like_relation(attrs: AnyValue, data: Type | None, fill_value: Type | None) -> Types:
    """A scalar fill value; the result has the shape and dtype of data."""
    x, v = tensors("full_like", "data fill_value", data, fill_value)
    if v is not None and v.shape:
        fail("full_like", f"fill_value must be a scalar, found {v}")
    return x, v, x


define_op(
    "full_like",
    "data fill_value",
    full_like_relation,
    reference=lambda attrs, x, v: np.full_like(x, v),
    relax=lambda R, attrs, x, v: R.full_like(x, v, dtype_of(x)),
    pattern=OpPattern.ELEMWISE,
    doc="A tensor of the shape and dtype of data with all elements equal to fill_value.",
    arithmetic=Arithmetic.COPY,
)


def scalar_expr(value: AnyValue) -> Expr:
    """The kind of the attributes of `arange`: accepts only Relay expressions."""
    if not isinstance(value, Expr):
        raise TypeError
    return value


def _bound(attrs: AnyValue, name: str) -> AnyValue:
    """The value of a bound of `arange`, or None if it is known only at run time."""
    value = attrs[name]
    return value.numpy().item() if isinstance(value, Constant) else None


def arange_relation(
    attrs: AnyValue, start: Type | None, stop: Type | None, step: Type | None
) -> Types:
    """ceil((stop - start) / step) elements of the attribute's dtype; `?` for unknown bounds."""
    op = "arange"
    for name, ty in zip(("start", "stop", "step"), (start, stop, step), strict=True):
        if isinstance(ty, TensorType) and ty.shape:
            fail(op, f"{name} must be a scalar, found {ty}")
    first, last, by = (_bound(attrs, name) for name in ("start", "stop", "step"))
    if first is None or last is None or by is None:
        return start, stop, step, TensorType((Any(),), attrs.dtype)
    if by == 0:
        fail(op, "step must not be 0")
    length = max(0, ceil((last - first) / by))
    return start, stop, step, TensorType((length,), attrs.dtype)


def arange_reference(
    attrs: AnyValue, start: np.ndarray, stop: np.ndarray, step: np.ndarray
) -> np.ndarray:
    length = max(0, ceil((stop.item() - start.item()) / step.item()))
    return (start + step * np.arange(length)).astype(attrs.dtype)


def _arange_relax(
    R: AnyValue, attrs: AnyValue, start: AnyValue, stop: AnyValue, step: AnyValue
) -> AnyValue:
    first, last, by = (_bound(attrs, name) for name in ("start", "stop", "step"))
    if first is None or last is None or by is None:
        raise BuildError(
            "arange: TVM compiles it with Relax, which requires constant start, stop and step, "
            f"but one of them is {NOT_CONSTANT}"
        )
    length = max(0, ceil((last - first) / by))
    whole = R.astype(R.arange(0, length, 1, "int64"), attrs.dtype)
    return R.add(R.multiply(whole, scalar(by, attrs.dtype)), scalar(first, attrs.dtype))


def _bounds(values: dict[str, AnyValue]) -> dict[str, AnyValue]:
    """Sets the arguments of TVM's function both as arguments and as attributes."""
    start, stop, step, kind = (values[n] for n in ("start", "stop", "step", "dtype"))
    start, stop = (const(0, kind), start) if stop is None else (start, stop)
    step = const(1, kind) if step is None else step
    attributes = {"start": start, "stop": stop, "step": step, "dtype": kind}
    return {**attributes, "first": start, "last": stop, "by": step}


define_op(
    "arange",
    # A builder has one parameter per name, so these attributes have other names than the arguments.
    "first last by",
    arange_relation,
    reference=arange_reference,
    attrs=AttrsType(
        "relay.attrs.ArangeAttrs",
        (
            Attr("start", scalar_expr, doc="a copy of the argument start"),
            Attr("stop", scalar_expr, doc="a copy of the argument stop"),
            Attr("step", scalar_expr, doc="a copy of the argument step"),
            Attr("dtype", dtype, doc="dtype of the result"),
        ),
    ),
    flops=no_flops,
    relax=_arange_relax,
    pattern=OpPattern.OPAQUE,
    shape_from=("first", "last", "by"),
    parameters="start stop step dtype",
    defaults={"stop": None, "step": None, "dtype": "float32"},
    normalize=_bounds,
    doc="start, start + step, ... before stop; arange(n) is 0, 1, ... before n.",
    mixed_precision=NEVER,
)


@reads("full", "full_like")
def _full(call: RelaxCall, shape: AnyValue, value: Expr) -> Expr:
    return relay_call("full", value, shape=call.result, dtype=str(call.dtype))


@reads("ones", "zeros")
def _filled(call: RelaxCall, shape: AnyValue) -> Expr:
    return relay_call(call.name, shape=call.result, dtype=str(call.dtype))


@reads("arange")
def _read_arange(call: RelaxCall, start: AnyValue, stop: AnyValue, step: AnyValue) -> Expr:
    values = [const(number(value), str(call.dtype)) for value in (start, stop, step)]
    return relay_call("arange", *values, dtype=str(call.dtype))
