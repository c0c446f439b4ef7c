"""Convolutions, products, pooling, normalisation."""

from __future__ import annotations

from math import prod

import numpy as np

from byoc_lab.importers.relax.table import converts
from byoc_lab.relay.ir.expr import Call, Constant, Expr, const
from byoc_lab.relay.op.framework.from_relax import RelaxCall, ints, number, plain, relay_call


@converts("matmul")
def _matmul(call: RelaxCall, a: Expr, b: Expr) -> Expr:
    """As NumPy multiplies: vectors get an axis, stacks broadcast."""
    left, right = call.shapes
    assert left is not None and right is not None and call.result is not None
    dtype = str(call.dtype)
    if len(left) > 1 and len(right) == 2:
        if isinstance(b, Call) and b.is_op("transpose"):  # a linear layer
            return dense(call, a, b)
        rows = relay_call("reshape", a, (-1, left[-1])) if len(left) > 2 else a
        product = relay_call("nn.matmul", rows, b, units=right[1], out_dtype=dtype)
        return relay_call("reshape", product, call.result) if len(left) > 2 else product
    if len(left) == 1:
        a, left = relay_call("expand_dims", a, axis=0), (1, *left)
    if len(right) == 1:
        b, right = relay_call("expand_dims", b, axis=1), (*right, 1)
    stack = np.broadcast_shapes(left[:-2], right[:-2])
    flat = []
    for x, shape in ((a, left), (b, right)):
        if shape[:-2] != stack:
            x = relay_call("broadcast_to", x, shape=(*stack, *shape[-2:]))
        flat.append(relay_call("reshape", x, (prod(stack), *shape[-2:])))
    product = relay_call(
        "nn.batch_matmul", *flat, transpose_a=False, transpose_b=False, out_dtype=dtype
    )
    return relay_call("reshape", product, call.result)


def dense(call: RelaxCall, data: Expr, matrix: Expr) -> Expr:
    """A product with a matrix as nn.dense. Its weight is the transpose of the matrix: the operand
    of a transpose, and of a constant another constant."""
    if isinstance(matrix, Constant):
        weight: Expr = const(np.ascontiguousarray(matrix.numpy().T), matrix.data.dtype)
    elif isinstance(matrix, Call) and matrix.is_op("transpose") and _exchanges(matrix):
        weight = matrix.args[0]
    else:
        weight = relay_call("transpose", matrix, (1, 0))
    return relay_call("nn.dense", data, weight, out_dtype=plain(call.attrs.out_dtype) or "")


def _exchanges(transpose: Call) -> bool:
    axes = transpose.attrs.axes
    return axes is None or [axis % 2 for axis in axes] == [1, 0]


@converts("nn.layer_norm")
def _layer_norm(call: RelaxCall, data: Expr, gamma: Expr, beta: Expr) -> Expr:
    attrs = call.attrs
    axes = call.axes(attrs.axes)
    last = list(range(call.rank - len(axes), call.rank))
    if axes != last:
        raise call.error(f"Relay normalises the last axes, found axes {axes} of {call.rank}")
    rows = data
    if len(axes) > 1:  # together they are one axis
        size = prod(call.shape[axis] for axis in axes)
        rows = relay_call("reshape", data, (*call.shape[: -len(axes)], size))
        gamma, beta = (relay_call("reshape", x, (size,)) for x in (gamma, beta))
    made = relay_call(
        "nn.layer_norm",
        rows,
        gamma,
        beta,
        epsilon=float(attrs.epsilon),
        center=bool(attrs.center),
        scale=bool(attrs.scale),
    )
    return relay_call("reshape", made, call.shape) if len(axes) > 1 else made


@converts("nn.group_norm", "nn.instance_norm")
def _grouped_norm(call: RelaxCall, data: Expr, gamma: Expr, beta: Expr) -> Expr:
    attrs = call.attrs
    channels = int(attrs.channel_axis) % call.rank
    axes = call.axes(attrs.axes)
    if axes != [n for n in range(1, call.rank) if n != channels]:
        raise call.error(
            f"Relay normalises all axes but the batch and the channels ({channels}), found {axes}"
        )
    more = {"num_groups": int(attrs.num_groups)} if call.name == "nn.group_norm" else {}
    return relay_call(
        call.name,
        data,
        gamma,
        beta,
        axis=channels,
        epsilon=float(attrs.epsilon),
        center=bool(attrs.center),
        scale=bool(attrs.scale),
        **more,
    )


@converts("nn.pad")
def _pad(call: RelaxCall, x: Expr) -> Expr:
    attrs = call.attrs
    flat = ints(attrs.pad_width)
    widths = list(zip(flat[::2], flat[1::2], strict=True))
    mode = {"replicate": "edge"}.get(str(attrs.pad_mode), str(attrs.pad_mode))
    if mode not in ("constant", "edge", "reflect"):
        raise call.error(f"Relay pads by constant, edge or reflect, found pad_mode={mode!r}")
    value = float(number(attrs.pad_value))
    return relay_call("nn.pad", x, pad_width=widths, pad_value=value, pad_mode=mode)


@converts("nn.dropout")
def _dropout(call: RelaxCall, x: Expr) -> list[Expr]:
    made = relay_call("nn.dropout", x, rate=float(call.attrs.rate))
    return [made, relay_call("ones_like", x)]
