"""Resizing and sampling of images."""

from __future__ import annotations

from typing import Any

from byoc_lab import relay
from byoc_lab.importers.pytorch.converters import converts
from byoc_lab.importers.pytorch.node import Node
from byoc_lab.importers.resampling import Sampling, resampled

LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}
KINDS = ("vec", "default")


def _scales(node: Node) -> dict[int, float]:
    """The explicit scales, by the index of their spatial axis."""
    names = {a.name for a in node.fx.target._schema.arguments}
    if "scale_factors" in names:
        given = node["scale_factors"] or []
    else:
        known = ("scales",) if "scales" in names else ("scales_d", "scales_h", "scales_w")
        given = [node[name] for name in known if name in names]
    return {i: float(s) for i, s in enumerate(given) if s is not None}


def _resized(node: Node, sampling: Sampling) -> Any:
    """Resize to the size that PyTorch computed. If the scales do not give exactly this size,
    PyTorch samples by the scale, Relay's operators by the ratio of the sizes."""
    name = "input" if node.name.endswith("vec") else "self"
    x, rank, wanted, scales = node[name], node.rank(name), node.result_shape[2:], _scales(node)
    if not all(isinstance(n, int) for n in wanted):
        node.fail(f"resizing to a dynamic size is not supported: {wanted}")
    lengths = node.shape(name)[2:]
    exact = sampling.coordinates == "align_corners" or all(
        isinstance(lengths[i], int) and abs(lengths[i] * s - wanted[i]) <= 1e-6
        for i, s in scales.items()
    )
    if exact and not sampling.antialias:
        build = getattr(relay.image, f"resize{rank - 2}d")
        return build(
            x, wanted, layout=LAYOUTS[rank - 2], method=METHODS[sampling.mode],
            rounding_method=sampling.nearest, cubic_alpha=sampling.cubic,
            coordinate_transformation_mode=sampling.coordinates,
        )  # fmt: skip
    for i, (length, target) in enumerate(zip(node.static(name)[2:], wanted, strict=True)):
        scale, dtype = scales.get(i, target / length), node.dtype(name)
        x = resampled(x, dtype, rank, i + 2, (length, target), scale, sampling)
    return x


@converts(*(f"upsample_nearest{n}d.{kind}" for n in (1, 2, 3) for kind in KINDS))
def nearest(node: Node) -> Any:
    return _resized(node, Sampling("nearest", "asymmetric", "floor"))


@converts(*(f"_upsample_nearest_exact{n}d.{kind}" for n in (1, 2, 3) for kind in KINDS))
def nearest_exact(node: Node) -> Any:
    return _resized(node, Sampling("nearest", "tf_half_pixel_for_nn", "floor"))


@converts(
    *(
        f"upsample_{name}.{kind}"
        for name in ("linear1d", "bilinear2d", "trilinear3d", "bicubic2d")
        for kind in KINDS
    )
)
def smooth(node: Node) -> Any:
    mode = "cubic" if "cubic" in node.overload else "linear"
    coordinates = "align_corners" if node["align_corners"] else "half_pixel"
    return _resized(node, Sampling(mode, coordinates, ""))


@converts(*(f"_upsample_bi{mode}2d_aa.{kind}" for mode in ("linear", "cubic") for kind in KINDS))
def antialiased(node: Node) -> Any:
    """Antialiased resizing: weights cover only pixels inside the image; the spline is Pillow's."""
    mode = "cubic" if "cubic" in node.overload else "linear"
    coordinates = "align_corners" if node["align_corners"] else "half_pixel"
    return _resized(node, Sampling(mode, coordinates, "", -0.5, True, True))


@converts("grid_sampler.default", "grid_sampler_2d.default", "grid_sampler_3d.default")
def grid_sampler(node: Node) -> Any:
    rank = node.rank("input")
    order = (0, rank - 1, *range(1, rank - 1))
    return relay.image.grid_sample(
        node["input"],
        relay.transpose(node["grid"], axes=order),
        ("bilinear", "nearest", "bicubic")[node["interpolation_mode"]],
        layout="NCHW" if rank == 4 else "NCDHW",
        padding_mode=("zeros", "border", "reflection")[node["padding_mode"]],
        align_corners=bool(node["align_corners"]),
    )
