"""The second back end: regions as plain C, compiled, run and compared."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import backends, build, relay, validate
from byoc_lab.backends.c_source import ELEMENTWISE, c_source
from byoc_lab.backends.ccompiler import CRegion
from byoc_lab.errors import BuildError
from byoc_lab.lab.checking.tolerances import bounded
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.typing.infer import infer_expr, infer_module
from byoc_lab.run.inline import inlined

pytest.importorskip("tvm_ffi")
needs_cc = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler is installed"
)


def function(expr: Expr) -> Function:
    made = infer_expr(Function(free_vars(expr), expr))
    assert isinstance(made, Function)
    return made


def random(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).standard_normal(shape), np.float32)


def check(expr: Expr, positive: bool = False) -> None:
    func = function(expr)
    inputs = {p: random(p.checked_type.concrete_shape, n) for n, p in enumerate(func.params)}
    if positive:
        inputs = {p: np.abs(v) + np.float32(0.1) for p, v in inputs.items()}
    wanted = bounded(inlined(func), inputs, exact_constants=True)
    got = CRegion(func, "region")(*inputs.values())
    for g, w, tolerance in zip(got, wanted.outputs, wanted.tolerances, strict=True):
        assert g.shape == w.shape
        assert np.abs(g - w).max() <= tolerance


@needs_cc
@pytest.mark.parametrize("operator", ELEMENTWISE)
def test_each_operator(operator: str) -> None:
    operands = [relay.var(n, shape=(2, 3, 4)) for n in Op.get(operator).definition.inputs]
    attrs = {"a_min": -0.5, "a_max": 0.25} if operator == "clip" else {}
    check(relay.op.builder(Op.get(operator))(*operands, **attrs), operator in ("log", "sqrt"))


@needs_cc
@given(st.lists(st.integers(1, 3), max_size=4), st.data())
@settings(max_examples=8, deadline=None)
def test_shapes_broadcast(shape: list[int], draw: st.DataObject) -> None:
    kept = draw.draw(st.integers(0, len(shape)))
    other = [n if draw.draw(st.booleans()) else 1 for n in shape[kept:]]
    check(relay.var("a", shape=shape) * relay.var("b", shape=other) - relay.const(0.1))


@needs_cc
def test_dense_with_constants_and_two_results() -> None:
    data = relay.var("data", shape=(3, 5))
    hidden = nn.relu(nn.dense(data, relay.const(random((4, 5)))) + relay.const(random((4,))))
    check(relay.Tuple([hidden, relay.exp(hidden), data]))


@needs_cc
def test_a_network_on_two_back_ends_and_the_host() -> None:
    data = relay.var("data", shape=(3, 5))
    hidden = nn.relu(nn.dense(data, relay.const(random((4, 5)))) + relay.const(random((4,))))
    mod = infer_module(IRModule.from_expr(relay.tanh(relay.erf(hidden))))
    cut = backends.partition(mod, "ccompiler")
    assert 'Composite="ccompiler.dense_bias"' in str(cut) and len(cut.functions) == 3
    program = build(cut)
    assert validate(mod, program, [random((3, 5))]).ok
    program.assert_offloaded()
    assert [card.ran_on for card in program.cards()] == ["ccompiler", "ccompiler"]


def test_the_c_is_for_reading() -> None:
    data = relay.var("data", shape=(2, 3))
    source = c_source(function(nn.relu(data + relay.const(random((3,))))), "sum")
    for line in (
        "int __tvm_ffi_sum(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {",
        "// add",
        "float y = c0[i1];",
        "t0[i0 * 3 + i1] = x + y;",
        "t1[i0 * 3 + i1] = x < 0.0f ? 0.0f : x;",
    ):
        assert line in source


def test_what_has_no_c_is_refused_by_name() -> None:
    with pytest.raises(BuildError, match="region @r: ccompiler has no C for erf"):
        c_source(function(relay.erf(relay.var("x", shape=(2,)))), "r")


def test_without_a_compiler_it_says_how_to_get_one(monkeypatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(BuildError, match="needs a C compiler, and found none of cc, gcc, clang"):
        CRegion(function(relay.exp(relay.var("x", shape=(2,)))), "r")


@needs_cc
def test_what_the_compiler_says_is_shown(monkeypatch) -> None:
    monkeypatch.setenv("CC", "false")
    with pytest.raises(BuildError, match="failed"):
        CRegion(function(relay.exp(relay.var("x", shape=(2,)))), "r")


@needs_cc
def test_arguments_are_checked_before_memory_is_touched() -> None:
    region = CRegion(function(relay.exp(relay.var("x", shape=(2, 3)))), "r")
    run = region.module["r"]
    good, out = random((2, 3)), np.empty((2, 3), np.float32)
    run(good, out)
    np.testing.assert_allclose(out, np.exp(good), rtol=1e-6)
    with pytest.raises(TypeError, match="wrong number of tensors"):
        run(good)
    with pytest.raises(TypeError, match="expected tensors"):
        run(good, 1)
    for bad in (random((3, 2)), random((6,)), good.astype("f8"), random((2, 6))[:, ::2]):
        with pytest.raises(ValueError, match="another dtype, device, shape or layout"):
            run(bad, out)
