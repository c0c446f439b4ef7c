"""Lint rule BYL035 repeated-operand, and the errors of the build and `decode` for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import backends, lint, relay
from byoc_lab.errors import BuildError, RegionError
from byoc_lab.lab.linting.rules.repeated_operand import RepeatedOperand
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import DFPattern, is_constant, is_op, wildcard
from tests.lab.linting.samples import RuleChecks

X = relay.var("x", shape=(4,))
K = relay.const(np.full(4, 2, "float32"))


def _two_arguments(function: relay.Function, symbol: str) -> backends.PythonRegion:
    calls = [n for n in post_order(function.body) if isinstance(n, relay.Call)]
    (call,) = [c for c in calls if isinstance(c.op, relay.Function)]
    assert call.args[0] is not None and call.args[1] is not None
    return backends.PythonRegion(lambda a, b: a * b)


@pytest.fixture
def npu() -> Iterator[Any]:
    def register(pattern: DFPattern, **options: Any) -> None:
        options.setdefault("codegen", _two_arguments)
        backends.register("npu", patterns=[("npu.mul", pattern)], **options)

    yield register
    backends.unregister("npu")


def _partitioned(net: relay.Expr) -> tuple[Any, Any]:
    mod = relay.IRModule.from_expr(relay.Function([X], net))
    return mod, byoc_lab.trace(mod, "npu").result


class TestRepeatedOperand(RuleChecks):
    rule = RepeatedOperand

    @pytest.mark.parametrize("net", [X * X, relay.exp(X) * K], ids=["repeated", "two values"])
    def test_lint_and_build_report_a_repeated_operand(self, npu: Any, net: Any) -> None:
        npu(is_op("multiply")(wildcard(), wildcard()))
        repeated = isinstance(net.args[0], relay.Var)
        plain, mod = _partitioned(net)
        assert bool(lint(plain, "npu").by_code("BYL035")) is repeated
        assert bool(lint(mod, backend="npu").by_code("BYL035")) is repeated
        if not repeated:
            byoc_lab.build(mod)
            return
        with pytest.raises(BuildError, match="a repeated operand is one parameter") as caught:
            byoc_lab.build(mod)
        for found in (byoc_lab.decode(caught.value, mod), byoc_lab.decode(str(caught.value))):
            assert found[0].name == "own-repeated-operand"
        assert byoc_lab.decode(caught.value, mod)[0].findings

    @pytest.mark.parametrize("table", ["fused", "twice"])
    def test_findings_before_and_after_the_passes_agree(self, npu: Any, table: str) -> None:
        """Two operators of a pattern may use one value, or a later match may contain it."""
        y = relay.var("y", shape=(4,))
        multiply = is_op("multiply")(wildcard(), wildcard())
        npu(is_op("add")(multiply, wildcard()) if table == "fused" else multiply)
        net = X * y + X if table == "fused" else relay.exp(X * y) + y * y
        mod = relay.IRModule.from_expr(relay.Function([X, y], net))
        (found,) = lint(mod, "npu").by_code("BYL035")
        (alone,) = lint(mod, backend="npu").by_code("BYL035")
        assert (alone.message, alone.node) == (found.message, found.node)
        assert found.node is (net if table == "fused" else None)
        assert lint(byoc_lab.trace(mod, "npu").result, backend="npu").by_code("BYL035")

    def test_constant_used_twice_is_one_parameter(self, npu: Any) -> None:
        npu(is_op("multiply")(wildcard(), wildcard()))
        _, mod = _partitioned(X + K * K)
        assert lint(mod, backend="npu").by_code("BYL035")
        with pytest.raises(BuildError, match="a repeated operand is one parameter"):
            byoc_lab.build(mod)

    def test_constants_of_the_pattern_are_not_parameters(self, npu: Any) -> None:
        npu(is_op("multiply")(wildcard(), is_constant()))
        _, mod = _partitioned(X * K)
        with pytest.raises(
            BuildError, match=r"npu\.mul has 1 parameter: constants that its pattern"
        ):
            byoc_lab.build(mod)

    def test_pattern_that_requires_one_value_twice_has_no_finding(self, npu: Any) -> None:
        value = wildcard()
        npu(is_op("multiply")(value, value))
        plain, mod = _partitioned(X * X)
        assert not lint(plain, "npu").by_code("BYL035")
        assert not lint(mod, backend="npu").by_code("BYL035")

    @pytest.mark.parametrize(
        "function", [lambda a, b: a * b, lambda *a: a[0] * a[1], lambda *a: _product(a)]
    )
    @pytest.mark.parametrize("isolated", [False, True])
    def test_region_function_with_too_many_arguments_gets_an_error_that_explains_it(
        self, npu: Any, function: Any, isolated: bool
    ) -> None:
        region = backends.PythonRegion(function, isolated=isolated)
        npu(
            is_op("add")(wildcard(), wildcard()),
            supports=["multiply"],
            codegen=lambda function, symbol: region,
        )
        _, mod = _partitioned(X * X)
        with pytest.raises(RegionError, match="The region has 1 parameter: %npu_0_i0 st") as caught:
            byoc_lab.build(mod).run([np.ones(4, "float32")])
        assert byoc_lab.decode(caught.value)[0].name == "own-repeated-operand"

    def test_unrelated_error_of_a_region_does_not_mention_repeated_operands(self, npu: Any) -> None:
        npu(
            is_op("add")(wildcard(), wildcard()),
            supports=["multiply"],
            codegen=lambda function, symbol: backends.PythonRegion(lambda a: a.no_such_attribute),
        )
        _, mod = _partitioned(X * X)
        with pytest.raises(RegionError) as caught:
            byoc_lab.build(mod).run([np.ones(4, "float32")])
        assert "repeated operand" not in str(caught.value)


def _product(arrays: tuple[Any, ...]) -> Any:
    a, b = arrays
    return a * b
