"""Resizing of images."""

from __future__ import annotations

from typing import Any

from byoc_lab import relay
from byoc_lab.importers.pytorch.converters import converts
from byoc_lab.importers.pytorch.node import Node
from byoc_lab.relay.ir.expr import Expr

LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def _resized(node: Node, name: str, count: int, **options: Any) -> Expr:
    """To the size that PyTorch found for the result."""
    wanted = node.result_shape[2:]
    if not all(isinstance(n, int) for n in wanted):
        node.fail(f"resizing to a dynamic size is not supported: {wanted}")
    build = getattr(relay.image, f"resize{count}d")
    found: Expr = build(node[name], wanted, layout=LAYOUTS[count], **options)
    return found


def _check_scales(node: Node, name: str) -> None:
    """PyTorch samples by the scales given, Relay by the ratio of the lengths: they must agree."""
    scales = [node[n] for n in ("scale_factors", "scales", "scales_h", "scales_w")
              if n in node.fx.kwargs or _has(node, n)]  # fmt: skip
    given = [
        s for entry in scales if entry for s in (entry if isinstance(entry, list) else [entry])
    ]
    lengths = zip(node.static(name)[2:], node.result_shape[2:], given, strict=False)
    if any(abs(have * scale - want) > 1e-6 for have, want, scale in lengths):
        node.fail(
            f"scales {given} do not make whole lengths of {node.static(name)[2:]}; Relay resizes "
            f"by the ratio of the lengths: use size=, or recompute_scale_factor=True"
        )


def _has(node: Node, name: str) -> bool:
    return any(a.name == name for a in node.fx.target._schema.arguments)


@converts(*(f"upsample_nearest{n}d.{kind}" for n in (1, 2, 3) for kind in ("vec", "default")))
def nearest(node: Node) -> Any:
    name = "input" if node.name.endswith("vec") else "self"
    count = int(node.overload[16])
    _check_scales(node, name)
    return _resized(
        node, name, count, method="nearest_neighbor", rounding_method="floor",
        coordinate_transformation_mode="asymmetric",
    )  # fmt: skip


@converts(
    "upsample_bilinear2d.vec", "upsample_bilinear2d.default", "upsample_linear1d.vec",
    "upsample_trilinear3d.vec", "upsample_bicubic2d.vec", "upsample_bicubic2d.default",
)  # fmt: skip
def smooth(node: Node) -> Any:
    name = "input" if node.name.endswith("vec") else "self"
    cubic = "cubic" in node.overload
    _check_scales(node, name)
    mode = "align_corners" if node["align_corners"] else "half_pixel"
    return _resized(
        node, name, node.rank(name) - 2, method="cubic" if cubic else "linear",
        coordinate_transformation_mode=mode, cubic_alpha=-0.75,
    )  # fmt: skip
