"""Spatial blocks moved into the batch and back: nn.space_to_batch_nd, nn.batch_to_space_nd.

Source: `SpaceToBatchNDRel`, `BatchToSpaceNDRel` of TVM 0.16.
"""

from __future__ import annotations

from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, integers, nested_integers, number
from byoc_lab.relay.ir.dims import Unknown
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework.registry import OpPattern, define_op
from byoc_lab.relay.op.framework.relations import dim, fail
from byoc_lab.relay.op.framework.relax_types import rank_of, shape_of

BLOCKS = Attr("block_shape", integers, (1, 1), "size of the blocks, per spatial axis")
TO_BATCH, TO_SPACE = "nn.space_to_batch_nd", "nn.batch_to_space_nd"


def _check(op: str, attrs: AnyValue, x: TensorType, name: str) -> None:
    """Raise TypeInferenceError unless the blocks and the (before, after) pairs fit the spatial axes
    of `x`."""
    pairs = attrs[name]
    if len(attrs.block_shape) != len(pairs) or any(len(p) != 2 for p in pairs):
        fail(op, f"attribute {name} must be a (before, after) for each block: {pairs}")
    if len(x.shape) <= len(pairs):
        fail(op, f"data must have more than {len(pairs)} axes, found {x}")
    if min(attrs.block_shape) < 1 or any(min(p) < 0 for p in pairs):
        fail(op, f"block_shape {attrs.block_shape} must be positive, {name} {pairs} not negative")


def to_batch_type(attrs: AnyValue, x: TensorType) -> Type:
    """data (N, spatial..., rest...) gives (N * blocks, padded spatial / block..., rest...)."""
    _check(TO_BATCH, attrs, x, "paddings")
    count = len(attrs.block_shape)
    shape = [dim(lambda n: n * prod(attrs.block_shape), x.shape[0])]
    for d, block, pads in zip(x.shape[1:], attrs.block_shape, attrs.paddings, strict=False):
        whole = dim(lambda n, p=pads: n + sum(p), d)
        if not isinstance(whole, Unknown) and whole % block:
            fail(TO_BATCH, f"the padded size {whole} is not a multiple of the block size {block}")
        shape.append(dim(lambda n, b=block: n // b, whole))
    return TensorType((*shape, *x.shape[1 + count :]), x.dtype)


def _pads(attrs: AnyValue, rank: int) -> list[tuple[int, int]]:
    return [(0, 0), *attrs.paddings, *[(0, 0)] * (rank - 1 - len(attrs.paddings))]


def _to_batch_steps(attrs: AnyValue, shape: AnyValue) -> AnyValue:
    """(split shape, order of the parts, shape of the result) for padded data of `shape`."""
    count = len(attrs.block_shape)
    parts, inner, outer = [shape[0]], [], []
    for n, (d, block) in enumerate(zip(shape[1:], attrs.block_shape, strict=False)):
        parts += [d // block, block]
        outer.append(1 + 2 * n)
        inner.append(2 + 2 * n)
    rest = list(range(1 + 2 * count, 1 + 2 * count + len(shape) - 1 - count))
    result = [shape[0] * prod(attrs.block_shape), *(parts[n] for n in outer), *shape[1 + count :]]
    return [*parts, *shape[1 + count :]], [*inner, 0, *outer, *rest], result


def to_batch_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    around = np.pad(x, _pads(attrs, x.ndim), constant_values=attrs.pad_value)
    parts, order, result = _to_batch_steps(attrs, around.shape)
    return np.ascontiguousarray(around.reshape(parts).transpose(order).reshape(result))


def _to_batch_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    pads = _pads(attrs, rank_of(x))
    flat = [n for pair in pads for n in pair]
    around = R.nn.pad(x, flat, pad_value=attrs.pad_value)
    shape = [d + sum(p) for d, p in zip(shape_of(x), pads, strict=True)]
    parts, order, result = _to_batch_steps(attrs, shape)
    return R.reshape(R.permute_dims(R.reshape(around, parts), order), result)


define_op(
    TO_BATCH,
    "data",
    result_type=to_batch_type,
    reference=to_batch_reference,
    attrs=AttrsType(
        "relay.attrs.SpaceToBatchNDAttrs",
        (
            BLOCKS,
            Attr("paddings", nested_integers, doc="(before, after) for each spatial axis"),
            Attr("pad_value", number, 0.0, "value of the padding"),
        ),
    ),
    defaults={"block_shape": REQUIRED, "pad_value": 0},
    relax=_to_batch_relax,
    pattern=OpPattern.INJECTIVE,
    doc="Blocks of the padded spatial axes moved into the batch axis.",
)


def to_space_type(attrs: AnyValue, x: TensorType) -> Type:
    """data (N, spatial..., rest...) gives (N / blocks, spatial * block - crops..., rest...)."""
    _check(TO_SPACE, attrs, x, "crops")
    blocks, count = prod(attrs.block_shape), len(attrs.block_shape)
    batch = x.shape[0]
    if not isinstance(batch, Unknown) and batch % blocks:
        fail(
            TO_SPACE,
            f"the batch size {batch} is not a multiple of the number of blocks {blocks}; data is "
            f"{x}",
        )
    shape = [dim(lambda n: n // blocks, batch)]
    for d, block, crops in zip(x.shape[1:], attrs.block_shape, attrs.crops, strict=False):
        left = dim(lambda n, b=block, c=crops: n * b - sum(c), d)
        if not isinstance(left, Unknown) and left < 0:
            fail(TO_SPACE, f"crops {list(crops)} exceed the size of an axis of {x}")
        shape.append(left)
    return TensorType((*shape, *x.shape[1 + count :]), x.dtype)


def _to_space_steps(attrs: AnyValue, shape: AnyValue) -> AnyValue:
    """(split shape, order of the parts, shape before the crops) for data of `shape`."""
    count = len(attrs.block_shape)
    parts = [*attrs.block_shape, shape[0] // prod(attrs.block_shape), *shape[1:]]
    order = [count]
    whole = [parts[count]]
    for n, block in enumerate(attrs.block_shape):
        order += [count + 1 + n, n]
        whole.append(shape[1 + n] * block)
    order += range(2 * count + 1, len(parts))
    return parts, order, [*whole, *shape[1 + count :]]


def to_space_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    parts, order, whole = _to_space_steps(attrs, x.shape)
    out = x.reshape(parts).transpose(order).reshape(whole)
    cuts = [slice(a, n - b) for n, (a, b) in zip(whole[1:], attrs.crops, strict=False)]
    inside: tuple[AnyValue, ...] = (slice(None), *cuts)
    return out[inside].copy()


def _to_space_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    parts, order, whole = _to_space_steps(attrs, shape_of(x))
    out = R.reshape(R.permute_dims(R.reshape(x, parts), order), whole)
    axes = list(range(1, 1 + len(attrs.crops)))
    ends = [n - b for n, (_, b) in zip(whole[1:], attrs.crops, strict=False)]
    return R.strided_slice(out, axes, [a for a, _ in attrs.crops], ends)


define_op(
    TO_SPACE,
    "data",
    result_type=to_space_type,
    reference=to_space_reference,
    attrs=AttrsType(
        "relay.attrs.BatchToSpaceNDAttrs",
        (
            BLOCKS,
            Attr("crops", nested_integers, doc="(before, after) cropped from each spatial axis"),
        ),
    ),
    defaults={"block_shape": REQUIRED},
    relax=_to_space_relax,
    pattern=OpPattern.INJECTIVE,
    doc="Parts of the batch axis moved into blocks of the spatial axes, which are then cropped.",
)
