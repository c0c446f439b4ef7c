"""Operators whose result size depends on the data: argwhere, unique.

Source: `ArgWhereRel`, `UniqueRel` of TVM 0.16.
"""

from __future__ import annotations

from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, boolean
from byoc_lab.relay.ir.dims import Any
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.op.framework.costs import comparisons, no_flops
from byoc_lab.relay.op.framework.precision import FOLLOW
from byoc_lab.relay.op.framework.registry import OpPattern, define_op
from byoc_lab.relay.op.framework.relations import need_rank
from byoc_lab.relay.op.framework.relax_types import dtype_of, shape_of


def argwhere_type(attrs: AnyValue, x: TensorType) -> Type:
    """int32; one row for each nonzero element, with its index on every axis."""
    return TensorType((Any(), len(x.shape)), "int32")


define_op(
    "argwhere",
    "condition",
    result_type=argwhere_type,
    reference=lambda attrs, x: np.argwhere(x).astype(np.int32),
    flops=no_flops,
    lacks={"relax": "the size of its result is known only at run time"},
    pattern=OpPattern.OPAQUE,
    shape_from=("condition",),
    doc="The indices of the elements that are not 0.",
    mixed_precision=FOLLOW,
)


def unique_type(attrs: AnyValue, x: TensorType) -> Type:
    """data (n,) gives values, first indices, inverse (all (n,)), number of values (1,), counts.

    values, first indices and counts are valid only up to the number of values.
    """
    need_rank("unique", "data", x, 1)
    indices = TensorType(x.shape, "int32")
    counts = [indices] if attrs.return_counts else []
    return TupleType((x, indices, indices, TensorType((1,), "int32"), *counts))


def unique_reference(attrs: AnyValue, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """The results; elements after the last distinct value are 0."""
    values, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True
    )
    if not attrs.sorted:  # keep the order of first occurrence
        order = np.argsort(first)
        values, first, counts = values[order], first[order], counts[order]
        inverse = np.argsort(order)[inverse]

    def zero_padded(part: np.ndarray, kind: AnyValue = np.int32) -> np.ndarray:
        out = np.zeros(len(x), kind)
        out[: len(part)] = part
        return out

    number = np.array([len(values)], np.int32)
    more = (zero_padded(counts),) if attrs.return_counts else ()
    return zero_padded(values, x.dtype), zero_padded(first), inverse.astype(np.int32), number, *more


def _unique_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    """Compares all pairs, and pads every result to n elements. R.unique is not used: the size of
    its result depends on the data, so later operators could not have static shapes."""
    from tvm import relax

    (n,) = shape_of(x)
    rows, columns = R.reshape(x, (n, 1)), R.reshape(x, (1, n))
    same = R.astype(R.equal(rows, columns), "int32")
    positions = relax.const(np.arange(n, dtype=np.int32))
    first = R.astype(R.argmax(same, axis=1), "int32")  # the first index with the same value
    is_first = R.astype(R.equal(first, positions), "int32")
    if attrs.sorted:
        before = R.astype(R.less(columns, rows), "int32")
    else:
        before = R.astype(
            R.less(relax.const(np.arange(n, dtype=np.int32)[None]), R.reshape(first, (n, 1))),
            "int32",
        )
    inverse = R.sum(R.multiply(before, R.reshape(is_first, (1, n))), axis=1)
    number = R.sum(is_first, axis=0, keepdims=True)
    # Row r of `chosen` is 1 at the first index of the r-th value.
    hits = R.astype(R.equal(R.reshape(inverse, (1, n)), R.reshape(positions, (n, 1))), "int32")
    chosen = R.multiply(hits, R.reshape(is_first, (1, n)))
    at = R.sum(R.multiply(chosen, R.reshape(positions, (1, n))), axis=1)
    real = R.less(positions, number)
    zero = relax.const(np.zeros((), dtype_of(x)))
    values = R.where(real, R.take(x, at, 0), zero)
    counts = (R.sum(hits, axis=1),) if attrs.return_counts else ()
    return relax.Tuple([values, at, inverse, number, *counts])


define_op(
    "unique",
    "data",
    result_type=unique_type,
    reference=unique_reference,
    attrs=AttrsType(
        "relay.attrs.UniqueAttrs",
        (
            Attr(
                "sorted",
                boolean,
                True,
                "True: values are sorted; False: in order of first occurrence",
            ),
            Attr(
                "return_counts",
                boolean,
                False,
                "whether to return the count of each value as a fifth result",
            ),
        ),
    ),
    attrs_key="",
    flops=lambda attrs, args, result: comparisons(prod(args[0].shape), prod(args[0].shape)),
    relax=_unique_relax,
    pattern=OpPattern.OPAQUE,
    results=lambda call: 5 if call.attrs.return_counts else 4,
    parameters="data is_sorted=sorted return_counts",
    doc="The distinct values, the first index of each, the index of its value for each element, "
    "the number of values, the count of each.",
)
