"""Operators that reduce axes, sort, and scan."""

from __future__ import annotations

from typing import Any

from byoc_lab.importers.relax.table import converts
from byoc_lab.relay.ir.expr import Expr, TupleGetItem
from byoc_lab.relay.op.framework.from_relax import RelaxCall, number, relay_call


@converts("variance")
def _variance(call: RelaxCall, x: Expr) -> Expr:
    axes = call.axes(call.attrs.axis)
    mean = relay_call("mean", x, axis=axes, keepdims=True)
    return relay_call("variance", x, mean, axis=axes, keepdims=bool(call.attrs.keepdims))


@converts("argmax", "argmin")
def _position(call: RelaxCall, x: Expr) -> Expr:
    """Relax's positions are int64, Relay's int32."""
    axis = None if call.attrs.axis is None else int(number(call.attrs.axis))
    found = relay_call(call.name, x, axis=axis, keepdims=bool(call.attrs.keepdims))
    return relay_call("cast", found, dtype=str(call.dtype))


@converts("sort")
def _sort(call: RelaxCall, x: Expr) -> Expr:
    attrs = call.attrs
    return relay_call("sort", x, axis=int(attrs.axis), is_ascend=not attrs.descending)


@converts("argsort")
def _argsort(call: RelaxCall, x: Expr) -> Expr:
    attrs = call.attrs
    return relay_call(
        "argsort",
        x,
        axis=int(attrs.axis),
        is_ascend=not attrs.descending,
        dtype=str(attrs.dtype),
    )


@converts("topk")
def _topk(call: RelaxCall, x: Expr) -> Any:
    attrs = call.attrs
    kind = str(attrs.ret_type)
    found = relay_call(
        "topk",
        x,
        k=int(attrs.k),
        axis=int(attrs.axis),
        ret_type=kind,
        is_ascend=not attrs.largest,
        dtype=str(attrs.dtype),
    )
    return [TupleGetItem(found, 0), TupleGetItem(found, 1)] if kind == "both" else found
