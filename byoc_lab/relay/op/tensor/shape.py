"""Operators that change only the shape: expand_dims, squeeze, reshape, transpose, ...

Source: src/relay/op/tensor/transform.cc of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, boolean, integer, integers
from byoc_lab.relay.ir.dims import Dim, Unknown
from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.from_relax import RelaxCall, ints, relay_call, same
from byoc_lab.relay.op.framework.namespace import function
from byoc_lab.relay.op.framework.normalizers import numbers_to_lists
from byoc_lab.relay.op.framework.precision import FOLLOW
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import axes_of, axis_of, differ, dim, fail, product
from byoc_lab.relay.op.framework.relax_types import rank_of, shape_of

# expand_dims, squeeze -----------------------------------------------------------------------------


MAX_RANK = 1000
"""The maximum rank of a result of expand_dims; NumPy supports at most 64 dimensions."""


def expand_dims_type(attrs: AnyValue, x: TensorType) -> Type:
    """`num_newaxis` dimensions of 1 before `axis`; axis -1 is after the last."""
    if not 0 <= attrs.num_newaxis <= MAX_RANK:
        fail(
            "expand_dims",
            f"attribute num_newaxis must be in [0, {MAX_RANK}], found {attrs.num_newaxis}",
        )
    at = axis_of("expand_dims", attrs.axis, len(x.shape) + 1)
    shape = (*x.shape[:at], *[1] * attrs.num_newaxis, *x.shape[at:])
    return TensorType(shape, x.dtype)


def expand_dims_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    at = attrs.axis % (x.ndim + 1)
    return x.reshape(*x.shape[:at], *[1] * attrs.num_newaxis, *x.shape[at:])


def _expand_dims_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    at = attrs.axis % (rank_of(x) + 1)
    return R.expand_dims(x, list(range(at, at + attrs.num_newaxis)))


def _expand_dims_from_relax(op: Op, call: RelaxCall, x: Expr) -> Expr:
    assert call.result is not None
    for axis in sorted(axis % len(call.result) for axis in ints(call.attrs.axis)):
        x = relay_call("expand_dims", x, axis=axis)
    return x


define_op(
    "expand_dims",
    "data",
    result_type=expand_dims_type,
    from_relax={"expand_dims": _expand_dims_from_relax},
    reference=expand_dims_reference,
    attrs=AttrsType(
        "relay.attrs.ExpandDimsAttrs",
        (
            Attr("axis", integer, doc="position of the new axes; -1: last"),
            Attr("num_newaxis", integer, 1, "number of new axes"),
        ),
    ),
    relax=_expand_dims_relax,
    pattern=OpPattern.BROADCAST,
    doc="data with new axes of size 1.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.SAME,
    qat=True,
    arithmetic=Arithmetic.COPY,
)


def squeeze_type(attrs: AnyValue, x: TensorType) -> Type:
    """data without the given axes; by default without all axes of size 1."""
    op = "squeeze"
    if attrs.axis is None:
        if not x.is_static:
            fail(op, f"attribute axis must be given for data with `?` dimensions, found {x}")
        return TensorType([d for d in x.shape if d != 1], x.dtype)
    axes = axes_of(op, attrs.axis, len(x.shape))
    for a in axes:
        if differ(x.shape[a], 1):
            fail(op, f"only axes of size 1 can be dropped, found {x.shape[a]} at {a} of {x}")
    return TensorType([d for n, d in enumerate(x.shape) if n not in axes], x.dtype)


define_op(
    "squeeze",
    "data",
    result_type=squeeze_type,
    reference=lambda attrs, x: np.squeeze(x, attrs.axis),
    attrs=AttrsType(
        "relay.attrs.SqueezeAttrs",
        (Attr("axis", integers, None, "axes to drop; None: all of size 1"),),
    ),
    normalize=numbers_to_lists("axis"),
    relax=lambda R, attrs, x: R.squeeze(x, None if attrs.axis is None else list(attrs.axis)),
    pattern=OpPattern.INJECTIVE,
    layout=layout_rules.squeeze,
    doc="data without axes of size 1.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.SAME,
    qat=True,
    from_relax={"squeeze": same},
)

# reshape, batch_flatten, transpose ----------------------------------------------------------------


def reshaped(
    shape: Sequence[Dim], newshape: Sequence[int], allowzero: bool = False
) -> tuple[Dim, ...]:
    """The result shape for `newshape` and data of `shape`. Special values in newshape:

    0: the dimension of the data at this position (a real 0 with `allowzero`);
    -1: the remaining elements (at most once); -2: all remaining dimensions;
    -3: the product of the next two; -4, a, b: the next one split into a and b (one may be -1).

    Raises TypeInferenceError when the numbers of elements differ.
    """
    op = "reshape"
    out: list[Dim] = []
    source, target = list(shape), list(newshape)
    # Copied dimensions of the data, which cancel when element counts are compared.
    used: set[int] = set()
    explicit: list[int] = []
    at, n, inferred = 0, 0, None

    def take() -> Dim:
        nonlocal at
        if at >= len(source):
            fail(op, f"newshape={target} has more dimensions than {tuple(shape)} has")
        used.add(at)
        at += 1
        return source[at - 1]

    while n < len(target):
        value = target[n]
        if value > 0 or (value == 0 and allowzero):
            out.append(value)
            explicit.append(value)
            at += 1
        elif value == 0:
            out.append(take())
        elif value == -1:
            if inferred is not None:
                fail(op, f"newshape={target} has more than one -1")
            inferred = len(out)
            out.append(1)
            at += 1
        elif value == -2:
            while at < len(source):
                out.append(take())
        elif value == -3:
            out.append(product((take(), take())))
        elif value == -4:
            if n + 2 >= len(target):
                fail(op, f"newshape={target}: -4 must be followed by two numbers")
            out += _split_dim(take(), target[n + 1], target[n + 2], target)
            n += 2
        else:
            fail(op, f"newshape={target}: {value} is invalid")
        n += 1
    left = product(d for i, d in enumerate(source) if i not in used)
    given = prod(explicit)
    empty = any(source[i] == 0 for i in used)  # no elements, whatever the other dimensions are
    if inferred is not None:
        if not isinstance(left, Unknown) and (given == 0 or (left % given and not empty)):
            fail(
                op,
                f"{tuple(shape)} cannot be reshaped to {target}: {left} elements are not "
                f"divisible by {given}",
            )
        out[inferred] = dim(lambda total: total // given, left)
    elif differ(left, given) and not empty:
        fail(op, f"{tuple(shape)} cannot be reshaped to {target}: the numbers of elements differ")
    return tuple(out)


def _split_dim(whole: Dim, a: int, b: int, target: list[int]) -> list[Dim]:
    """The two dimensions that -4, a, b split `whole` into."""
    if a == -1 and b == -1:
        fail("reshape", f"newshape={target}: at most one of the two numbers after -4 may be -1")
    factor = b if a == -1 else a
    if factor < 1 or (not isinstance(whole, Unknown) and whole % factor):
        fail("reshape", f"newshape={target}: {whole} is not divisible by {factor}")
    other = dim(lambda total: total // factor, whole)
    if -1 not in (a, b) and differ(other, b):
        fail("reshape", f"newshape={target}: {whole} is not {a} * {b}")
    return [other, b] if a == -1 else [a, other if b == -1 else b]


def reshape_type(attrs: AnyValue, x: TensorType) -> Type:
    """data in the shape that `reshaped` gives."""
    return TensorType(reshaped(x.shape, attrs.newshape, attrs.allowzero), x.dtype)


def _reshape_from_relax(op: Op, call: RelaxCall, x: Expr, shape: AnyValue = None) -> Expr:
    return relay_call("reshape", x, call.result)


define_op(
    "reshape",
    "data",
    result_type=reshape_type,
    from_relax={"reshape": _reshape_from_relax, "flatten": _reshape_from_relax},
    reference=lambda attrs, x: x.reshape(reshaped(x.shape, attrs.newshape, attrs.allowzero)),
    attrs=AttrsType(
        "relay.attrs.ReshapeAttrs",
        (
            Attr("newshape", integers, doc="dimensions of the result"),
            Attr("allowzero", boolean, False, "whether 0 is a dimension of size 0"),
        ),
    ),
    normalize=numbers_to_lists("newshape"),
    relax=lambda R, attrs, x: R.reshape(x, reshaped(shape_of(x), attrs.newshape, attrs.allowzero)),
    pattern=OpPattern.INJECTIVE,
    doc="The same elements in another shape. In newshape 0 copies a dimension, -1 is inferred, -2 "
    "copies all remaining dimensions, -3 merges two, and -4, a, b splits one into a and b.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.SAME,
    qat=True,
)


def reshaped_to(data: Expr, shape: Sequence[Dim]) -> Expr:
    """`data` reshaped to exactly this shape; one dimension may be -1. A 0 means size 0, not a
    copied dimension."""
    return function("reshape")(data, list(shape), allowzero=0 in shape)


def flattened_to(data: Expr, leading: Sequence[Dim], *rest: Dim) -> Expr:
    """`data` of shape (*leading, *rest) with its leading dimensions merged into one. It is -1 in
    the reshape, unless `rest` has no elements, so that it cannot be inferred."""
    known = [d for d in leading if not isinstance(d, Unknown)]
    rows = prod(known) if 0 in rest and len(known) == len(leading) else -1
    return reshaped_to(data, [rows, *rest])


def batch_flatten_type(attrs: AnyValue, x: TensorType) -> Type:
    """data (N, d1, d2, ...) gives (N, d1 * d2 * ...)."""
    if not x.shape:
        fail("nn.batch_flatten", f"data must have at least one dimension, found {x}")
    return TensorType((x.shape[0], product(x.shape[1:])), x.dtype)


define_op(
    "nn.batch_flatten",
    "data",
    result_type=batch_flatten_type,
    reference=lambda attrs, x: x.reshape(x.shape[0], int(np.prod(x.shape[1:]))),
    in_relax=("reshape",),
    relax=lambda R, attrs, x: R.reshape(x, (shape_of(x)[0], prod(shape_of(x)[1:]))),
    pattern=OpPattern.INJECTIVE,
    doc="data with all axes except the first flattened into one.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.SAME,
    qat=True,
)


def transpose_type(attrs: AnyValue, x: TensorType) -> Type:
    """result.shape[i] = data.shape[axes[i]]; without axes the order is reversed."""
    rank = len(x.shape)
    axes = axes_of("transpose", attrs.axes or range(rank)[::-1], rank)
    if len(axes) != rank:
        fail("transpose", f"attribute axes must name all {rank} axes, found {list(attrs.axes)}")
    return TensorType([x.shape[a] for a in axes], x.dtype)


define_op(
    "transpose",
    "data",
    result_type=transpose_type,
    reference=lambda attrs, x: np.transpose(x, attrs.axes or None),
    attrs=AttrsType(
        "relay.attrs.TransposeAttrs",
        (Attr("axes", integers, REQUIRED, "order of the axes; None: reversed", may_be_none=True),),
    ),
    relax=lambda R, attrs, x: R.permute_dims(x, list(attrs.axes) if attrs.axes else None),
    pattern=OpPattern.INJECTIVE,
    layout=layout_rules.transpose,
    doc="data with its axes permuted.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.SAME,
    qat=True,
    from_relax={"permute_dims": same},
)

# reshape_like -------------------------------------------------------------------------------------


def reshaped_like(attrs: AnyValue, shape: Sequence[Dim], like: Sequence[Dim]):
    """`shape` with axes lhs_begin to lhs_end replaced by axes rhs_begin to rhs_end of `like`."""

    def part(rank: int, begin: int, end: int | None) -> tuple[int, int]:
        first = begin + rank if begin < 0 else begin
        last = rank if end is None else end + rank if end < 0 else end
        if not 0 <= first <= last <= rank:
            fail("reshape_like", f"axes {begin} to {end} are not among the {rank} axes")
        return first, last

    first, last = part(len(shape), attrs.lhs_begin, attrs.lhs_end)
    begin, end = part(len(like), attrs.rhs_begin, attrs.rhs_end)
    result = (*shape[:first], *like[begin:end], *shape[last:])
    if differ(product(shape), product(result)):
        fail(
            "reshape_like",
            f"{tuple(shape)} cannot be reshaped to {result}: the numbers of elements differ",
        )
    return result


def reshape_like_type(attrs: AnyValue, x: TensorType, like: TensorType) -> Type:
    """data in the shape that `reshaped_like` gives."""
    return TensorType(reshaped_like(attrs, x.shape, like.shape), x.dtype)


define_op(
    "reshape_like",
    "data shape_like",
    result_type=reshape_like_type,
    reference=lambda attrs, x, like: x.reshape(reshaped_like(attrs, x.shape, like.shape)),
    attrs=AttrsType(
        "relay.attrs.ReshapeLikeAttrs",
        (
            Attr("lhs_begin", integer, 0, "first axis of data that is replaced"),
            Attr("lhs_end", integer, None, "end of these axes; None: all later ones"),
            Attr("rhs_begin", integer, 0, "first axis of shape_like that replaces it"),
            Attr("rhs_end", integer, None, "end of these axes; None: all later ones"),
        ),
    ),
    in_relax=("reshape",),
    relax=lambda R, attrs, x, like: R.reshape(x, reshaped_like(attrs, shape_of(x), shape_of(like))),
    pattern=OpPattern.INJECTIVE,
    doc="The same elements in the shape of another tensor, or with some axes of it.",
)
