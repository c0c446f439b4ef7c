"""Operators that join, split and repeat tensors along an axis.

Source: `ConcatenateRel`, `SplitRel`, `RepeatRel` of TVM 0.16.
"""

from __future__ import annotations

from functools import partial
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import (
    REQUIRED,
    Attr,
    AttrsType,
    integer,
    integer_or_integers,
    integers,
)
from byoc_lab.relay.ir.dims import Any, Dim, Unknown
from byoc_lab.relay.ir.expr import Expr, Op, TupleGetItem
from byoc_lab.relay.ir.types import MAX_PARTS, TensorType, TupleType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.from_relax import (
    RelaxCall,
    ints,
    number,
    relay_call,
    renamed,
    same,
)
from byoc_lab.relay.op.framework.precision import FOLLOW
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    Types,
    axis_of,
    differ,
    dim,
    fail,
    is_incomplete,
    need_positive,
    product,
    tensor_fields,
    type_along_axis,
)
from byoc_lab.relay.op.framework.relax_types import fields_of, rank_of, shape_of


def differs_only_along(ty: TensorType, dtype: str, shape: list[Dim], axis: int) -> bool:
    """Whether `ty` has this dtype and shape, except the size of `axis`."""
    if ty.dtype != dtype or len(ty.shape) != len(shape):
        return False
    return not any(
        differ(a, b) for n, (a, b) in enumerate(zip(ty.shape, shape, strict=True)) if n != axis
    )


def concatenate_relation(attrs: AnyValue, data: Type | None) -> Types:
    """A tuple of tensors that differ only on `axis` gives one tensor."""
    op = "concatenate"
    if is_incomplete(data):
        return data, None
    fields = tensor_fields(op, "data", data)
    first = fields[0]
    axis = axis_of(op, attrs.axis, len(first.shape))
    shape = list(first.shape)
    for n, ty in enumerate(fields[1:], start=1):
        if not differs_only_along(ty, first.dtype, shape, axis):
            fail(op, f"field {n} is {ty}; it must be like field 0, {first}, except axis {axis}")
        for i, d in enumerate(ty.shape):
            if i == axis:
                shape[i] = dim(lambda a, b: a + b, shape[i], d)
            elif isinstance(shape[i], Any):
                shape[i] = d
    if not isinstance(shape[axis], Any):
        # As in TVM, an axis that is `?` in one field stays `?` only if the joined axis is `?`.
        open_axes = [any(isinstance(ty.shape[i], Any) for ty in fields) for i in range(len(shape))]
        shape = [Any() if is_open else d for d, is_open in zip(shape, open_axes, strict=True)]
    return data, TensorType(shape, first.dtype)


MAX_JOINED = 64  # maximum number of tensors in one Relax operator


def _concatenate_relax(R: AnyValue, attrs: AnyValue, tensors: AnyValue) -> AnyValue:
    """Join many operands in groups: TVM's kernel nests one selection per operand, which takes
    quadratic time, and overflows the stack with about a thousand operands."""
    return _joined(R, fields_of(tensors), attrs.axis)


def _joined(R: AnyValue, parts: list[AnyValue], axis: int) -> AnyValue:
    while len(parts) > MAX_JOINED:
        parts = [R.concat(group, axis=axis) for group in _groups(parts)]
    return R.concat(parts, axis=axis)


def _groups(parts: list[AnyValue]) -> list[list[AnyValue]]:
    return [parts[n : n + MAX_JOINED] for n in range(0, len(parts), MAX_JOINED)]


def _concatenate_from_relax(op: Op, call: RelaxCall, parts: list[Expr]) -> Expr:
    axis = call.attrs.axis
    if axis is None:
        parts = [relay_call("reshape", part, (-1,)) for part in parts]
    return relay_call("concatenate", parts, axis=0 if axis is None else int(number(axis)))


define_op(
    "concatenate",
    "data*",
    concatenate_relation,
    from_relax={"concat": _concatenate_from_relax},
    reference=lambda attrs, tensors: np.concatenate(tensors, attrs.axis),
    attrs=AttrsType(
        "relay.attrs.ConcatenateAttrs", (Attr("axis", integer, 0, "axis to join along"),)
    ),
    defaults={"axis": REQUIRED},
    relax=_concatenate_relax,
    pattern=OpPattern.INJECTIVE,
    layout=layout_rules.concatenate,
    doc="Tensors joined along one axis.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.JOIN,
)


def split_type(attrs: AnyValue, x: TensorType) -> Type:
    """A tuple: n equal sections, or the pieces between the indices."""
    op = "split"
    axis = axis_of(op, attrs.axis, len(x.shape))
    length, cuts = x.shape[axis], attrs.indices_or_sections
    sizes: list[Dim]
    if isinstance(cuts, int):
        if cuts >= MAX_PARTS:
            fail(op, f"less than {MAX_PARTS:,} sections are supported, found {cuts:,}")
        if cuts < 1 or (not isinstance(length, Unknown) and length % cuts):
            fail(op, f"axis {axis} of {x} cannot be split into {cuts} equal sections")
        sizes = [dim(lambda n: n // cuts, length)] * cuts
    else:
        bounds = zip((0, *cuts), (*cuts, length), strict=True)
        sizes = [dim(lambda a, b: b - a, a, b) for a, b in bounds]
        if any(not isinstance(s, Unknown) and s < 0 for s in sizes):
            fail(
                op,
                f"indices {list(cuts)} must be ascending and at most {length}, the size of axis "
                f"{axis} of {x}",
            )
    shapes = [(*x.shape[:axis], s, *x.shape[axis + 1 :]) for s in sizes]
    return TupleType([TensorType(s, x.dtype) for s in shapes])


def _parts(cuts: AnyValue) -> int:
    return cuts if isinstance(cuts, int) else len(cuts) + 1


def _split_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    """Split into many parts in groups, as `_concatenate_relax`."""
    from tvm import relax

    cuts, axis = attrs.indices_or_sections, attrs.axis % rank_of(x)
    count = _parts(cuts)
    if count == 1:  # for one part, Relax returns no tuple
        return relax.Tuple([x])
    if count <= MAX_JOINED:
        return R.split(x, cuts if isinstance(cuts, int) else list(cuts), axis)
    length = shape_of(x)[axis]
    if isinstance(cuts, int):
        bounds = [n * (length // cuts) for n in range(cuts + 1)]
    else:
        bounds = [0, *cuts, length]
    emit, parts = relax.BlockBuilder.current().emit, []
    for n in range(0, count, MAX_JOINED):
        start, *inner = bounds[n : n + MAX_JOINED + 1]
        piece = emit(R.strided_slice(x, [axis], [start], [inner[-1]]))
        if len(inner) == 1:
            parts.append(piece)
        else:
            parts += fields_of(emit(R.split(piece, [cut - start for cut in inner[:-1]], axis)))
    return relax.Tuple(parts)


def _split_from_relax(op: Op, call: RelaxCall, x: Expr) -> list[Expr]:
    attrs, where = call.attrs, call.attrs.indices_or_sections
    cuts = ints(where)
    axis = int(attrs.axis) % call.rank
    sections = None
    if not hasattr(where, "__iter__"):  # a number of parts; the last may be smaller
        sections = cuts[0] if call.shape[axis] % cuts[0] == 0 else None
        size = -(-call.shape[axis] // cuts[0])
        cuts = list(range(size, call.shape[axis], size))
    if not cuts:
        return [x]
    made = relay_call("split", x, indices_or_sections=sections or cuts, axis=axis)
    return [TupleGetItem(made, n) for n in range(len(cuts) + 1)]


define_op(
    "split",
    "data",
    result_type=split_type,
    from_relax={"split": _split_from_relax},
    reference=lambda attrs, x: tuple(np.split(x, attrs.indices_or_sections, attrs.axis)),
    attrs=AttrsType(
        "relay.attrs.SplitAttrs",
        (
            Attr(
                "indices_or_sections",
                integer_or_integers,
                doc="number of equal parts, or the indices to split at",
            ),
            Attr("axis", integer, 0, "axis to split"),
        ),
    ),
    relax=_split_relax,
    pattern=OpPattern.INJECTIVE,
    results=lambda call: _parts(call.attrs.indices_or_sections),
    layout=layout_rules.split,
    doc="data split along one axis; a tuple of the parts.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.SPLIT,
    qat=True,
)


def repeat_type(attrs: AnyValue, x: TensorType) -> Type:
    """Each element `repeats` times along `axis`; without axis the data is flattened."""
    op = "repeat"
    need_positive(op, attrs, "repeats")
    if attrs.axis is None:
        return TensorType((product((*x.shape, attrs.repeats)),), x.dtype)
    axis = axis_of(op, attrs.axis, len(x.shape))
    longer = dim(lambda n: n * attrs.repeats, x.shape[axis])
    return TensorType((*x.shape[:axis], longer, *x.shape[axis + 1 :]), x.dtype)


def _repeat_from_relax(op: Op, call: RelaxCall, x: Expr) -> Expr:
    attrs = call.attrs
    if attrs.axis is None:
        x = relay_call("reshape", x, (-1,))
    axis = 0 if attrs.axis is None else int(number(attrs.axis))
    return relay_call("repeat", x, repeats=int(attrs.repeats), axis=axis)


define_op(
    "repeat",
    "data",
    result_type=repeat_type,
    from_relax={"repeat": _repeat_from_relax},
    reference=lambda attrs, x: np.repeat(x, attrs.repeats, attrs.axis),
    attrs=AttrsType(
        "relay.attrs.RepeatAttrs",
        (
            Attr("repeats", integer, doc="number of copies of each element"),
            Attr("axis", integer, None, "axis to repeat along; None: the flattened data"),
        ),
    ),
    defaults={"axis": REQUIRED},
    relax=lambda R, attrs, x: R.repeat(x, attrs.repeats, attrs.axis),
    pattern=OpPattern.BROADCAST,
    doc="data with each element repeated along one axis.",
    arithmetic=Arithmetic.COPY,
)


def stack_relation(attrs: AnyValue, data: Type | None) -> Types:
    """n tensors of one type give one tensor with a new axis of size n."""
    op = "stack"
    if is_incomplete(data):
        return data, None
    first, *others = fields = tensor_fields(op, "data", data)
    for n, ty in enumerate(others, start=1):
        if not differs_only_along(ty, first.dtype, list(first.shape), -1):
            fail(op, f"field {n} is {ty}; it must be like field 0, {first}")
    at = axis_of(op, attrs.axis, len(first.shape) + 1)
    shape = (*first.shape[:at], len(fields), *first.shape[at:])
    return data, TensorType(shape, first.dtype)


def _stack_relax(R: AnyValue, attrs: AnyValue, tensors: AnyValue) -> AnyValue:
    """Stack many operands in groups, as `_concatenate_relax`."""
    groups = _groups(fields_of(tensors))
    return _joined(R, [R.stack(group, axis=attrs.axis) for group in groups], attrs.axis)


define_op(
    "stack",
    "data*",
    stack_relation,
    from_relax={"stack": renamed(axis=lambda attrs: attrs.axis or 0)},
    reference=lambda attrs, tensors: np.stack(tensors, attrs.axis),
    attrs=AttrsType(
        "relay.attrs.StackAttrs", (Attr("axis", integer, 0, "position of the new axis"),)
    ),
    defaults={"axis": REQUIRED},
    relax=_stack_relax,
    pattern=OpPattern.INJECTIVE,
    doc="Tensors of one type joined along a new axis.",
)


def _tiled(shape: AnyValue, reps: AnyValue) -> tuple[tuple[Dim, ...], tuple[int, ...]]:
    """`shape` and `reps`, the shorter one extended by leading ones."""
    rank = max(len(shape), len(reps))
    return (1,) * (rank - len(shape)) + tuple(shape), (1,) * (rank - len(reps)) + tuple(reps)


def _times(length: Dim, reps: int) -> Dim:
    """The size of a repeated axis; `?` for a symbolic size, as in TVM."""
    return Any() if isinstance(length, Unknown) else length * reps


def tile_type(attrs: AnyValue, x: TensorType) -> Type:
    """Each axis times `reps`; the shorter of the two lists gets leading ones."""
    op = "tile"
    if not attrs.reps or min(attrs.reps) < 1:
        fail(op, f"attribute reps must hold positive numbers, found {list(attrs.reps)}")
    pairs = zip(*_tiled(x.shape, attrs.reps), strict=True)
    return TensorType([_times(d, r) for d, r in pairs], x.dtype)


define_op(
    "tile",
    "data",
    result_type=tile_type,
    reference=lambda attrs, x: np.tile(x, attrs.reps),
    attrs=AttrsType(
        "relay.attrs.TileAttrs", (Attr("reps", integers, doc="number of copies, per axis"),)
    ),
    relax=lambda R, attrs, x: R.tile(x, list(attrs.reps)),
    pattern=OpPattern.BROADCAST,
    doc="data repeated as a whole along each axis.",
    mixed_precision=FOLLOW,
    from_relax={"tile": renamed(reps="repeats")},
    arithmetic=Arithmetic.COPY,
)


define_op(
    "reverse",
    "data",
    result_type=partial(type_along_axis, "reverse"),
    reference=lambda attrs, x: np.flip(x, attrs.axis).copy(),
    attrs=AttrsType("relay.attrs.ReverseAttrs", (Attr("axis", integer, doc="axis to reverse"),)),
    relax=lambda R, attrs, x: R.flip(x, attrs.axis),
    pattern=OpPattern.INJECTIVE,
    doc="data in reverse order along one axis.",
    from_relax={"flip": same},
)
