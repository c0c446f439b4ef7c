"""Modules whose inputs have unknown dimensions: compiled for each new shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.backends.dnnl import native
from byoc_lab.errors import BuildError, InputError, MissingDependencyError, TypeInferenceError
from byoc_lab.relay import nn
from byoc_lab.run import dynamic, tvm_runtime
from byoc_lab.run.dynamic import DynamicExecutable

WEIGHT = np.random.default_rng(0).normal(size=(4, 3, 3, 3)).astype("float32")


def data(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).normal(size=shape).astype("float32")


def network() -> relay.IRModule:
    """conv + bias + relu, added to itself, and a softmax, with an unknown batch: two regions."""
    x = relay.var("x", shape=(relay.Any(), 3, 8, 8))
    conv = nn.conv2d(x, relay.const(WEIGHT), padding=(1, 1))
    y = nn.relu(nn.bias_add(conv, relay.const(np.arange(4, dtype="float32"))))
    return relay.IRModule.from_expr(relay.Function([x], nn.softmax(nn.batch_flatten(y + y))))


@pytest.mark.parametrize("partitioned", [False, True])
def test_module_with_unknown_batch_runs_with_any_batch(partitioned: bool) -> None:
    mod = network()
    exe = byoc_lab.build(byoc_lab.trace(mod, "dnnl").result if partitioned else mod)
    for batch in (1, 3, 2, 3):
        x = data(batch, 3, 8, 8)
        (wanted,) = byoc_lab.evaluate(mod, [x]).outputs
        np.testing.assert_allclose(exe(x)[0], wanted, rtol=1e-4, atol=1e-5)
    if partitioned:
        exe.assert_offloaded(regions=2)


def test_cards_belong_to_the_last_shapes() -> None:
    exe = byoc_lab.build(byoc_lab.trace(network(), "dnnl").result)
    with pytest.raises(BuildError, match="nothing is compiled before the first run"):
        exe.cards()
    flops = []
    for batch in (1, 4):
        exe(data(batch, 3, 8, 8))
        flops.append([card.facts.flops for card in exe.cards()])
    assert flops[1] == [4 * n for n in flops[0]]


def test_compiled_code_is_kept_for_several_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = 3
    monkeypatch.setattr(dynamic, "KEPT", kept)
    exe = byoc_lab.build(network())
    assert isinstance(exe, DynamicExecutable)
    first = exe.for_inputs([data(1, 3, 8, 8)])
    for batch in range(2, kept + 1):
        exe.for_inputs([data(batch, 3, 8, 8)])
    assert exe.for_inputs([data(1, 3, 8, 8)]) is first
    exe.for_inputs([data(kept + 1, 3, 8, 8)])
    exe.for_inputs([data(kept + 2, 3, 8, 8)])
    assert exe.for_inputs([data(1, 3, 8, 8)]) is first
    assert len(exe._made) == kept


def test_host_computes_an_empty_batch() -> None:
    exe = byoc_lab.build(byoc_lab.trace(network(), "dnnl").result)
    assert exe(data(0, 3, 8, 8))[0].shape == (0, 256)
    assert not any(card.offloaded for card in exe.cards())


def test_timing_and_export_need_given_shapes() -> None:
    exe = byoc_lab.build(network())
    assert exe.time([data(2, 3, 8, 8)], repeat=2).best > 0
    with pytest.raises(BuildError, match="for_inputs"):
        exe.export_library("nowhere.so")


def test_inputs_of_a_dynamic_module_are_checked() -> None:
    exe = byoc_lab.build(network())
    with pytest.raises(InputError, match=r"expected Tensor\[\(\?, 3, 8, 8\), float32\]"):
        exe(data(1, 2, 8, 8))


def test_shapes_that_do_not_fit_each_other_are_named() -> None:
    x, y = (relay.var(name, shape=(relay.Any(), 4)) for name in "xy")
    exe = byoc_lab.build(relay.IRModule.from_expr(relay.Function([x, y], x + y)))
    assert exe(data(3, 4), data(1, 4))[0].shape == (3, 4)
    with pytest.raises(TypeInferenceError, match="add"):
        exe(data(3, 4), data(2, 4))


def test_shapes_computed_from_shapes_are_known() -> None:
    """A reshape to the shape of another tensor, and a region after it."""
    x = relay.var("x", shape=(relay.Any(), relay.Any(), 4))
    lengths = relay.shape_of(x, "int64")
    wanted = relay.concatenate(
        [relay.strided_slice(lengths, [1], [2]), relay.strided_slice(lengths, [0], [1]),
         relay.const([2, 2], "int64")], axis=0,
    )  # fmt: skip
    weight = relay.const(data(5, 2))
    y = nn.relu(nn.dense(relay.reshape(relay.reshape(x, wanted), (-1, 2)), weight))
    mod = relay.IRModule.from_expr(relay.Function([x], y))
    exe = byoc_lab.build(byoc_lab.trace(mod, "dnnl").result)
    for shape in ((2, 3, 4), (1, 1, 4)):
        x_data = data(*shape)
        (wanted_data,) = byoc_lab.evaluate(mod, [x_data]).outputs
        np.testing.assert_allclose(exe(x_data)[0], wanted_data, rtol=1e-5, atol=1e-6)
        exe.assert_offloaded(regions=1)


def test_validate_uses_the_shapes_of_the_inputs() -> None:
    mod = network()
    after = byoc_lab.trace(mod, "dnnl").result
    assert byoc_lab.validate(mod, after, [data(3, 3, 8, 8)])
    with pytest.raises(InputError, match="unknown dimension sizes"):
        byoc_lab.validate(mod, after)


def test_bisect_uses_the_shapes_of_the_inputs() -> None:
    found = byoc_lab.bisect(network(), "dnnl", [data(2, 3, 8, 8)])
    assert found.conclusive and not found.unchecked and len(found.checked) > 0


def test_coverage_counts_operators_with_unknown_flops() -> None:
    text = str(byoc_lab.coverage(network(), "dnnl"))
    assert text.startswith("dnnl: 5 of 6 operators offloaded in 2 regions")
    assert "the FLOP of 6 operators are not known" in text


def test_dynamic_module_with_a_function_call_is_offloaded_before_it() -> None:
    """The call's result has an unknown shape, so only the first relu is offloaded."""
    mod = relay.parse("""
        def @twice(%y: Tensor[(?, 4), float32]) -> Tensor[(?, 4), float32] { add(%y, %y) }
        def @main(%x: Tensor[(?, 4), float32]) -> Tensor[(?, 4), float32] {
          nn.relu(@twice(nn.relu(%x)))
        }
    """)
    exe = byoc_lab.build(byoc_lab.trace(mod, "dnnl").result)
    np.testing.assert_array_equal(exe(data(3, 4))[0], 2 * np.maximum(data(3, 4), 0))


def test_tuple_with_unknown_dimensions_may_be_an_input() -> None:
    ty = relay.TupleType([relay.TensorType((relay.Any(),)), relay.TensorType((2,))])
    pair = relay.Var("pair", ty)
    body = relay.TupleGetItem(pair, 0) + relay.const(np.float32(1))
    exe = byoc_lab.build(relay.IRModule.from_expr(relay.Function([pair], body)))
    np.testing.assert_array_equal(exe((data(5), data(2)))[0], data(5) + 1)


def test_recursion_with_unknown_dimensions_raises_build_error() -> None:
    mod = relay.parse("""
        def @again(%n: Tensor[(), int32], %x: Tensor[(?), float32]) -> Tensor[(?), float32] {
          if (less(%n, 1)) { %x } else { @again(subtract(%n, 1), add(%x, %x)) }
        }
        def @main(%n: Tensor[(), int32], %x: Tensor[(?), float32]) -> Tensor[(?), float32] {
          @again(%n, %x)
        }
    """)
    exe = byoc_lab.build(mod)
    unknown = r"a function calls itself, and sizes of inputs are unknown: x \(Tensor\[\(\?\), "
    with pytest.raises(BuildError, match=unknown):
        exe(np.array(2, "int32"), data(3))


def test_dynamic_module_runs_without_apache_tvm_and_dnnl(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise MissingDependencyError("this needs apache-tvm")

    monkeypatch.setattr(tvm_runtime, "import_tvm", missing)
    monkeypatch.setattr(native, "available", lambda: False)
    exe = byoc_lab.build(byoc_lab.trace(network(), "dnnl").result)
    x = data(2, 3, 8, 8)
    (wanted,) = byoc_lab.evaluate(network(), [x]).outputs
    np.testing.assert_allclose(exe(x)[0], wanted, rtol=1e-4, atol=1e-5)


def test_operator_after_a_broadcast_to_a_computed_shape_is_offloaded() -> None:
    x, y = (relay.var(name, shape=(relay.Any(), 4)) for name in "xy")
    wide = relay.broadcast_to(x, relay.shape_of(y, "int64"))
    mod = relay.IRModule.from_expr(relay.Function([x, y], nn.relu(wide)))
    exe = byoc_lab.build(byoc_lab.trace(mod, "dnnl").result)
    found = exe(np.float32([[1, -2, 3, -4]]), np.zeros((3, 4), np.float32))[0]
    np.testing.assert_array_equal(found, [[1, 0, 3, 0]] * 3)
    exe.assert_offloaded(regions=1)


def test_operators_on_sizes_that_depend_on_values_are_not_offloaded() -> None:
    """The number of nonzero elements is known only at run time; the batch is known before."""
    x = relay.var("x", shape=(relay.Any(), 4))
    places = relay.cast(relay.argwhere(x), "float32")
    y = relay.Tuple([nn.relu(places), nn.relu(x)])
    mod = relay.IRModule.from_expr(relay.Function([x], y))
    found = byoc_lab.explain(mod, "dnnl")
    relus = [e for e in found if e.name == "nn.relu"]
    assert sorted(e.offloaded for e in relus) == [False, True]
    assert "must have a shape that does not depend on values" in str(found)
