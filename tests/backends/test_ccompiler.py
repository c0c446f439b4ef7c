"""The example back end ccompiler: regions as plain C, compiled, run and compared."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import backends, build, evaluate, relay, validate
from byoc_lab.backends.c_source import ELEMENTWISE, c_source
from byoc_lab.backends.ccompiler import CRegion
from byoc_lab.errors import BuildError, RegionError
from byoc_lab.lab.checking.tolerances import bounded
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.typing.infer import infer_expr, infer_module
from byoc_lab.run.inline import inlined
from byoc_lab.run.library import load_library
from tests.compilers import needs_cc
from tests.sweeps import some

pytest.importorskip("tvm_ffi")


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
        assert np.all(np.abs(g - w) <= tolerance)


@needs_cc
@pytest.mark.parametrize("operator", ELEMENTWISE)
def test_each_operator_in_c_equals_the_reference(operator: str) -> None:
    operands = [relay.var(n, shape=(2, 3, 4)) for n in Op.get(operator).definition.inputs]
    attrs = {"a_min": -0.5, "a_max": 0.25} if operator == "clip" else {}
    check(relay.op.builder(Op.get(operator))(*operands, **attrs), operator in ("log", "sqrt"))


@needs_cc
@given(st.lists(st.integers(1, 3), max_size=4), st.data())
@settings(max_examples=some(8), deadline=None)
def test_operands_that_broadcast_equal_the_reference(shape: list[int], draw: st.DataObject) -> None:
    kept = draw.draw(st.integers(0, len(shape)))
    other = [n if draw.draw(st.booleans()) else 1 for n in shape[kept:]]
    check(relay.var("a", shape=shape) * relay.var("b", shape=other) - relay.const(0.1))


@needs_cc
def test_region_with_dense_constants_and_two_results_equals_the_reference() -> None:
    data = relay.var("data", shape=(3, 5))
    hidden = nn.relu(nn.dense(data, relay.const(random((4, 5)))) + relay.const(random((4,))))
    check(relay.Tuple([hidden, relay.exp(hidden), data]))


@needs_cc
def test_network_on_two_back_ends_and_the_host_equals_the_reference() -> None:
    data = relay.var("data", shape=(3, 5))
    hidden = nn.relu(nn.dense(data, relay.const(random((4, 5)))) + relay.const(random((4,))))
    mod = infer_module(IRModule.from_expr(relay.tanh(relay.erf(hidden))))
    cut = backends.partition(mod, "ccompiler")
    assert 'Composite="ccompiler.dense_bias"' in str(cut) and len(cut.functions) == 3
    program = build(cut)
    assert validate(mod, program, [random((3, 5))]).ok
    program.assert_offloaded()
    assert [card.ran_on for card in program.cards()] == ["ccompiler", "ccompiler"]


def test_c_source_is_readable() -> None:
    data = relay.var("data", shape=(2, 3))
    source = c_source(function(nn.relu(data + relay.const(random((3,))))), "sum").text
    for line in (
        "int __tvm_ffi_sum(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {",
        "// add",
        "float y = c0[i1];",
        "t0[i0 * 3 + i1] = x + y;",
        "t1[i0 * 3 + i1] = x < 0.0f ? 0.0f : x;",
    ):
        assert line in source


def test_operator_without_c_code_raises_build_error_with_its_name() -> None:
    with pytest.raises(BuildError, match="region @r: ccompiler has no C for erf"):
        c_source(function(relay.erf(relay.var("x", shape=(2,)))), "r")


@functools.cache
def propagating() -> CRegion:
    """One region of the operators that select or compare numbers, compiled once."""
    a, b = (relay.var(n, shape=(1, 3)) for n in "ab")
    chosen = [nn.relu(a), relay.clip(a, -1, 1), relay.minimum(a, b), relay.maximum(a, b)]
    return CRegion(function(relay.Tuple(chosen)), "choose")


@needs_cc
@given(
    st.lists(st.sampled_from([np.nan, -np.inf, np.inf, -0.0, 0.5, -2.0]), min_size=2, max_size=2)
)
@settings(max_examples=some(36), deadline=None)
def test_nan_operand_gives_nan(values: list[float]) -> None:
    """As in NumPy, whichever operand has the nan."""
    a, b = (np.float32([[v, 1, v]]) for v in values)
    found = propagating()(a, b)
    wanted = [np.maximum(a, 0), np.clip(a, -1, 1), np.minimum(a, b), np.maximum(a, b)]
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, want)


@needs_cc
@pytest.mark.parametrize("compiler", ["cc -DX", "env X=1 cc", "'cc'"])
def test_cc_with_options_or_quotes_is_accepted(compiler: str, monkeypatch) -> None:
    monkeypatch.setenv("CC", compiler)
    check(relay.exp(relay.var("x", shape=(2,))))


@pytest.mark.parametrize(
    ("compiler", "message"),
    [("'cc", "cannot be split into words"), ("no_such_compiler -x", "cannot be run"), ("/", "run")],
)
def test_invalid_cc_is_named_in_the_error(compiler: str, message: str, monkeypatch) -> None:
    monkeypatch.setenv("CC", compiler)
    with pytest.raises(BuildError, match=message):
        CRegion(function(relay.exp(relay.var("x", shape=(2,)))), "r")


@needs_cc
def test_noexec_temporary_folder_is_named_in_the_error(monkeypatch) -> None:
    """The error for a library on a file system mounted with noexec."""

    def refused(path: str) -> None:
        raise RuntimeError(f"{path}: failed to map segment from shared object")

    monkeypatch.setattr("tvm_ffi.load_module", refused)
    with pytest.raises(BuildError, match=r"failed to map segment.*noexec.*variable TMPDIR"):
        CRegion(function(relay.exp(relay.var("x", shape=(2,)))), "r")


def test_missing_compiler_error_says_how_to_get_one(monkeypatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(BuildError, match="needs a C compiler, and found none of cc, gcc, clang"):
        CRegion(function(relay.exp(relay.var("x", shape=(2,)))), "r")


@needs_cc
def test_build_error_shows_the_command_of_a_failed_c_compiler(monkeypatch) -> None:
    monkeypatch.setenv("CC", "false")
    with pytest.raises(BuildError, match="does not compile:\n\nThe command was false"):
        CRegion(function(relay.exp(relay.var("x", shape=(2,)))), "r")


@needs_cc
def test_arguments_are_checked_before_memory_is_touched() -> None:
    region = CRegion(function(relay.exp(relay.var("x", shape=(2, 3)))), "r")
    run = region.module["r"]
    good, out = random((2, 3)), np.empty((2, 3), np.float32)
    run(good, out)
    np.testing.assert_allclose(out, np.exp(good), rtol=1e-6)
    with pytest.raises(RegionError, match=r"@r: its code expects 2 tensors, .*, found 1"):
        run(good)
    with pytest.raises(RegionError, match="@r: its code expects tensors"):
        run(good, 1)
    expected = (
        r"@r: its code expects argument 0 as row-major float32 of shape \(2, 3\) on the CPU, "
    )
    for bad, found in (
        (random((3, 2)), r"found shape \(3, 2\) of 32 bits"),
        (random((6,)), r"found shape \(6,\) of 32 bits"),
        (good.astype("f8"), r"found shape \(2, 3\) of 64 bits"),
        (good.astype("i4"), r"found shape \(2, 3\) of 32 bits and another kind of number"),
        (random((2, 6))[:, ::2], r"found shape \(2, 3\)"),
    ):
        with pytest.raises(RegionError, match=expected + found):
            run(bad, out)


def test_large_constants_are_stored_as_data_instead_of_text() -> None:
    data = relay.var("data", shape=(8, 1024))
    made = c_source(function(nn.dense(data, relay.const(random((1000, 1024))))), "big")
    assert len(made.text) < 2000
    assert 'extern const float c0[1024000] __asm__("big_c0");' in made.text
    ((name, array),) = made.data.items()
    assert name == "big_c0" and array.shape == (1000, 1024)


@needs_cc
@given(st.lists(st.integers(1, 40), min_size=1, max_size=3), st.integers(0, 99))
@settings(max_examples=some(6), deadline=None)
def test_constant_data_is_unchanged(shape: list[int], seed: int) -> None:
    check(relay.var("a", shape=shape) - relay.const(random(tuple(shape), seed)))


@needs_cc
def test_regions_in_one_exported_library_have_separate_data(tmp_path) -> None:
    data = relay.var("data", shape=(40,))
    weights = [random((40,), seed) for seed in range(3)]
    out = data
    for weight in weights:
        out = relay.erf(out * relay.const(weight))
    mod = backends.partition(infer_module(IRModule.from_expr(out)), "ccompiler")
    program = build(mod)
    program.export_library(tmp_path / "net.so")
    x = random((40,), 9)
    wanted = program(x)[0]
    assert program.cards()[2].ran_on == "ccompiler"
    np.testing.assert_array_equal(load_library(tmp_path / "net.so")(x)[0], wanted)
    np.testing.assert_allclose(wanted, evaluate(mod, [x]).value, rtol=1e-4, atol=1e-5)


@needs_cc
@pytest.mark.slow
def test_folder_mounted_with_noexec_is_named_in_the_error(monkeypatch, tmp_path: Path) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "noexec,size=16m", "tmpfs", str(tmp_path)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this account may not mount a file system")
    try:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        with pytest.raises(BuildError, match=r"failed to map segment.*noexec.*variable TMPDIR"):
            CRegion(function(relay.exp(relay.var("x", shape=(2,)))), "r")
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)
