"""Helpers that importers build expressions with, compared with PyTorch and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.compat.ir import frontend_builders as common
from byoc_lab.compat.ir.frontend_builders import ExprTable

STEPS, BATCH, WIDTH, STATE = 4, 2, 3, 5


def _value(expr: Any, **inputs: Any) -> Any:
    mod = relay.IRModule.from_expr(relay.Function(relay.analysis.free_vars(expr), expr))
    return byoc_lab.evaluate(mod, inputs).value


def _constants(*arrays: Any) -> list[Any]:
    return [relay.const(a.detach().numpy()) for a in arrays]


def _inputs() -> tuple[Any, Any]:
    x = np.random.RandomState(0).uniform(-1, 1, (STEPS, BATCH, WIDTH)).astype("float32")
    return x, common.unbind(relay.var("x", shape=x.shape))


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_recurrent_cells_equal_those_of_pytorch(kind: str, backwards: bool) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.manual_seed(0)
    net = getattr(torch.nn, kind)(WIDTH, STATE)
    weights = _constants(net.weight_ih_l0, net.weight_hh_l0, net.bias_ih_l0, net.bias_hh_l0)
    x, steps = _inputs()
    zero = relay.const(np.zeros((BATCH, STATE), "float32"))
    states = [zero, zero] if kind == "LSTM" else [zero]
    cell = getattr(common, f"{kind.lower()}_cell")
    outputs, *last = cell(list(steps), *states, *weights, backwards=backwards)
    order = slice(None, None, -1) if backwards else slice(None)
    wanted, _ = net(torch.from_numpy(x[order].copy()))
    wanted = wanted.detach().numpy()
    found = _value(relay.stack(outputs, axis=0), x=x)
    np.testing.assert_allclose(found, wanted[order], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(_value(last[0], x=x), wanted[-1], rtol=1e-5, atol=1e-6)


def test_gru_keeps_its_state_after_the_end_of_a_sequence() -> None:
    random = np.random.RandomState(1)
    w, r = (random.uniform(-1, 1, (3 * STATE, n)).astype("float32") for n in (WIDTH, STATE))
    x, steps = _inputs()
    zero = relay.const(np.zeros((BATCH, STATE), "float32"))
    lengths = relay.const(np.array([2, 4], "int32"))
    weights = (relay.const(w), relay.const(r))
    outputs, last = common.gru_cell(list(steps), zero, *weights, sequence_lens=lengths)
    plain, _ = common.gru_cell(list(steps), zero, *weights)
    final, second, fourth = (_value(e, x=x) for e in (last, plain[1], plain[3]))
    np.testing.assert_allclose(final, [second[0], fourth[1]], rtol=1e-6)
    assert not _value(outputs[3], x=x)[0].any()


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(("size", "stride", "kernel"), [(5, 2, 3), (6, 2, 3), (7, 1, 4), (6, 3, 2)])
def test_autopad_gives_one_window_per_stride(
    size: int, stride: int, kernel: int, mode: str
) -> None:
    x = relay.var("x", shape=(1, 1, size))
    padded = _value(
        common.autopad(x, [stride], [kernel], mode=mode), x=np.ones((1, 1, size), "float32")
    )
    assert (padded.shape[2] - kernel) // stride + 1 == -(-size // stride)
    zeros = np.flatnonzero(padded[0, 0] == 0)
    before, after = int((zeros < size // 2).sum()), int((zeros >= size // 2).sum())
    assert 0 <= (after - before if mode == "SAME_UPPER" else before - after) <= 1


def test_importers_get_shapes_and_scalars_as_in_tvm() -> None:
    x = relay.var("x", shape=(2, 3, 4))
    assert common.shape_of(x).numpy().tolist() == [2, 3, 4]
    assert common.shape_of(x, "int32", 1, 2).numpy().tolist() == [3]
    y = relay.var("y", shape=(relay.Any(), 3))
    array = np.ones((5, 3), "float32")
    assert _value(common.shape_of(y), y=array).tolist() == [5, 3]
    assert _value(common.shape_of(y, start=0, end=1), y=array).tolist() == [5]
    scalar = common.ensure_scalar_shape(relay.var("z", shape=(1, 1)))
    assert _value(scalar, z=np.ones((1, 1), "float32")).shape == ()
    with pytest.raises(ValueError, match="one element"):
        common.ensure_scalar_shape(x)


def test_importers_resolve_variables_to_their_parameters() -> None:
    w = relay.var("w", shape=(2,))
    params = {"w": np.array([1, 2], "float32")}
    assert common.try_resolve_var_to_const(w, params).numpy().tolist() == [1, 2]
    assert common.try_resolve_var_to_const(w, {}) is w
    found, known = common.try_infer_value(w + w, parameters=params)
    assert known and found.tolist() == [2, 4]
    assert common.try_infer_value(w + w)[1] is False
    assert common.try_infer_value(w, lambda a: common.to_int_list(a), parameters=params)[0] == [
        1,
        2,
    ]
    assert common.try_infer_value(w, on_failure=lambda: "none") == ("none", False)
    assert common.infer_value_simulated(w * relay.const(0.0), {}).numpy().tolist() == [0, 0]


def test_unbind_of_an_invalid_or_unknown_axis_raises_an_error() -> None:
    with pytest.raises(AttributeError, match="axis 3"):
        common.unbind(relay.var("x", shape=(2, 3)), axis=3)
    with pytest.raises(ValueError, match="must be static"):
        common.unbind(relay.var("x", shape=(relay.Any(), 3)))


def test_expr_table_returns_the_expression_set_last() -> None:
    table = ExprTable()
    weight = table.new_const([1.0, 2.0])
    assert weight.name_hint == "_param_1" and table.has_expr("_param_1")
    assert table.params["_param_1"][0].numpy().tolist() == [1, 2]
    table.set_expr("x", weight)
    other = relay.var("x", shape=(1,))
    table.set_expr("x", other)
    assert table.get_expr("x") is weight
    table.set_expr("x", other, force_override=True)
    assert table.get_expr("x") is other
