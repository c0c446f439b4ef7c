"""Resize with any scale, coordinate transformation and mode equals ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnxruntime import InferenceSession

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import UnknownValueError, UnsupportedOperatorError
from byoc_lab.importers.onnx import from_onnx
from byoc_lab.relay.ir.expr import Call, Op
from byoc_lab.relay.ir.visit import post_order
from tests.sweeps import some

COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
MODES = ("nearest", "linear", "cubic")


def model(shape: list[int], constants: dict[int, Any], **attributes: Any) -> Any:
    """One Resize; `constants` are its inputs by number: 1 region, 2 scales, 3 sizes."""
    names = ["x", *(f"c{i}" if i in constants else "" for i in range(1, max(constants) + 1))]
    graph = helper.make_graph(
        [helper.make_node("Resize", names, ["y"], "resize", **attributes)],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * len(shape))],
        [
            helper.make_tensor(
                f"c{i}", TensorProto.INT64 if i == 3 else TensorProto.FLOAT, [len(v)], v
            )
            for i, v in constants.items()
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def check(net: Any, x: np.ndarray, built: bool = False) -> Any:
    wanted = InferenceSession(net.SerializeToString()).run(None, {"x": x})[0]
    mod, _ = from_onnx(net)
    results = [byoc_lab.evaluate(mod, [x]).outputs[0]]
    if built:
        results.append(byoc_lab.build(mod).run([x])[0])
    for found in results:
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    return mod


def image(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=shape).astype("float32")


def operators(mod: Any) -> set[str]:
    return {
        n.op.name for n in post_order(mod["main"]) if isinstance(n, Call) and isinstance(n.op, Op)
    }


@settings(max_examples=some(60))
@given(st.data())
def test_resize_with_any_scale_equals_onnxruntime(data: st.DataObject) -> None:
    mode, coordinates = data.draw(st.sampled_from(MODES)), data.draw(st.sampled_from(COORDINATES))
    shape = [1, 2, *data.draw(st.lists(st.integers(2, 9), min_size=2, max_size=2))]
    scales = [1.0, 1.0, *(data.draw(st.integers(4, 31)) / 10 for _ in range(2))]
    more = {"exclude_outside": data.draw(st.booleans())} if mode == "cubic" else {}
    if mode == "nearest":
        more = {"nearest_mode": "floor"}
        scales = [s if s in (1, 2, 3) or s * 10 % 2 else s + 0.1 for s in scales]
    net = model(shape, {2: scales}, mode=mode, coordinate_transformation_mode=coordinates, **more)
    if any(n * s < 1 for n, s in zip(shape, scales, strict=True)):
        with pytest.raises(UnsupportedOperatorError, match="at least 1 is expected"):
            from_onnx(net)
        return
    check(net, image(*shape))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scale", [0.6, 1.3, 2.0])
def test_resized_image_is_built(mode: str, scale: float) -> None:
    check(model([1, 3, 10, 7], {2: [1.0, 1.0, scale, scale]}, mode=mode), image(1, 3, 10, 7), True)


def test_resize_of_10_by_1_3_gives_13() -> None:
    """In float32, 10 times 1.3 is slightly less than 13."""
    check(model([1, 1, 10, 10], {2: [1.0, 1.0, 1.3, 1.3]}, mode="linear"), image(1, 1, 10, 10))


def test_resize_to_integer_sizes_becomes_image_resize2d() -> None:
    mod = check(model([1, 2, 4, 6], {2: [1.0, 1.0, 2.0, 0.5]}, mode="linear"), image(1, 2, 4, 6))
    assert operators(mod) == {"image.resize2d"}


@pytest.mark.parametrize(
    ("shape", "mode"),
    [
        ([5], "nearest"),
        *(([4, 6], m) for m in MODES[:2]),
        *(([2, 3, 4, 6], m) for m in MODES[:2]),
        *(([1, 1, 3, 4, 5], m) for m in MODES[:2]),
    ],
)
def test_resize_of_any_axes_equals_onnxruntime(shape: list[int], mode: str) -> None:
    sizes = [2 * n + 1 for n in shape] if len(shape) < 3 else [*shape[:2], *(7 for _ in shape[2:])]
    check(model(shape, {3: sizes}, mode=mode), image(*shape))


@pytest.mark.parametrize("axes", [[2, 3], [3, 2]])
def test_region_applies_to_the_named_axes(axes: list[int]) -> None:
    first, last = [0.2, 0.4], [0.7, 1.2]
    attributes = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    net = model(
        [1, 2, 6, 8],
        {1: [*first, *last], 3: [5, 4]},
        axes=axes,
        extrapolation_value=9.0,
        **attributes,
    )
    whole = [0.0, 0.0, *first[:: 1 if axes == [2, 3] else -1]]
    whole += [1.0, 1.0, *last[:: 1 if axes == [2, 3] else -1]]
    sizes = [1, 2, 5, 4] if axes == [2, 3] else [1, 2, 4, 5]
    same = model([1, 2, 6, 8], {1: whole, 3: sizes}, extrapolation_value=9.0, **attributes)
    x = image(1, 2, 6, 8)
    found, wanted = (byoc_lab.evaluate(from_onnx(m)[0], [x]).outputs[0] for m in (net, same))
    np.testing.assert_array_equal(found, wanted)
    check(same, x)


def test_resize_with_too_many_weights_is_refused() -> None:
    net = model([1, 1, 2, 2], {3: [1, 1, 2, 2**31]}, mode="linear", antialias=1)
    with pytest.raises(UnsupportedOperatorError, match="weights; at most"):
        from_onnx(net)


def test_scales_given_as_an_input_can_be_frozen() -> None:
    net = model([1, 1, 2, 2], {2: [1.0, 1.0, 2.0, 2.0]})
    net.graph.input.append(helper.make_tensor_value_info("c2", TensorProto.FLOAT, [4]))
    del net.graph.initializer[:]
    with pytest.raises(UnknownValueError, match="--freeze c2=VALUE") as caught:
        from_onnx(net)
    assert caught.value.inputs == ("c2",)
    mod, _ = from_onnx(net, freeze={"c2": [1, 1, 2, 2]})
    assert mod["main"].checked_type.ret_type == relay.TensorType((1, 1, 4, 4))
