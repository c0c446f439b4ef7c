"""Resize and Upsample: by Relay's operators if these sample the same pixels, else by a product with
constant weights per axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import converts
from byoc_lab.importers.onnx.node import Array, Node
from byoc_lab.importers.resampling import Sampling, resampled
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.op.image.resize import MODES, nearest_index, sample_positions

METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}
LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


@dataclass
class Sizes:
    """The sizes of a resized tensor.

    lengths: the sizes of the result, or an expression that computes them. scales: the scales of
    axes whose scaled size is not an integer; there, positions are divided by the scale, not by the
    ratio of the sizes.
    """

    lengths: list[Any] | Expr
    scales: dict[int, float] = field(default_factory=dict)


@converts("Upsample")
def upsample(node: Node) -> Expr:
    """Nearest-neighbour or linear, with PyTorch's asymmetric coordinates."""
    sampling = Sampling(node.attr("mode", "nearest"), "asymmetric", "floor")
    if node.opset >= 9:
        return _resized(node, _scaled(node, _known_scales(node, 1)), sampling)
    scales = [float(s) for s in node.attr("scales")]
    if len(scales) != node.rank(node[0]):
        node.fail(f"scales must have {node.rank(node[0])} numbers, found {len(scales)}")
    return _resized(node, _scaled(node, np.array(scales)), sampling)


@converts("Resize")
def resize(node: Node) -> Expr:
    mode = node.attr("mode", "nearest")
    if mode not in METHODS:
        node.fail(f"mode {mode!r:.40} does not exist")
    if node.opset < 11:
        sampling = Sampling(mode, "asymmetric", "floor")
        return _resized(node, _scaled(node, _known_scales(node, 1)), sampling)
    sampling = Sampling(
        mode,
        node.attr("coordinate_transformation_mode", "half_pixel"),
        node.attr("nearest_mode", "round_prefer_floor"),
        float(node.attr("cubic_coeff_a", -0.75)),
        bool(node.attr("exclude_outside", 0)),
        bool(node.attr("antialias", 0)),
        float(node.attr("extrapolation_value", 0.0)),
    )
    return _resized(node, _sizes(node), sampling)


def _axes(node: Node) -> list[int]:
    """The axes to which scales, sizes and the region refer."""
    rank = node.rank(node[0])
    return [node.axis(a, rank) for a in node.attr("axes", list(range(rank)))]


def _sizes(node: Node) -> Sizes:
    if node.optional(3) is None:
        return _scaled(node, _known_scales(node, 2))
    have, axes = _lengths(node), _axes(node)
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    wanted = node.value(3)
    if wanted is None:
        if axes == list(range(len(have))) and policy == "stretch":
            return Sizes(relay.cast(node[3], "int64"))
        wanted = node.known(3, "the sizes with axes or a policy")
    sizes = list(have)
    for axis, size in zip(axes, wanted, strict=True):
        sizes[axis] = int(size)
    if policy != "stretch":
        lengths = {a: node.length(node[0], a) for a in axes}
        ratios = [sizes[a] / length for a, length in lengths.items()]
        ratio = min(ratios) if policy == "not_larger" else max(ratios)
        for axis, length in lengths.items():
            sizes[axis] = int(np.floor(ratio * length + 0.5))
        return Sizes(sizes, dict.fromkeys(axes, ratio))
    return Sizes(sizes)


def _lengths(node: Node) -> list[Any]:
    """The sizes of the data; sizes that are not resized may be unknown."""
    return list(node.type_of(node[0]).shape)


def _known_scales(node: Node, index: int) -> Array:
    return node.known(index, "the scales")


def _scaled(node: Node, scales: Array) -> Sizes:
    found = Sizes(sizes := _lengths(node))
    for axis, scale in zip(_axes(node), scales.ravel(), strict=True):
        if scale == 1:
            continue
        length = node.length(node[0], axis)
        scaled = float(np.float32(length) * np.float32(scale))  # as ONNX Runtime computes it
        if not 1 <= scaled < 2**31:
            node.fail(
                f"scale {float(scale):g} changes size {length} to {scaled:g}; a size of at least "
                "1 is expected"
            )
        sizes[axis] = int(scaled)
        if scaled != sizes[axis]:
            found.scales[axis] = float(scale)
    return found


def _resized(node: Node, sizes: Sizes, sampling: Sampling) -> Expr:
    x, region = node[0], _region(node, sampling)
    if isinstance(sizes.lengths, Expr):
        return _by_relay(node, _wanted_at_run_time(node, sizes.lengths, sampling), sampling, region)
    have = _lengths(node)
    rank, lengths = len(have), sizes.lengths
    changed = [
        axis
        for axis, n in enumerate(have)
        if axis in sizes.scales
        or (region[axis], region[axis + rank]) != (0.0, 1.0)
        or (lengths[axis] is not n and lengths[axis] != n)
    ]
    if _relay_has(node, sizes, sampling, changed):
        return _by_relay(node, lengths[2:], sampling, region)
    if sampling.coordinates != "tf_crop_and_resize" and lengths == have:
        return x  # for any scales, as in ONNX Runtime
    for axis in changed:
        length, target = node.length(x, axis), lengths[axis]
        scale = sizes.scales.get(axis, target / length)
        ends = region[axis], region[axis + rank]
        x = resampled(x, node.dtype(x), rank, axis, (length, target), scale, sampling, ends)
    return x


def _relay_has(node: Node, sizes: Sizes, sampling: Sampling, changed: Sequence[int]) -> bool:
    """Whether an operator of Relay samples the same positions with the same weights."""
    have = _lengths(node)
    if len(have) - 2 not in LAYOUTS or any(a < 2 for a in changed) or sampling.antialias:
        return False
    if sampling.coordinates not in MODES or sizes.scales:
        return False
    if (len(have), sampling.mode, sampling.coordinates) != (4, "nearest", "asymmetric"):
        return True
    assert isinstance(sizes.lengths, list)
    return all(
        _same_pixels(node.length(node[0], axis), sizes.lengths[axis], sampling.nearest)
        for axis in (2, 3)
    )


def _same_pixels(length: int, target: int, nearest: str) -> bool:
    """Relay finds the pixel by integer division if the image grows by an integer factor."""
    if target % length:
        return True
    positions = sample_positions(length, target, "asymmetric")
    pixels = nearest_index(positions, nearest, "asymmetric").clip(0, length - 1)
    return bool((pixels == np.arange(target) // (target // length)).all())


def _wanted_at_run_time(node: Node, lengths: Expr, sampling: Sampling) -> Expr:
    if node.rank(node[0]) != 4:
        node.fail("sizes given at run time are supported for images (4 dimensions)")
    floor = sampling.nearest == "floor"
    if (sampling.mode, sampling.coordinates) == ("nearest", "asymmetric") and not floor:
        node.known(3, f"sizes for nearest_mode {sampling.nearest!r} of asymmetric coordinates")
    if sampling.antialias or sampling.coordinates not in MODES:
        node.known(3, "sizes for antialias or half_pixel_symmetric")
    return relay.strided_slice(lengths, [2], [4])


def _region(node: Node, sampling: Sampling) -> list[float]:
    """The first positions of all axes, then the last positions, as fractions of the sizes."""
    rank = node.rank(node[0])
    region = [0.0] * rank + [1.0] * rank
    if sampling.coordinates == "tf_crop_and_resize":
        given = node.known(1, "the region of tf_crop_and_resize").ravel()
        axes = _axes(node)
        for axis, first, last in zip(axes, given[: len(axes)], given[len(axes) :], strict=True):
            region[axis], region[axis + rank] = float(first), float(last)
    return region


def _by_relay(node: Node, wanted: Any, sampling: Sampling, region: Sequence[float]) -> Expr:
    rank = node.rank(node[0]) - 2
    options: dict[str, Any] = {
        "layout": LAYOUTS[rank],
        "method": METHODS[sampling.mode],
        "coordinate_transformation_mode": sampling.coordinates,
        "rounding_method": sampling.nearest,
        "cubic_alpha": sampling.cubic,
        "cubic_exclude": int(sampling.exclude_outside),
        "extrapolation_value": sampling.extrapolation,
    }
    if sampling.coordinates == "tf_crop_and_resize":
        options["roi"] = [*region[2 : 2 + rank], *region[-rank:]]
    return getattr(relay.image, f"resize{rank}d")(node[0], wanted, **options)
