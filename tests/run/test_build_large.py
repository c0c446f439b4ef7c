"""Modules with many operands and many branches: they build without a crash, in proportional
time."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from byoc_lab import build, relay
from byoc_lab.relay import Expr, IRModule, Var
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import Executable, evaluate, load_library

pytest.importorskip("tvm")


def compiled(expr: Expr) -> tuple[IRModule, Executable]:
    mod = infer_module(IRModule.from_expr(expr))
    return mod, build(mod)


def check(expr: Expr, *inputs: np.ndarray) -> None:
    mod, program = compiled(expr)
    for got, wanted in zip(program(*inputs), evaluate(mod, list(inputs)).outputs, strict=True):
        np.testing.assert_array_equal(got, wanted)


def operands() -> list[Var]:
    return [relay.var(name, shape=(2, 3)) for name in "abc"]


ARRAYS = [np.arange(6, dtype=np.float32).reshape(2, 3) + 10 * n for n in range(3)]


@pytest.mark.parametrize(
    ("count", "axis"), [(66, 0), pytest.param(2000, -1, marks=pytest.mark.slow)]
)
def test_concatenate_of_many_operands_is_built(count: int, axis: int) -> None:
    """TVM's compiler crashes at 2,000 operands."""
    check(relay.concatenate([*operands()] * (count // 3), axis), *ARRAYS)


@pytest.mark.slow
def test_stack_of_many_operands_is_built() -> None:
    check(relay.stack([*operands()] * 50, axis=1), *ARRAYS)


@pytest.mark.parametrize("cuts", [195, pytest.param([*range(1, 195, 2)], marks=pytest.mark.slow)])
def test_split_into_many_parts_is_built(cuts: int | list[int]) -> None:
    x = relay.var("x", shape=(2, 195))
    check(relay.split(x, cuts, axis=-1).astuple(), np.arange(390, dtype=np.float32).reshape(2, 195))


@pytest.mark.slow
def test_concatenate_of_a_large_tuple_value_is_built() -> None:
    x = relay.var("x", shape=(195, 2))
    parts = relay.split(x, 195, axis=0).astuple()
    check(relay.concatenate(parts, axis=1), np.arange(390, dtype=np.float32).reshape(195, 2))


def nested_ifs(count: int) -> Expr:
    """Nested ifs, each in both branches of the next, but not duplicated."""
    x, on = relay.var("x", shape=(2,)), relay.var("on", shape=(), dtype="bool")
    value: Expr = x
    for _ in range(count):
        value = relay.If(on, value + relay.const(1.0), relay.negative(x))
    return relay.Function([x, on], value)


def test_nested_ifs_are_built_exported_and_loaded(tmp_path) -> None:
    """Without care they exceed Python's recursion limit."""
    program = compiled(nested_ifs(500))[1]
    data = np.float32([1, 2])
    np.testing.assert_array_equal(program(data, np.True_)[0], data + 500)
    np.testing.assert_array_equal(program(data, np.False_)[0], -data)
    program.export_library(tmp_path / "net.so")
    np.testing.assert_array_equal(load_library(tmp_path / "net.so")(data, np.True_)[0], data + 500)


def test_if_shared_between_branches_is_built() -> None:
    x, on = relay.var("x", shape=(2,)), relay.var("on", shape=(), dtype="bool")
    shared = relay.If(on, relay.tanh(x), relay.abs(x))
    inner = relay.If(on, relay.exp(shared), shared)
    program = relay.Function([x, on], relay.If(on, inner + shared, relay.negative(shared)) * shared)
    for value in (np.True_, np.False_):
        mod, built = compiled(program)
        wanted = evaluate(mod, [np.float32([-1, 2]), value]).outputs[0]
        np.testing.assert_allclose(built(np.float32([-1, 2]), value)[0], wanted, rtol=1e-5)


@pytest.mark.slow
def test_nested_ifs_do_not_overflow_the_stack() -> None:
    """In a separate process, which a stack overflow would end."""
    source = (
        "import numpy as np; from tests.run.test_build_large import compiled, nested_ifs\n"
        "data = np.float32([1, 2])\n"
        "assert (compiled(nested_ifs(3000))[1](data, np.True_)[0] == data + 3000).all()"
    )
    subprocess.run([sys.executable, "-c", source], check=True, timeout=900)
