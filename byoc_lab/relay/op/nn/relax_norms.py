"""Normalizations in Relax: reading Relax's operators, and translations composed of several Relax
operators."""

from __future__ import annotations

from math import prod
from typing import Any

from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.op.framework.from_relax import RelaxCall, relay_call
from byoc_lab.relay.op.framework.relax_types import dtype_of, in_wide_floats, scalar, shape_of


def layer_norm(op: Op, call: RelaxCall, data: Expr, gamma: Expr, beta: Expr) -> Expr:
    attrs = call.attrs
    axes = call.axes(attrs.axes)
    last = list(range(call.rank - len(axes), call.rank))
    if axes != last:
        raise call.error(f"Relay normalises the last axes, found axes {axes} of {call.rank}")
    rows = data
    if len(axes) > 1:  # the axes are merged into one
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


def affine(R: Any, attrs: Any, gamma: Any, beta: Any) -> Any:
    """gamma and beta after attributes scale and center are applied, because Relax sometimes ignores
    its own flags."""
    return (
        gamma if attrs.scale else R.ones_like(gamma),
        beta if attrs.center else R.zeros_like(beta),
    )


def batch_norm(R: Any, attrs: Any, x: Any, *vectors: Any) -> Any:
    options = {name: attrs[name] for name in ("axis", "epsilon", "center", "scale")}
    return R.nn.batch_norm(x, *vectors, **options, training=False)


def by_deviations(
    R: Any,
    attrs: Any,
    groups: tuple[tuple[int, ...], tuple[int, ...]],
    x: Any,
    gamma: Any,
    beta: Any,
) -> Any:
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta. The variance is the mean of squared
    deviations. In R.nn.group_norm and R.nn.instance_norm it is the mean of squares minus the
    squared mean; rounding can make that negative, and the result nan, if the elements of a group
    are equal.

    groups: the shape of x with one or several axes for each group, and these axes.
    """
    shape, (split, axes) = shape_of(x), groups
    vector = [n if axis == attrs.axis % len(shape) else 1 for axis, n in enumerate(shape)]

    def compute(x: Any, gamma: Any, beta: Any) -> Any:
        parts = R.reshape(x, split)
        centered = R.subtract(parts, R.mean(parts, list(axes), keepdims=True))
        variance = R.mean(R.multiply(centered, centered), list(axes), keepdims=True)
        deviation = R.sqrt(R.add(variance, scalar(attrs.epsilon, dtype_of(x))))
        result = R.reshape(R.divide(centered, deviation), shape)
        result = R.multiply(result, R.reshape(gamma, vector)) if attrs.scale else result
        return R.add(result, R.reshape(beta, vector)) if attrs.center else result

    return in_wide_floats(R, compute, x, gamma, beta)
