"""FakeQuantizationToInteger: results stay within one or two steps, and rounding is configurable."""

from __future__ import annotations

import logging
from unittest import TestCase

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.passes.quantize.fake_quantization_to_integer import list_fake_quantized_op_freqs
from byoc_lab.passes.quantize.fake_quantized_ops import RULES
from byoc_lab.relay import IRModule, Op, assert_structural_equal
from byoc_lab.relay.analysis.affine_type import TensorAffineType
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import FakeQuantizationToInteger, InferType
from tests.parity.cases import fake_quantized, load
from tests.parity.golden import golden_test

test_golden = golden_test("FakeQuantizationToInteger")

X = relay.var("x", shape=(1, 3, 8, 8), dtype="int8")


def _dq(x, scale=2.0, zero=0, **options):
    return relay.qnn.op.dequantize(x, relay.const(scale), relay.const(zero), **options)


def _q(x, scale=2.0, zero=0, **options):
    return relay.qnn.op.quantize(x, relay.const(scale), relay.const(zero), **options)


def _module(body) -> IRModule:
    return InferType()(IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body)))


def _ops(mod: IRModule) -> set[str]:
    return {n.op_name for n in post_order(mod["main"]) if isinstance(n, relay.Call)}


def _inputs(mod: IRModule) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    found = {}
    for p in mod["main"].params:
        shape, dtype = p.checked_type.concrete_shape, np.dtype(p.checked_type.dtype)
        if dtype.kind == "f":
            found[p.name_hint] = random.uniform(-3, 3, shape).astype(dtype)
        else:
            low, high = (-1000, 1000) if dtype == "int32" else (np.iinfo(dtype).min, 100)
            found[p.name_hint] = random.integers(low, high, shape).astype(dtype)
    return found


def _assert_close(before: IRModule, after: IRModule, steps: int = 1) -> None:
    data = _inputs(before)
    pair = [evaluate(m, data).value for m in (before, after)]
    for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in pair), strict=True):
        assert a.dtype == b.dtype
        if a.dtype.kind == "f":
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-4)
        else:
            assert np.abs(a.astype("int64") - b.astype("int64")).max() <= steps


@pytest.mark.parametrize("name", [*fake_quantized.NAMES, "single"])
def test_values_stay_and_events_cover_the_changes(name: str) -> None:
    mod = InferType()(load(f"fake_quantized.{name}", byoc_lab, relay, np))
    (stage,) = byoc_lab.trace(mod, [FakeQuantizationToInteger(use_qat=name == "single")])
    assert stage.changed and stage.events
    assert_structural_equal(infer_module(stage.state_after(len(stage.events))), stage.after)
    _assert_close(mod, stage.after)


def _by_channel(name: str, *shape: int, axis: int, zeros=(0, 0, 0)):
    scales = relay.const([0.5, 0.25, 0.125])
    x = relay.var(name, shape=shape, dtype="int8")
    return relay.qnn.op.dequantize(x, scales, relay.const(list(zeros)), axis=axis)


def _channels_last():
    x = relay.var("x", shape=(1, 8, 8, 3), dtype="int8")
    weight = _by_channel("w", 3, 3, 3, 3, axis=3)
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    return relay.nn.conv2d(_dq(x), weight, kernel_size=(3, 3), channels=3, **layouts)


BEYOND_THE_ORACLE = {
    "nn.leaky_relu": lambda: _q(relay.nn.leaky_relu(_dq(X, 0.1, 3), 0.1), 0.2, -4),
    "nn.conv2d in NHWC": lambda: _q(_channels_last(), 4.0),
    "nn.pad of uint8": lambda: _q(
        relay.nn.pad(_dq(relay.var("u", shape=(4,), dtype="uint8"), 1.0), [[1, 1]], 200.0),
        1.0,
        out_dtype="uint8",
    ),
    "nn.avg_pool2d": lambda: _q(relay.nn.avg_pool2d(_dq(X), (3, 3)), 3.0),
    "nn.avg_pool2d inside": lambda: _q(relay.nn.relu(relay.nn.avg_pool2d(_dq(X), (3, 3))), 3.0),
}


@pytest.mark.parametrize("name", BEYOND_THE_ORACLE)
def test_quantization_beyond_the_oracle_is_numerically_right(name: str) -> None:
    mod = _module(BEYOND_THE_ORACLE[name]())
    after = FakeQuantizationToInteger(hard_fail=True)(mod)
    assert not _ops(after) & {"qnn.dequantize", name}
    _assert_close(mod, after, steps=2)


Y = relay.var("y", shape=(1, 3, 8, 8), dtype="int8")
TO_EVEN = {
    "concatenate": lambda: relay.concatenate([_dq(X, 1.0), _dq(Y)], 1),
    "concatenate of one tensor": lambda: relay.concatenate([_dq(X, 1.0), _dq(X), _dq(X)], 1),
    "multiply": lambda: relay.multiply(_dq(X, 1.0), _dq(Y, 1.0)),
    "maximum": lambda: relay.maximum(_dq(X, 1.0), _dq(Y, 1.0)),
    "nn.leaky_relu": lambda: relay.nn.leaky_relu(_dq(X, 1.0), 0.5),
    "sigmoid": lambda: relay.sigmoid(_dq(X, 1.0)),
    "nn.avg_pool2d": lambda: relay.nn.avg_pool2d(_dq(X, 1.0), (2, 2)),
    "clip": lambda: relay.clip(_dq(X, 2.0), -3.0, 5.0),
}


@pytest.mark.parametrize("name", TO_EVEN)
def test_halves_round_to_even_in_the_whole_region_if_its_quantize_does(name: str) -> None:
    mod = _module(_q(TO_EVEN[name](), 2.0, rounding="TOEVEN"))
    after = FakeQuantizationToInteger(hard_fail=True)(mod)
    assert not _ops(after) & {"qnn.concatenate", "qnn.leaky_relu", "qnn.sigmoid", "qnn.avg_pool2d"}
    _assert_close(mod, after, steps=0)


def test_sum_rounds_halves_to_even_in_every_implementation() -> None:
    mod = _module(_q(relay.add(_dq(X, 1.0), _dq(Y, 1.0)), 2.0, rounding="TOEVEN"))
    after = FakeQuantizationToInteger(hard_fail=True)(mod)
    assert 'rounding="TOEVEN"' in str(after) and "qnn.add" in _ops(after)
    data = _inputs(mod)
    x, y = (np.rint(data[n].astype(int) / 2).astype(int) for n in "xy")
    wanted = np.clip(x + y, -128, 127)
    assert (np.trunc(np.abs(data["x"]) / 2 + 0.5) != np.abs(x)).any()
    for each in (after, relay.qnn.transform.CanonicalizeOps()(after), relay.parse(after.astext())):
        np.testing.assert_array_equal(evaluate(each, data).value, wanted)
    pytest.importorskip("tvm")
    for each in (after, byoc_lab.trace(after, "dnnl").result):
        np.testing.assert_array_equal(byoc_lab.build(each).run(data)[0], wanted)


def test_tensor_dequantized_by_two_scales_keeps_both() -> None:
    mod = _module(_q(relay.concatenate([_dq(X, 1.0), _dq(X), _dq(X)], 1)))
    after = FakeQuantizationToInteger(hard_fail=True)(mod)
    data = _inputs(mod)
    # Halves are rounded up in integers, and away from zero in the reference.
    _assert_close(mod, after)
    found = evaluate(after, data).value
    np.testing.assert_array_equal(found[:, :3], (data["x"].astype(int) + 1) >> 1)
    np.testing.assert_array_equal(found[:, 3:], np.concatenate([data["x"]] * 2, 1))


def test_softmax_is_quantized_only_on_request() -> None:
    row = relay.var("r", shape=(4, 10), dtype="int8")
    mod = _module(_q(relay.nn.softmax(_dq(row, 0.1)), 1 / 255, -128))
    assert FakeQuantizationToInteger()(mod) is mod
    after = FakeQuantizationToInteger(optional_qnn_ops=["nn.softmax"])(mod)
    assert "qnn.softmax" in _ops(after)
    _assert_close(mod, after, steps=15)  # its powers of 2 are approximated by lines: 6 % of 255


def test_operator_without_quantization_rule_stays_with_the_reason() -> None:
    mod = _module(_q(relay.cumsum(_dq(X), 1)))
    with TestCase().assertLogs(level=logging.DEBUG) as logged:
        assert FakeQuantizationToInteger()(mod) is mod
    assert "there are no rules for cumsum" in "".join(logged.output)
    with pytest.raises(PassError, match="there are no rules for cumsum"):
        FakeQuantizationToInteger(hard_fail=True)(mod)


def test_rule_that_fails_leaves_the_region_unchanged() -> None:
    rows = relay.nn.batch_matmul(
        _dq(relay.var("a", shape=(2, 5, 6), dtype="int8")),
        _dq(relay.var("b", shape=(2, 6, 4), dtype="int8")),
        transpose_b=False,
    )
    mod = _module(_q(rows))
    assert FakeQuantizationToInteger()(mod) is mod
    with pytest.raises(PassError, match="needs transpose_a=False, transpose_b=True"):
        FakeQuantizationToInteger(hard_fail=True)(mod)


def test_a_registered_rule_rewrites_its_operator() -> None:
    def rule(call, types):
        t = types[call.args[0]]
        wide = relay.cast(call.args[0], "int32")
        return [wide, TensorAffineType(t.scale, t.zero_point, "int32")]

    mod = _module(_q(relay.ceil(_dq(X, 1.0)), 2.0))
    op = relay.op.get("ceil")
    relay.op.register_fake_quantization_to_integer("ceil", rule)
    try:
        after = FakeQuantizationToInteger(hard_fail=True)(mod)
    finally:
        op.reset_attr("FTVMFakeQuantizationToInteger")
    assert _ops(after) == {"cast", "qnn.requantize"}
    _assert_close(mod, after)


def test_affine_types_are_compared_by_value() -> None:
    one, two = (TensorAffineType(relay.const(s), relay.const(0), "int8") for s in (1.0, 2.0))
    assert one == TensorAffineType(relay.const(1.0), relay.const(0), "int8") != two


def test_operators_of_regions_are_counted_as_by_tvm() -> None:
    """An operator in two regions counts twice, one outside not at all."""
    relu = relay.nn.relu(_dq(X, 1.0))
    two = relay.Tuple([_q(relu, 1.0), _q(relay.exp(relu) + relay.const(2.0), 1.0), relay.abs(relu)])
    assert list_fake_quantized_op_freqs(_module(two)) == {"nn.relu": 2, "exp": 1, "add": 1}
    mixed = _q(relu + relay.var("f", shape=(1,)), 1.0)
    assert list_fake_quantized_op_freqs(_module(mixed)) == {}
    assert list_fake_quantized_op_freqs(_module(_q(_dq(X, 1.0), 1.0))) == {}


def test_each_kind_of_fake_quantization_has_a_rule_and_an_operator() -> None:
    definitions = [Op.get(name).definition for name in Op.list_op_names()]
    named = {d.fake_quantized for d in definitions} - {None}
    assert set(RULES) == set(FakeQuantized) == named
    assert all(d.fake_quantized is not None for d in definitions if d.qat)
