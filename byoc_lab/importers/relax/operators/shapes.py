"""Operators that move, pick and repeat elements, and those that make tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.relax.table import converts
from byoc_lab.relay.ir.expr import Expr, TupleGetItem
from byoc_lab.relay.op.framework.from_relax import RelaxCall, ints, number, relay_call


@converts("reshape", "flatten")
def _reshape(call: RelaxCall, x: Expr, shape: Any = None) -> Expr:
    return relay_call("reshape", x, call.result)


@converts("broadcast_to")
def _broadcast_to(call: RelaxCall, x: Expr, shape: Any) -> Expr:
    return relay_call("broadcast_to", x, shape=call.result)


@converts("expand_dims")
def _expand_dims(call: RelaxCall, x: Expr) -> Expr:
    assert call.result is not None
    for axis in sorted(axis % len(call.result) for axis in ints(call.attrs.axis)):
        x = relay_call("expand_dims", x, axis=axis)
    return x


@converts("concat")
def _concat(call: RelaxCall, parts: list[Expr]) -> Expr:
    axis = call.attrs.axis
    if axis is None:
        parts = [relay_call("reshape", part, (-1,)) for part in parts]
    return relay_call("concatenate", parts, axis=0 if axis is None else int(number(axis)))


@converts("stack")
def _stack(call: RelaxCall, parts: list[Expr]) -> Expr:
    axis = call.attrs.axis
    return relay_call("stack", parts, axis=0 if axis is None else int(number(axis)))


@converts("split")
def _split(call: RelaxCall, x: Expr) -> list[Expr]:
    attrs, where = call.attrs, call.attrs.indices_or_sections
    cuts = ints(where)
    axis = int(attrs.axis) % call.rank
    sections = None
    if not hasattr(where, "__iter__"):  # a number of parts, the last of which may be smaller
        sections = cuts[0] if call.shape[axis] % cuts[0] == 0 else None
        size = -(-call.shape[axis] // cuts[0])
        cuts = list(range(size, call.shape[axis], size))
    if not cuts:
        return [x]
    made = relay_call("split", x, indices_or_sections=sections or cuts, axis=axis)
    return [TupleGetItem(made, n) for n in range(len(cuts) + 1)]


@converts("strided_slice")
def _strided_slice(
    call: RelaxCall, x: Expr, axes: Any, begin: Any, end: Any, strides: Any = None
) -> Expr:
    return relay_call(
        "strided_slice",
        x,
        begin=ints(begin),
        end=_ends(call, ints(axes), ints(begin), ints(end), strides),
        strides=[1] * len(ints(axes)) if strides is None else ints(strides),
        axes=ints(axes),
    )


def _ends(
    call: RelaxCall, axes: list[int], begin: list[int], end: list[int], strides: Any
) -> list[int]:
    """Going back to the first element ends in front of it: beyond the axis in both languages."""
    steps = [1] * len(axes) if strides is None else ints(strides)
    return [
        -call.shape[axis] - 1 if step < 0 and last < -call.shape[axis] else last
        for axis, last, step in zip(axes, end, steps, strict=True)
    ]


@converts("repeat")
def _repeat(call: RelaxCall, x: Expr) -> Expr:
    attrs = call.attrs
    if attrs.axis is None:
        x = relay_call("reshape", x, (-1,))
    axis = 0 if attrs.axis is None else int(number(attrs.axis))
    return relay_call("repeat", x, repeats=int(attrs.repeats), axis=axis)


@converts("take")
def _take(call: RelaxCall, x: Expr, indices: Expr) -> Expr:
    axis = call.attrs.axis
    return relay_call(
        "take",
        x,
        indices,
        axis=None if axis is None else int(number(axis)),
        mode=str(getattr(call.attrs, "mode", "fast")),
    )


@converts("gather_elements")
def _gather(call: RelaxCall, x: Expr, indices: Expr) -> Expr:
    return relay_call("gather", x, int(call.attrs.axis), indices)


@converts("gather_nd")
def _gather_nd(call: RelaxCall, x: Expr, indices: Expr) -> Expr:
    """A position is along the last axis of Relax's indices, and along the first of Relay's."""
    ranks = call.shapes[1]
    assert ranks is not None
    last = len(ranks) - 1
    turned = relay_call("transpose", indices, axes=(last, *range(last)))
    return relay_call("gather_nd", x, turned, batch_dims=int(call.attrs.batch_dims or 0))


@converts("one_hot")
def _one_hot(call: RelaxCall, indices: Expr, on: Any, off: Any) -> Expr:
    attrs, dtype = call.attrs, str(call.dtype)
    values = [relay.const(number(value), dtype) for value in (on, off)]
    return relay_call(
        "one_hot", indices, *values, depth=int(attrs.depth), axis=int(attrs.axis), dtype=dtype
    )


@converts("tril", "triu")
def _triangle(call: RelaxCall, x: Expr, k: Any = 0) -> Expr:
    offset = relay.const(np.int32(number(k)))
    return relay_call("trilu", x, offset, upper=call.name == "triu")


@converts("full")
def _full(call: RelaxCall, shape: Any, value: Expr) -> Expr:
    return relay_call("full", value, shape=call.result, dtype=str(call.dtype))


@converts("full_like")
def _full_like(call: RelaxCall, x: Expr, value: Expr) -> Expr:
    return relay_call("full", value, shape=call.result, dtype=str(call.dtype))


@converts("ones", "zeros")
def _filled(call: RelaxCall, shape: Any) -> Expr:
    return relay_call(call.name, shape=call.result, dtype=str(call.dtype))


@converts("arange")
def _arange(call: RelaxCall, start: Any, stop: Any, step: Any) -> Expr:
    values = [relay.const(number(value), str(call.dtype)) for value in (start, stop, step)]
    return relay_call("arange", *values, dtype=str(call.dtype))
