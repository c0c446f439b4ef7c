"""Relay forms of Relax operators: for any back end, and for DNNL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.backends.dnnl.operators import OPERATORS as DNNL_OPERATORS
from byoc_lab.errors import BuildError, ImporterError
from byoc_lab.relax.ir.types import type_of
from byoc_lab.relay import nn
from byoc_lab.relay.ir.expr import Expr, Tuple, TupleGetItem
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op.framework.from_relax import ints, number, relay_call
from byoc_lab.relay.op.framework.registry import RELAX_NAMES
from byoc_lab.run.relax_values import relax_call

Translation = Callable[..., Expr]  # (Relax's call, its operands in Relay) -> Relay


def translated(call: Any, operands: list[Any]) -> Expr:
    """The Relay form of a Relax operator call. Raises BuildError if DNNL does not offer the
    operator."""
    name = call.op.name.removeprefix("relax.")
    if name not in OPERATORS:
        raise BuildError(f"DNNL has no counterpart of relax.{name}")
    own = OWN_FORMS.get(name)
    return own(call, *operands) if own is not None else any_counterpart(call, operands)


def _adaptive_avg_pool2d(call: Any, data: Expr) -> Expr:
    if ints(call.attrs.output_size or [0]) != [1, 1]:
        raise BuildError(f"DNNL has adaptive pooling to (1, 1), found {call.attrs.output_size}")
    return nn.global_avg_pool2d(data, layout=str(call.attrs.layout))


def _mean(call: Any, data: Expr) -> Expr:
    """A mean as a global pooling over the axes, which are merged and moved last. torch.export
    writes AdaptiveAvgPool2d(1) as a mean."""
    shape = type_of(call.args[0]).concrete_shape
    axes = sorted({axis % len(shape) for axis in axes_of(call.attrs.axis, len(shape))})
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    if len(shape) == 4 and axes == [2, 3]:
        pooled = nn.global_avg_pool2d(data)
        return pooled if call.attrs.keepdims else _reshaped(pooled, type_of(call))
    if axes != list(range(len(kept), len(shape))):
        data = relay_call("transpose", data, kept + axes)
    samples = shape[0] if 0 in kept else 1
    others = prod(shape[axis] for axis in kept) // samples
    rows = relay_call("reshape", data, (samples, others, prod(shape[axis] for axis in axes), 1))
    return _reshaped(nn.global_avg_pool2d(rows), type_of(call))


def _broadcast_to(call: Any, data: Expr, shape: Any) -> Expr:
    """Broadcast as a product with ones, which is exact."""
    have, wanted = type_of(call.args[0]).concrete_shape, type_of(call).concrete_shape
    padded = (1,) * (len(wanted) - len(have)) + have
    ones = [1 if n == size else size for n, size in zip(padded, wanted, strict=True)]
    if prod(ones) == 1:
        return _reshaped(data, type_of(call))
    return relay_call("multiply", data, relay.const(np.ones(ones, type_of(call).dtype)))


def _along(vector: Expr, axis: int, rank: int) -> Expr:
    """A vector reshaped to broadcast along `axis` of a tensor of the given rank."""
    return relay_call("reshape", vector, [-1, *[1] * (rank - 1 - axis)])


def _prelu(call: Any, data: Expr, slopes: Expr) -> Expr:
    rank = len(type_of(call.args[0]).shape)
    below = relay_call("minimum", data, relay.const(np.float32(0)))
    slopes = _along(slopes, int(call.attrs.axis) % rank, rank)
    return relay_call("add", nn.relu(data), relay_call("multiply", below, slopes))


def _grouped_norm(call: Any, data: Expr, gamma: Expr, beta: Expr) -> Expr:
    """Group norm as a layer norm with one row per group."""
    attrs, shape = call.attrs, type_of(call.args[0]).concrete_shape
    axes = sorted(axis % len(shape) for axis in ints(attrs.axes))
    channels = int(attrs.channel_axis) % len(shape)
    if channels != 1 or axes != list(range(2, len(shape))):
        raise BuildError(
            f"DNNL normalises groups of channels in axis 1 along all axes after it, found "
            f"channels in axis {channels}, axes {axes} of {len(shape)}"
        )
    if not (attrs.center and attrs.scale):
        raise BuildError("DNNL normalises groups with center and scale, found one of them missing")
    groups = int(getattr(attrs, "num_groups", shape[1]))  # instance norm: each channel
    size = prod(shape[1:]) // groups
    one, zero = (relay.const(np.full(size, n, np.float32)) for n in (1, 0))
    rows = relay_call("reshape", data, (shape[0], groups, size))
    normal = relay_call(
        "reshape", nn.layer_norm(rows, one, zero, epsilon=float(attrs.epsilon)), shape
    )
    scaled = relay_call("multiply", normal, _along(gamma, 1, len(shape)))
    return relay_call("add", scaled, _along(beta, 1, len(shape)))


def _reshaped(data: Expr, ty: TensorType) -> Expr:
    return relay_call("reshape", data, ty.concrete_shape)


def _matmul(call: Any, a: Expr, b: Expr) -> Expr:
    left, right = type_of(call.args[0]).concrete_shape, type_of(call.args[1]).concrete_shape
    if len(left) >= 2 and len(right) == 2:
        rows = relay_call("reshape", a, (prod(left[:-1]), left[-1])) if len(left) > 2 else a
        product = nn.dense(rows, relay_call("transpose", b, (1, 0)), units=right[1])
        return relay_call("reshape", product, (*left[:-1], right[1])) if len(left) > 2 else product
    if len(left) != len(right) or len(left) < 3 or left[:-2] != right[:-2]:
        raise BuildError(f"DNNL multiplies stacks of one size, found shapes {left} and {right}")
    if len(left) == 3:
        return nn.batch_matmul(a, b, transpose_a=False, transpose_b=False)
    flat = [relay_call("reshape", x, (prod(s[:-2]), *s[-2:])) for x, s in ((a, left), (b, right))]
    product = nn.batch_matmul(*flat, transpose_a=False, transpose_b=False)
    return relay_call("reshape", product, (*left[:-1], right[-1]))


def _split(call: Any, data: Expr) -> Expr:
    """A split as one slice per part."""
    shape = type_of(call.args[0]).concrete_shape
    axis = int(call.attrs.axis) % len(shape)
    parts = call.attrs.indices_or_sections
    if hasattr(parts, "__iter__"):
        borders = ints(parts)
    else:
        size = -(-shape[axis] // int(number(parts)))
        borders = [size * n for n in range(1, int(number(parts)))]
    # As in Python's slices, an index past the end means the end.
    edges = [min(edge, shape[axis]) for edge in (0, *borders, shape[axis])]
    return Tuple([_slice(data, [axis], [a], [b], [1]) for a, b in pairwise(edges)])


def _slice(data: Expr, axes: list[int], begin: list[int], end: list[int], step: list[int]) -> Expr:
    return relay_call("strided_slice", data, begin=begin, end=end, strides=step, axes=axes)


def axes_of(values: Any, rank: int) -> list[int]:
    return ints(values) if values is not None else list(range(rank))[::-1]


def any_counterpart(call: Any, operands: list[Any]) -> Expr:
    """The Relay form of an operator call, as `from_relax` imports it.

    Raises BuildError with the name of an operator without a counterpart.
    """
    read = RELAX_NAMES.get(str(call.op.name).removeprefix("relax."))
    if read is None:
        raise BuildError(f"byoc_lab has no counterpart of {call.op.name} in Relay")
    try:
        made = read(relax_call(call, type_of), *operands)
    except ImporterError as error:
        raise BuildError(str(error)) from None
    return _as_call_or_tuple(made) if isinstance(made, list) else made


def _as_call_or_tuple(fields: list[Expr]) -> Expr:
    """A tuple of values; if the values are all items of one call, the call itself."""
    items = [field for field in fields if isinstance(field, TupleGetItem)]
    calls = {item.tuple_value for item in items}
    return calls.pop() if len(items) == len(fields) and len(calls) == 1 else Tuple(fields)


OWN_FORMS: Mapping[str, Translation] = {
    "nn.adaptive_avg_pool2d": _adaptive_avg_pool2d,
    "mean": _mean,
    "matmul": _matmul,
    "broadcast_to": _broadcast_to,
    "split": _split,
    "nn.prelu": _prelu,
    "nn.group_norm": _grouped_norm,
    "nn.instance_norm": _grouped_norm,
}
"""Operators with a separate form for DNNL."""
OPERATORS = (
    *OWN_FORMS,
    "nn.gelu",
    "nn.silu",
    *(
        name
        for name, read in RELAX_NAMES.items()
        if isinstance(read, partial)
        and (definition := read.args[0].definition).name in DNNL_OPERATORS
        and definition.results is None
        and name not in OWN_FORMS
    ),
)
"""The operators that DNNL offers: operators with a separate form, single-operator activations, and
operators that the definitions of its Relay operators name."""
