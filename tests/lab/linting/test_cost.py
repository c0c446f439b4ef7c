"""The linter accepts long modules; `benchmarks/lab_scaling.py` measures its cost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from byoc_lab import lint, relay
from byoc_lab.passes import AnnotateTarget, InferType, MergeCompilerRegions
from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.ir.module import IRModule

OPERATORS = 5000


def network(unary: tuple[str, ...]) -> IRModule:
    """A chain with a shortcut over every second operator."""
    x = relay.var("x", shape=(2, 4))
    before: Expr = x
    at: Expr = x
    for n in range(OPERATORS):
        one = Call(Op.get(unary[n % len(unary)]), [at])
        before, at = at, relay.add(at, before) if n % 3 == 0 else one
    return InferType()(IRModule.from_expr(relay.Function([x], at)))


def annotated(mod: IRModule) -> IRModule:
    return AnnotateTarget("dnnl")(mod)


def merged(mod: IRModule) -> IRModule:
    return MergeCompilerRegions()(annotated(mod))


@pytest.mark.parametrize(
    "form",
    [lambda mod: mod, *(pytest.param(f, marks=pytest.mark.slow) for f in (annotated, merged))],
    ids=["", "annotated", "merged"],
)
def test_chain_of_5000_operators_has_no_finding(form: Callable[[IRModule], IRModule]) -> None:
    assert not lint(form(network(("tanh", "erf"))))


@pytest.mark.slow
@pytest.mark.parametrize("unary", [("tanh",), ("erf",), ("tanh", "nn.relu", "erf", "exp")])
@pytest.mark.parametrize("told", [{"backend": "dnnl"}, {"pipeline": "ccompiler"}], ids=str)
def test_chain_with_another_activation_has_no_error(unary: tuple[str, ...], told: dict) -> None:
    assert not lint(merged(network(unary)), **told).errors
