"""Resized images: the resizes that DNNL computes, and the ones that it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module

SHAPE = (2, 4, 8, 9)
x = relay.var("x", shape=SHAPE)


def resized(data: Expr, **attrs: Any) -> Expr:
    attrs = {"layout": "NCHW", "method": "nearest_neighbor", "rounding_method": "", **attrs}
    return relay.image.resize2d(data, **attrs)


def convolved(layout: str = "NCHW", dtype: str = "float32") -> Expr:
    taps = np.random.default_rng(0).standard_normal((1, 1, 4, 4)).astype("float32")
    if layout == "NHWC":
        data = relay.var("x", shape=(2, 8, 9, 4), dtype=dtype)
        return nn.conv2d(data, relay.const(taps, dtype), data_layout=layout, kernel_layout="HWIO")
    weight = relay.const(taps.reshape(4, 4, 1, 1), dtype)
    return nn.conv2d(relay.var("x", shape=SHAPE, dtype=dtype), weight)


def module(expr: Expr) -> IRModule:
    return infer_module(IRModule.from_expr(Function(relay.analysis.free_vars(expr), expr)))


def on_host(mod: IRModule) -> set[str]:
    return {n.name for n in post_order(mod["main"].body) if isinstance(n, Op)}


HALF, ASYMMETRIC = "half_pixel", "asymmetric"
SUPPORTED: dict[str, dict[str, Any]] = {
    "nearest": {"size": (16, 27), "rounding_method": "round"},
    "nearest at 5 times the size": {"size": (40, 9), "rounding_method": "round_prefer_ceil"},
    "nearest of PyTorch": {"size": (16, 27), "coordinate_transformation_mode": ASYMMETRIC},
    "every third": {"size": (8, 3), "rounding_method": "round"},
    "linear": {"size": (16, 27), "method": "linear"},
    "linear at other sizes": {"size": (3, 11), "method": "linear"},
    "linear of PyTorch": {
        "size": (5, 30), "method": "linear", "coordinate_transformation_mode": "pytorch_half_pixel",
    },
    "channels last": {"size": (16, 5), "method": "linear", "layout": "NHWC"},
    "the size that it has": {
        "size": (8, 9), "method": "linear", "coordinate_transformation_mode": "align_corners",
    },
}  # fmt: skip


@pytest.mark.parametrize("attrs", SUPPORTED.values(), ids=SUPPORTED)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_resize_of_an_image_that_dnnl_computes_is_in_its_region(
    attrs: dict[str, Any], dtype: str
) -> None:
    mod = module(resized(convolved(attrs.get("layout", "NCHW"), dtype), **attrs))
    cut = dnnl.partition_for_dnnl(mod)
    assert on_host(cut) == set()
    if dnnl.native.available():
        assert byoc_lab.validate(mod, cut)


CORNERS, NEAREST_ROUND = "align_corners", {"rounding_method": "round"}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "cubic": (
        {"size": (16, 18), "method": "cubic"},
        "method must be nearest_neighbor or linear, found 'cubic'",
    ),
    "linear between corners": (
        {"size": (16, 18), "method": "linear", "coordinate_transformation_mode": CORNERS},
        "linear at align_corners coordinates from 8 to 16 pixels samples other positions",
    ),
    "linear from the first": (
        {"size": (8, 18), "method": "linear", "coordinate_transformation_mode": ASYMMETRIC},
        "from 9 to 18 pixels",
    ),
    "nearest below": ({"size": (16, 18), "rounding_method": "floor"}, "from 8 to 16 pixels"),
    "nearest between corners": (
        {"size": (13, 9), "coordinate_transformation_mode": CORNERS},
        "from 8 to 13 pixels",
    ),
    "halfway between two": ({"size": (4, 9), **NEAREST_ROUND}, "from 8 to 4 pixels"),
    "a part": (
        {
            "size": (16, 18), "method": "linear", "roi": (0.0, 0.0, 0.5, 0.5),
            "coordinate_transformation_mode": "tf_crop_and_resize",
        },
        "oneDNN does not crop",
    ),
    "another dtype": ({"size": (16, 27), "out_dtype": "float64", **NEAREST_ROUND}, "float64"),
}  # fmt: skip


@pytest.mark.parametrize(("attrs", "reason"), REFUSED.values(), ids=REFUSED)
def test_resize_that_onednn_does_not_support_stays_on_the_host(
    attrs: dict[str, Any], reason: str
) -> None:
    mod = module(resized(convolved(), **attrs))
    assert on_host(dnnl.partition_for_dnnl(mod)) == {"image.resize2d"}
    (found,) = (e for e in byoc_lab.explain(mod, "dnnl") if e.name == "image.resize2d")
    assert reason in found.reason


def test_resize_of_an_input_of_main_stays_on_the_host() -> None:
    weight = relay.const(np.ones((4, 4, 1, 1), "float32"))
    mod = module(nn.conv2d(resized(x, size=(16, 18), **NEAREST_ROUND), weight))
    assert on_host(dnnl.partition_for_dnnl(mod)) == {"image.resize2d"}
    (found,) = (e for e in byoc_lab.explain(mod, "dnnl") if e.name == "image.resize2d")
    assert "DNNL does not compute the image" in found.reason


def test_tvm_leaves_resizing_to_the_host() -> None:
    mod = module(resized(convolved(), **SUPPORTED["linear"]))
    assert on_host(dnnl.partition_for_dnnl(mod, beyond_tvm=False)) == {"image.resize2d"}
