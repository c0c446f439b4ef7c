"""Resizing compared with ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.relay.image import resize2d
from tests.relay.op.onnx_runs import close, numbers, run, run_onnx

RESIZES = [  # ONNX coordinates, mode, other options of ONNX, options of Relay
    ("half_pixel", "linear", {}, {}),
    ("align_corners", "linear", {}, {"coordinate_transformation_mode": "align_corners"}),
    ("asymmetric", "linear", {}, {"coordinate_transformation_mode": "asymmetric"}),
    ("pytorch_half_pixel", "linear", {}, {"coordinate_transformation_mode": "pytorch_half_pixel"}),
    (
        "asymmetric",
        "nearest",
        {"nearest_mode": "floor"},
        {"coordinate_transformation_mode": "asymmetric", "method": "nearest_neighbor"},
    ),
    (
        "half_pixel",
        "nearest",
        {"nearest_mode": "round_prefer_floor"},
        {"method": "nearest_neighbor", "rounding_method": "round_prefer_floor"},
    ),
    ("half_pixel", "cubic", {"cubic_coeff_a": -0.75}, {"method": "cubic", "cubic_alpha": -0.75}),
    (
        "half_pixel",
        "cubic",
        {"cubic_coeff_a": -0.5, "exclude_outside": 1},
        {"method": "cubic", "cubic_exclude": 1},
    ),
]


@pytest.mark.parametrize(("coordinates", "mode", "theirs", "ours"), RESIZES)
@pytest.mark.parametrize("size", [(7, 9), (3, 4)])
def test_resize_agrees_with_onnxruntime(coordinates, mode, theirs, ours, size) -> None:
    x = numbers((1, 2, 4, 6), 0)
    wanted = run_onnx(
        "Resize",
        x,
        None,
        None,
        np.array([1, 2, *size]),
        coordinate_transformation_mode=coordinates,
        mode=mode,
        **theirs,
    )
    close(run(lambda a: resize2d(a, size, **ours), x), wanted)


@pytest.mark.parametrize("method", ["linear", "nearest_neighbor", "cubic"])
@pytest.mark.parametrize(
    "size, last",
    [((1,), True), ((1, 1), False), ((1, 4), True), ((4, 1), False), ((2, 1, 3), True)],
)
def test_align_corners_to_a_size_of_1_is_built(method, size, last) -> None:
    pytest.importorskip("tvm")
    rank = len(size)
    shape = (1, *[5] * rank, 2) if last else (1, 2, *[5] * rank)
    layout = {1: "NWC", 2: "NHWC", 3: "NDHWC"} if last else {1: "NCW", 2: "NCHW", 3: "NCDHW"}
    x = relay.var("x", shape=shape)
    call = getattr(relay.image, f"resize{rank}d")(
        x, size, layout=layout[rank], method=method, coordinate_transformation_mode="align_corners"
    )
    mod = byoc_lab.IRModule.from_expr(relay.Function([x], call))
    data = [numbers(shape, 0)]
    wanted = byoc_lab.evaluate(mod, data).outputs[0]
    np.testing.assert_allclose(byoc_lab.build(mod).run(data)[0], wanted, rtol=1e-4, atol=1e-5)
