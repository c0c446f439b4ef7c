"""Reads the normalizations of Relax."""

from __future__ import annotations

from math import prod

from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.op.framework.from_relax import RelaxCall, relay_call


def layer_norm(op: Op, call: RelaxCall, data: Expr, gamma: Expr, beta: Expr) -> Expr:
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


def grouped_norm(op: Op, call: RelaxCall, data: Expr, gamma: Expr, beta: Expr) -> Expr:
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
