"""Blocked layouts: operators compute the results of plain layouts."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.errors import TypeInferenceError
from byoc_lab.passes import InferType
from byoc_lab.relay import IRModule
from byoc_lab.run import evaluate

CONV = {"channels": 32, "kernel_size": (3, 3)}


def var(name, *shape):
    return relay.var(name, shape=shape)


# Types inferred by TVM 0.16.
TYPED = [
    (
        relay.nn.conv2d(
            var("x", 1, 2, 8, 8, 16),
            relay.var("w"),
            **CONV,
            data_layout="NCHW16c",
            kernel_layout="OIHW16i16o",
        ),
        (1, 2, 6, 6, 16),
        (2, 2, 3, 3, 16, 16),
    ),
    (
        relay.nn.conv2d(
            var("x", 1, 32, 8, 8),
            relay.var("w"),
            **CONV,
            kernel_layout="OIHW16o",
            out_layout="NCHW16c",
        ),
        (1, 2, 6, 6, 16),
        (2, 32, 3, 3, 16),
    ),
    (
        relay.nn.conv2d(
            var("x", 1, 4, 8, 8, 8),
            relay.var("w"),
            **CONV,
            groups=32,
            data_layout="NCHW8c",
            kernel_layout="GOIHW8g",
        ),
        (1, 4, 6, 6, 8),
        (4, 1, 1, 3, 3, 8),
    ),
    (
        relay.nn.conv2d_transpose(
            var("x", 1, 32, 8, 8), relay.var("w"), **CONV, groups=16, kernel_layout="GIOHW"
        ),
        (1, 32, 10, 10),
        (16, 2, 2, 3, 3),
    ),
    (
        relay.nn.conv2d_transpose(
            var("x", 1, 2, 8, 8, 16),
            relay.var("w"),
            **CONV,
            data_layout="NCHW16c",
            kernel_layout="IOHW16i16o",
        ),
        (1, 2, 10, 10, 16),
        (2, 2, 3, 3, 16, 16),
    ),
    (
        relay.nn.max_pool2d(var("x", 1, 2, 8, 8, 16), pool_size=(2, 2), layout="NCHW16c"),
        (1, 2, 7, 7, 16),
        None,
    ),
    (relay.nn.global_avg_pool2d(var("x", 1, 2, 8, 8, 16), "NCHW16c"), (1, 2, 1, 1, 16), None),
    (
        relay.nn.adaptive_avg_pool2d(var("x", 1, 2, 8, 8, 16), (2, 2), "NCHW16c"),
        (1, 2, 2, 2, 16),
        None,
    ),
    (relay.nn.upsampling(var("x", 1, 2, 8, 8, 16), 2, 2, "NCHW16c"), (1, 2, 16, 16, 16), None),
]


def typed(call):
    return InferType()(IRModule.from_expr(call))


@pytest.mark.parametrize(("call", "result", "weight"), TYPED)
def test_blocked_layouts_have_the_expected_types(call, result, weight):
    main = typed(call)["main"]
    assert main.body.checked_type.concrete_shape == result
    if weight is not None:
        assert main.params[1].checked_type.concrete_shape == weight


@pytest.mark.parametrize(("call", "result", "weight"), TYPED)
def test_blocked_and_plain_layouts_give_equal_values(call, result, weight):
    mod = typed(call)
    random = np.random.default_rng(0)
    shapes = [p.checked_type.concrete_shape for p in mod["main"].params]
    inputs = [random.uniform(-1, 1, shape).astype("float32") for shape in shapes]
    params = [
        relay.var(p.name_hint, shape=s) for p, s in zip(mod["main"].params, shapes, strict=True)
    ]
    names = ("data_layout", "kernel_layout") if weight else ("layout",)
    layouts = [call.attrs[n] for n in names]
    plain = ["".join(c for c in layout if c.isupper()) for layout in layouts]
    turned = [
        p if a == b else relay.layout_transform(p, a, b)
        for p, a, b in zip(params, layouts, plain, strict=True)
    ]
    attrs = call.attrs.replace(**dict(zip(names, plain, strict=True)))
    result_layout = call.attrs.get("out_layout") or layouts[0]
    attrs = attrs.replace(out_layout="") if "out_layout" in attrs else attrs
    body = relay.Call(call.op, turned, attrs)
    if result_layout != plain[0]:
        body = relay.layout_transform(body, plain[0], result_layout)
    wanted = evaluate(typed(relay.Function(params, body)), inputs).value
    np.testing.assert_allclose(evaluate(mod, inputs).value, wanted, rtol=1e-5)


def test_invalid_blocked_layout_raises_type_inference_error():
    with pytest.raises(TypeInferenceError, match="is not a layout"):
        typed(relay.nn.max_pool2d(var("x", 1, 2, 8, 8, 16), pool_size=(2, 2), layout="NCHWc"))
    with pytest.raises(TypeInferenceError, match="must have size 16"):
        typed(relay.nn.global_avg_pool2d(var("x", 1, 2, 8, 8, 8), "NCHW16c"))
