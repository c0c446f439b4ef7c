"""Activations that are not element-wise or have parameters: softmax, prelu, dropout.

Source: src/relay/op/nn/nn.cc of TVM 0.16.
"""

from __future__ import annotations

from functools import partial
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, integer, number
from byoc_lab.relay.ir.expr import Expr, Op, TupleGetItem
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.arrays import broadcast_along
from byoc_lab.relay.op.framework.costs import per_element
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.from_relax import RelaxCall, reads, relay_call, same
from byoc_lab.relay.op.framework.namespace import builds
from byoc_lab.relay.op.framework.precision import FOLLOW, NEVER
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, builder, define_op
from byoc_lab.relay.op.framework.relations import Types, axis_of, tensors, type_along_axis

SOFTMAX_ATTRS = AttrsType(
    "relay.attrs.SoftmaxAttrs",
    (Attr("axis", integer, -1, "axis along which the result sums to 1"),),
)


def log_softmax_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    shifted = x - x.max(axis=attrs.axis, keepdims=True)  # so that exp cannot overflow
    return shifted - np.log(np.exp(shifted).sum(axis=attrs.axis, keepdims=True))


def softmax_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(axis=attrs.axis, keepdims=True))
    return powers / powers.sum(axis=attrs.axis, keepdims=True)


def define_softmax(op: str, note: str = "", **facts: AnyValue) -> None:
    """Define a softmax; `note` ends its description."""
    define_op(
        op,
        "data",
        result_type=partial(type_along_axis, op),
        reference=softmax_reference,
        attrs=SOFTMAX_ATTRS,
        flops=per_element(5),
        relax=lambda R, attrs, x: R.nn.softmax(x, axis=attrs.axis),
        arithmetic=Arithmetic.SOFTMAX,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        doc=f"out = exp(data) / sum of exp(data) over one axis{note}.",
        **facts,
    )


define_softmax(
    "nn.softmax",
    mixed_precision=NEVER,
    fake_quantized=FakeQuantized.SOFTMAX,
    from_relax={"nn.softmax": same},
)
define_op(
    "nn.log_softmax",
    "data",
    result_type=partial(type_along_axis, "nn.log_softmax"),
    arithmetic=Arithmetic.LOG_SOFTMAX,
    reference=log_softmax_reference,
    attrs=SOFTMAX_ATTRS,
    flops=per_element(5),
    relax=lambda R, attrs, x: R.nn.log_softmax(x, axis=attrs.axis),
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    doc="out = data - log(sum of exp(data) over one axis).",
    from_relax={"nn.log_softmax": same},
)


def prelu_relation(attrs: AnyValue, data: Type | None, alpha: Type | None) -> Types:
    """alpha is a vector (C,) for `axis` of data; the result has the type of data."""
    x, a = tensors("nn.prelu", "data alpha", data, alpha)
    if x is None:
        return None, a, None
    axis = axis_of("nn.prelu", attrs.axis, len(x.shape))
    return x, TensorType((x.shape[axis],), x.dtype), x


def _prelu_from_relax(op: Op, call: RelaxCall, x: Expr, alpha: Expr) -> Expr:
    """Relax takes a single alpha for all channels, too."""
    channels = call.shape[int(call.attrs.axis)]
    if call.shapes[1] == (1,) and channels > 1:
        alpha = relay_call("broadcast_to", alpha, shape=(channels,))
    return same(op, call, x, alpha)


define_op(
    "nn.prelu",
    "data alpha",
    prelu_relation,
    reference=lambda attrs, x, a: np.where(x > 0, x, x * broadcast_along(a, attrs.axis, x.ndim)),
    attrs=AttrsType(
        "relay.attrs.PReluAttrs",
        (Attr("axis", integer, 1, "axis of data that alpha is broadcast along"),),
    ),
    flops=per_element(2),
    relax=lambda R, attrs, x, a: R.nn.prelu(x, a, axis=attrs.axis),
    pattern=OpPattern.BROADCAST,
    layout=layout_rules.fixed("? C", "?"),
    doc="out = data where data > 0, alpha * data elsewhere; one alpha per channel.",
    mixed_precision=FOLLOW,
    arithmetic=Arithmetic.LEAKY_RELU,
    from_relax={"nn.prelu": _prelu_from_relax},
)


def dropout_type(attrs: AnyValue, x: TensorType) -> Type:
    """The results, data and mask, have the type of data."""
    return TupleType((x, x))


def _dropout_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    from tvm import relax

    return relax.Tuple([x, R.ones_like(x)])


DROPOUT = define_op(
    "nn.dropout",
    "data",
    result_type=dropout_type,
    reference=lambda attrs, x: (x, np.ones_like(x)),
    attrs=AttrsType(
        "relay.attrs.DropoutAttrs",
        (
            Attr(
                "rate",
                number,
                0.5,
                "fraction of elements dropped in training; inference ignores it",
            ),
        ),
    ),
    relax=_dropout_relax,
    results=2,
    stateful=True,
    layout=layout_rules.elementwise_pair,
    doc="In inference (data, a mask of ones); the Python function returns field 0.",
    mixed_precision=FOLLOW,
    arithmetic=Arithmetic.COPY,
)


@builds("nn.dropout", defaults_of="nn.dropout")
def dropout(data: Expr, rate: float) -> TupleGetItem:
    """The data field of `nn.dropout(data)`, as TVM's builder returns it."""
    return builder(DROPOUT)(data, rate)[0]


@builds("nn.dropout_raw", defaults_of="nn.dropout")
def dropout_raw(data: Expr, rate: float) -> Expr:
    """`nn.dropout(data)` itself: the tuple of data and mask."""
    return builder(DROPOUT)(data, rate).tuple_value


@reads("nn.dropout")
def _read_dropout(call: RelaxCall, x: Expr) -> list[Expr]:
    made = relay_call("nn.dropout", x, rate=float(call.attrs.rate))
    return [made, relay_call("ones_like", x)]
