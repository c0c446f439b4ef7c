"""Building: DNNL regions with the host part, inputs, fallback, timing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.backends.dnnl import native
from byoc_lab.errors import BuildError, InputError, OffloadError, UnknownNameError
from byoc_lab.passes import PartitionGraph
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.analysis.annotations import begin, end
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import OffloadWarning, backend_names, build, compare_times, evaluate, get_backend
from tests.strategies import modules
from tests.sweeps import some

pytestmark = pytest.mark.native


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def builder(name: str) -> Any:
    return relay.op.builder(Op.get(name))


def close(got: list[np.ndarray], wanted: tuple[np.ndarray, ...]) -> None:
    assert len(got) == len(wanted)
    for g, w in zip(got, wanted, strict=True):
        assert g.shape == w.shape and g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-5)


def small_net() -> IRModule:
    """conv2d, batch norm, relu on DNNL; erf on the host; dense with bias on DNNL."""
    x = relay.var("x", shape=(1, 3, 8, 8))
    conv = nn.conv2d(x, relay.const(random(4, 3, 3, 3)), padding=1)
    vectors = [relay.const(np.abs(random(4, seed=n)) + 0.5) for n in range(4)]
    body = builder("erf")(nn.relu(nn.batch_norm(conv, *vectors)[0]))
    scores = nn.dense(nn.batch_flatten(body), relay.const(random(5, 256)))
    result = nn.bias_add(scores, relay.var("bias", shape=(5,)))
    return infer_module(
        IRModule.from_expr(Function([x, *relay.analysis.free_vars(result)[1:]], result))
    )


X, BIAS = random(1, 3, 8, 8, seed=7), random(5, seed=8)


@pytest.fixture(scope="module")
def partitioned() -> IRModule:
    return dnnl.partition_for_dnnl(small_net())


@pytest.fixture(scope="module")
def exe(partitioned: IRModule) -> Any:
    return build(partitioned)


def test_build_of_regions_and_host_equals_the_reference(exe: Any) -> None:
    wanted = evaluate(small_net(), [X, BIAS]).outputs
    close(exe(X, BIAS), wanted)
    close(exe(x=X, bias=BIAS), wanted)
    close(exe.run({"bias": BIAS, "x": X}), wanted)


def test_cards_state_where_and_how_each_region_ran(partitioned: IRModule) -> None:
    exe = build(partitioned)
    with pytest.raises(OffloadError, match="has not run yet"):
        exe.assert_offloaded()
    with exe.profiling():
        exe(X, BIAS)
    exe(X, BIAS)
    exe.assert_offloaded()
    conv, dense = exe.cards()
    assert (conv.ran_on, conv.calls, conv.operators, conv.offloaded) == ("dnnl", 2, 3, True)
    assert [op.fused for op in conv.ops] == [("relu",)]
    assert conv.time_us is not None and conv.time_us > 0
    assert conv.ops[0].impl in str(conv) and "2 calls" in str(conv)
    assert dense.operators == 2 and [len(c.ops) for c in exe.cards()] == [1, 1]
    assert exe.host_operators == 2
    assert "dnnl" in repr(exe)
    page = exe.cards()._repr_html_()
    assert f"<summary>@{conv.symbol}</summary>" in page and page.count("<li>") == 2


def test_build_without_offloading_computes_the_same(partitioned: IRModule) -> None:
    wanted = evaluate(small_net(), [X, BIAS]).outputs
    for exe, why in (
        (build(partitioned, offload=False), "was told not to offload it"),
        (build(partitioned, backends={"dnnl": None}), "was given None as its code generator"),
    ):
        close(exe(X, BIAS), wanted)
        assert {c.ran_on for c in exe.cards()} == {"llvm"}
        with pytest.raises(OffloadError, match=rf"ran on llvm, not dnnl: build\(\) {why}"):
            exe.assert_offloaded()


def test_module_without_regions_is_built_but_not_offloaded() -> None:
    exe = build(small_net())
    close(exe(X, BIAS), evaluate(small_net(), [X, BIAS]).outputs)
    with pytest.raises(OffloadError, match="nothing is offloaded"):
        exe.assert_offloaded()


def test_params_become_constants(partitioned: IRModule) -> None:
    exe = build(partitioned, params={"bias": BIAS})
    close(exe(X), evaluate(small_net(), [X, BIAS]).outputs)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([X], r"expected 2 inputs \(x, bias\), found 1"),
        ({"x": X}, r"missing inputs: %bias: Tensor\[\(5\), float32\]"),
        ({"x": X, "bias": BIAS, "y": X}, r"no input is called 'y'"),
        (
            [X[:, :2], BIAS],
            r"input %x: expected Tensor\[\(1, 3, 8, 8\), float32\], found Tensor\[\(1, 2",
        ),
        ([X.astype("float64"), BIAS], r"input %x: expected .*float32\], found .*float64\]"),
    ],
)
def test_wrong_inputs_are_named(exe: Any, inputs: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        exe.run(inputs)
    with pytest.raises(InputError, match="in order or by name, not both"):
        exe(X, bias=BIAS)
    with pytest.raises(InputError, match="in order or by name, not both"):
        exe.run([X], bias=BIAS)


def test_arrays_outside_a_list_are_refused_with_the_right_form(exe: Any) -> None:
    with pytest.raises(InputError, match=r"found 2 arguments; write run\(\[a, b\]\)"):
        exe.run(X, BIAS)


def test_strided_and_read_only_inputs_give_the_same_result(exe: Any) -> None:
    wanted = exe(X, BIAS)
    frozen = X.copy()
    frozen.flags.writeable = False
    turned = np.asfortranarray(X)
    for x in (frozen, turned, X[..., ::1]):
        np.testing.assert_array_equal(exe(x, BIAS)[0], wanted[0])


# Forms of Relay modules


def test_several_outputs_tuples_and_unused_results_equal_the_reference() -> None:
    x = relay.var("x", shape=(2, 3))
    inside = nn.relu(begin(x, "dnnl"))
    left, right = end(inside, "dnnl"), end(builder("tanh")(inside), "dnnl")
    mod = infer_module(IRModule.from_expr(relay.Tuple([left, relay.Tuple([right, x])])))
    partitioned = PartitionGraph()(mod)
    assert len(partitioned) == 2
    value = random(2, 3)
    exe = build(partitioned)
    close(exe(value), evaluate(mod, [value]).outputs)
    exe.assert_offloaded()


def test_let_function_and_global_call_equal_the_reference() -> None:
    x, y, p, t = (relay.var(n, shape=(2, 3)) for n in "xypt")
    mod = IRModule()
    mod["helper"] = Function([p], nn.relu(p) + p)
    helper = mod.get_global_var("helper")
    twice = Function([y], helper(helper(y)))
    mod["main"] = Function([x], relay.Let(t, helper(x), relay.Call(twice, [t]) * t))
    mod = infer_module(mod)
    value = random(2, 3)
    close(build(mod)(value), evaluate(mod, [value]).outputs)


def test_both_branches_of_an_if_equal_the_reference() -> None:
    x, flag = relay.var("x", shape=(3,)), relay.var("flag", relay.TensorType((), "bool"))
    inner = relay.If(flag, builder("exp")(x), builder("negative")(x))
    mod = infer_module(
        IRModule.from_expr(Function([x, flag], relay.If(flag, nn.relu(x), inner) + x))
    )
    exe, value = build(mod), random(3)
    for chosen in (True, False):
        given = [value, np.array(chosen)]
        close(exe(*given), evaluate(mod, given).outputs)


@settings(max_examples=some(10))
@given(modules())
def test_random_modules_agree_with_the_reference(mod: IRModule) -> None:
    inputs = [random(3, 4), random(3, 4, seed=1)]
    wanted = evaluate(mod, inputs).outputs
    got = build(mod)(*inputs)
    for g, w in zip(got, wanted, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-4)


def test_unbuildable_module_raises_build_error_that_names_the_cause() -> None:
    x = relay.var("x", shape=(3,))
    with pytest.raises(BuildError, match="is a reference, which only TVM's Relay has"):
        build(IRModule.from_expr(relay.RefCreate(x)))
    mod = IRModule()
    mod["main"] = Function([x], x)
    mod["main"] = Function([x], mod.get_global_var("main")(x), relay.TensorType((3,)))
    with pytest.raises(BuildError, match="calls itself"):
        build(mod)
    with pytest.raises(BuildError, match="cannot compile the host part for target 'nonsense'"):
        build(IRModule.from_expr(nn.relu(x)), target="nonsense")


# Back ends


def test_back_ends_are_registered_by_name() -> None:
    assert "dnnl" in backend_names() and get_backend("dnnl") is dnnl.compile_region
    with pytest.raises(UnknownNameError, match=r"for the compiler 'npu'; there are .*dnnl"):
        get_backend("npu")


def external(compiler: str) -> tuple[IRModule, IRModule]:
    x = relay.var("x", shape=(2, 3))
    mod = infer_module(IRModule.from_expr(end(builder("erf")(begin(x, compiler)), compiler)))
    return mod, PartitionGraph()(mod)


def test_unknown_back_end_and_refused_region_raise_errors() -> None:
    with pytest.raises(UnknownNameError, match=r"no code generator .* the compiler 'npu'"):
        build(external("npu")[1])
    with pytest.raises(BuildError, match="DNNL has no counterpart of erf"):
        build(external("dnnl")[1])


@pytest.mark.parametrize("compiler", ["npu", "dnnl"])
def test_fallback_runs_only_on_request_and_warns(compiler: str) -> None:
    mod, partitioned = external(compiler)
    with pytest.warns(OffloadWarning, match=rf"region @.* of {compiler} runs on the host \(llvm\)"):
        exe = build(partitioned, fallback=True)
    value = random(2, 3)
    close(exe(value), evaluate(mod, [value]).outputs)
    (card,) = exe.cards()
    assert (card.ran_on, card.calls, card.offloaded) == ("llvm", 1, False)
    assert f"not on {compiler}" in str(card)
    with pytest.raises(OffloadError, match=f"ran on llvm, not {compiler}"):
        exe.assert_offloaded()


def test_partition_of_2020_warns_that_its_functions_are_part_of_the_host() -> None:
    mod, _ = external("dnnl")
    local = PartitionGraph(era="2020-01")(mod)
    with pytest.warns(OffloadWarning, match="on the host: dnnl_0 of dnnl, defined inside"):
        exe = build(local)
    value = random(2, 3)
    close(exe(value), evaluate(mod, [value]).outputs)
    with pytest.raises(OffloadError, match="calls no global external function"):
        exe.assert_offloaded()
    build(local, offload=False)


def test_user_s_back_end_computes_its_regions() -> None:
    """Registered in the same way as DNNL; it negates for relu, which shows that it ran."""

    def codegen(function: Function, symbol: str) -> Any:
        made = dnnl.region_graph(function, symbol)
        (op,) = made.graph["ops"]
        op["attrs"] = {"alg": "linear", "alpha": -1.0}
        return native.DnnlRegion(made.graph, made.constants)

    x = relay.var("x", shape=(2, 3))
    mod = infer_module(IRModule.from_expr(end(nn.relu(begin(x, "mine")), "mine")))
    exe = build(PartitionGraph()(mod), backends={"mine": codegen})
    value = random(2, 3)
    np.testing.assert_array_equal(exe(value)[0], -value)
    exe.assert_offloaded()


# Time


def test_time_runs_the_executable_and_refuses_invalid_counts(
    exe: Any, partitioned: IRModule
) -> None:
    timing = exe.time(number=2, repeat=5)
    assert len(timing.seconds) == 5
    assert 0 < timing.best <= timing.median <= timing.worst
    assert "median of 5" in str(timing)
    before = exe.runs
    both = compare_times({"a": exe, "b": build(partitioned, offload=False)}, [X, BIAS], repeat=3)
    assert set(both) == {"a", "b"} and exe.runs == before + 4  # one run is a warm-up
    with pytest.raises(InputError, match="must be integers of at least 1, found 0 and 10"):
        exe.time(number=0)


def test_aligned_input_is_read_without_a_copy() -> None:
    from byoc_lab.run.tvm_runtime import ALIGNMENT, to_device

    raw = np.zeros(64 + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    for offset, shared in ((0, True), (4, False)):
        given = raw[start + offset :][:32].view(np.float32)
        tensor = to_device(given)
        given[:] = 7
        assert (tensor.numpy() == 7).all() == shared
        given[:] = 0


def test_direct_call_with_other_arrays_uses_the_checked_path(
    exe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only aligned contiguous arrays use the fast path."""
    aligned = [native.aligned_empty(a.shape) for a in (X, BIAS)]
    for into, array in zip(aligned, (X, BIAS), strict=True):
        into[...] = array
    wanted, runs = exe(X, BIAS), exe.runs
    monkeypatch.setattr("byoc_lab.run.executable.bind_inputs", None)
    (got,) = exe(*aligned)
    assert exe.runs == runs + 1
    np.testing.assert_array_equal(got, wanted[0])
    got[...] = 0  # a separate array
    np.testing.assert_array_equal(exe(*aligned)[0], wanted[0])
    frozen = [a.view() for a in aligned]
    frozen[0].flags.writeable = False
    for others in (frozen, [aligned[0].astype("float64"), aligned[1]], [aligned[0].tolist(), BIAS]):
        with pytest.raises(TypeError, match="not callable"):
            exe(*others)
