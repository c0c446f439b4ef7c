"""Operators that sample images: grid_sample, affine_grid.

Source: `GridSampleRel`, `AffineGridRel` of TVM 0.16.
"""

from __future__ import annotations

from itertools import product
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, boolean, integers, string
from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework.costs import per_element
from byoc_lab.relay.op.framework.from_relax import RelaxCall, ints, relay_call, same
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    Types,
    differ,
    fail,
    need_length,
    need_one_of,
    need_rank,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import need_dtype, with_wide_floats
from byoc_lab.relay.op.image.resize import cubic_weights

# image.grid_sample, image.affine_grid ------------------------------------------------------------

SAMPLE = "image.grid_sample"
SAMPLE_METHODS = ("bilinear", "nearest", "bicubic")
PADDING_MODES = ("zeros", "border", "reflection")
PYTORCH_ALPHA = -0.75  # the cubic spline's coefficient, as in PyTorch


def sample_relation(attrs: AnyValue, data: Type | None, grid: Type | None) -> Types:
    """data (N, C, H, W) and grid (N, 2, H', W') give (N, C, H', W'); likewise with depth."""
    x, g = tensors(SAMPLE, "data grid", data, grid)
    need_one_of(SAMPLE, "method", attrs.method, SAMPLE_METHODS)
    need_one_of(SAMPLE, "padding_mode", attrs.padding_mode, PADDING_MODES)
    if attrs.layout not in ("NCHW", "NCDHW"):
        fail(SAMPLE, f"attribute layout must be NCHW or NCDHW, found {attrs.layout!r}")
    if x is None or g is None:
        return x, g, None
    rank = len(attrs.layout) - 2
    if rank == 3 and attrs.method == "bicubic":
        fail(SAMPLE, "attribute method must be bilinear or nearest for layout NCDHW, found bicubic")
    need_rank(SAMPLE, "data", x, rank + 2)
    need_rank(SAMPLE, "grid", g, rank + 2)
    if differ(g.shape[0], x.shape[0]) or differ(g.shape[1], rank):
        fail(SAMPLE, f"grid must begin with ({x.shape[0]}, {rank}) for data {x}, found {g}")
    return x, g, TensorType((*x.shape[:2], *g.shape[2:]), x.dtype)


def _reflected(at: np.ndarray, size: int, corners: bool) -> np.ndarray:
    """Positions reflected into the image at the outermost pixels (`corners`) or their edges."""
    first, span = (0.0, size - 1) if corners else (-0.5, size)
    if span == 0:
        return np.zeros_like(at)
    times, extra = np.divmod(np.abs(at - first), span)
    return np.where(times % 2 == 0, extra, span - extra) + first


def _apply_padding_mode(at: np.ndarray, size: int, attrs: AnyValue) -> np.ndarray:
    """Positions after the padding mode is applied."""
    if attrs.padding_mode == "reflection":
        at = _reflected(at, size, attrs.align_corners)
    return at if attrs.padding_mode == "zeros" else at.clip(0, size - 1)


def sample_reference(attrs: AnyValue, x: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """A sum over the pixels around each position, with independent weights for each axis."""
    sizes = x.shape[2:]
    rank = len(sizes)
    samples: list[list[tuple[np.ndarray, np.ndarray]]] = []  # each axis: (index, weight) pairs
    for axis, size in enumerate(sizes):
        at = grid[:, rank - 1 - axis]  # the grid holds the last axis first
        at = (at + 1) * (size - 1) / 2 if attrs.align_corners else ((at + 1) * size - 1) / 2
        if attrs.method == "bicubic":
            low = np.floor(at)
            weights = cubic_weights(at - low, PYTORCH_ALPHA)
            pairs = [(_apply_padding_mode(low - 1 + n, size, attrs), weights[n]) for n in range(4)]
        elif attrs.method == "nearest":
            near = np.rint(_apply_padding_mode(at, size, attrs))
            pairs = [(near, np.ones_like(near))]
        else:
            at = _apply_padding_mode(at, size, attrs)
            low = np.floor(at)
            pairs = [(low, 1 - (at - low)), (low + 1, at - low)]
        samples.append([(index.astype(np.int64), weight) for index, weight in pairs])
    out = np.zeros((*x.shape[:2], *grid.shape[2:]), np.result_type(x.dtype, grid.dtype))
    batch = np.arange(len(x)).reshape(-1, *[1] * rank)
    for corner in product(*samples):
        inside = np.ones(grid.shape[:1] + grid.shape[2:], bool)
        weight = np.ones(inside.shape, out.dtype)
        for (index, part), size in zip(corner, sizes, strict=True):
            inside &= (index >= 0) & (index < size)
            weight = weight * part
        nearest = [i.clip(0, s - 1) for (i, _), s in zip(corner, sizes, strict=True)]
        chosen: tuple[AnyValue, ...] = (batch, *nearest)
        pixels = np.moveaxis(x, 1, -1)[chosen]
        out += np.moveaxis(pixels * np.where(inside, weight, 0)[..., None], -1, 1)
    return out.astype(x.dtype, copy=False)


def _sample_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, grid: AnyValue) -> AnyValue:
    return R.image.grid_sample(
        x, grid, attrs.method, attrs.layout, attrs.padding_mode, attrs.align_corners
    )


define_op(
    SAMPLE,
    "data grid",
    sample_relation,
    from_relax={SAMPLE: same},
    arithmetic=Arithmetic.OTHER,
    reference=sample_reference,
    attrs=AttrsType(
        "relay.attrs.GridSampleAttrs",
        (
            Attr("method", string, "bilinear", ", ".join(SAMPLE_METHODS)),
            Attr("layout", string, "NCHW", "layout: NCHW or NCDHW"),
            Attr("padding_mode", string, "zeros", ", ".join(PADDING_MODES)),
            Attr(
                "align_corners",
                boolean,
                True,
                "whether -1 and 1 are the centers of the corner pixels, not their edges",
            ),
        ),
    ),
    flops=per_element(8),
    relax=_sample_relax,
    built_relax=with_wide_floats(_sample_relax),
    pattern=OpPattern.INJECTIVE,
    doc="Data sampled at the positions in grid: from -1 to 1 along each axis, last axis first.",
)

GRID = "image.affine_grid"


def grid_relation(attrs: AnyValue, data: Type | None) -> Types:
    """data (N, 2, 3) gives (N, 2, *target_shape)."""
    (x,) = tensors(GRID, "data", data)
    if attrs.target_shape is None:
        fail(GRID, "attribute target_shape must be given: (height, width)")
    need_length(GRID, "target_shape", attrs.target_shape, 2)
    if min(attrs.target_shape) < 2:
        fail(
            GRID, f"attribute target_shape must be greater than 1, found {list(attrs.target_shape)}"
        )
    if x is None:
        return None, None
    if len(x.shape) != 3 or differ(x.shape[1], 2) or differ(x.shape[2], 3):
        fail(GRID, f"data must have the shape (batch, 2, 3), found {x}")
    return x, TensorType((x.shape[0], 2, *attrs.target_shape), x.dtype)


def grid_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    rows, columns = (np.linspace(-1, 1, n).astype(x.dtype) for n in attrs.target_shape)
    across, down = np.meshgrid(columns, rows)
    parts = [x[:, :, n].reshape(-1, 2, 1, 1) for n in range(3)]
    return (parts[0] * across + parts[1] * down + parts[2]).astype(x.dtype, copy=False)


def _grid_from_relax(op: Op, call: RelaxCall, theta: Expr, size: AnyValue) -> Expr:
    if not getattr(call.attrs, "align_corners", True):
        raise call.error("Relay's grid has align_corners=True, found False")
    return relay_call("image.affine_grid", theta, target_shape=ints(size))


def _grid_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    need_dtype(GRID, x)  # for integers, TVM rounds the positions
    return R.image.affine_grid(x, tuple(attrs.target_shape))


define_op(
    GRID,
    "data",
    grid_relation,
    from_relax={GRID: _grid_from_relax},
    arithmetic=Arithmetic.OTHER,
    reference=grid_reference,
    attrs=AttrsType(
        "relay.attrs.AffineGridAttrs",
        (Attr("target_shape", integers, REQUIRED, "(height, width)", may_be_none=True),),
    ),
    flops=per_element(4),
    relax=_grid_relax,
    pattern=OpPattern.INJECTIVE,
    doc="A regular grid transformed by an affine map, for image.grid_sample.",
)
