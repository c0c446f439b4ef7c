"""The cost of the linter grows with the module."""

from __future__ import annotations

import time

import pytest

from byoc_lab import lint, relay
from byoc_lab.lab.linting import all_rules
from byoc_lab.passes import AnnotateTarget, InferType, MergeCompilerRegions
from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.ir.module import IRModule

SECONDS = 2.0
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
    "form", [lambda mod: mod, annotated, merged], ids=["", "annotated", "merged"]
)
def test_all_rules_on_5000_operators(form: object) -> None:
    assert callable(form)
    mod = form(network(("tanh", "erf")))
    all_rules()  # reading the rules is no part of the cost
    started = time.process_time()
    assert not lint(mod)
    assert time.process_time() - started < SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("unary", [("tanh",), ("erf",), ("tanh", "nn.relu", "erf", "exp")])
@pytest.mark.parametrize(
    "form", [lambda mod: mod, annotated, merged], ids=["", "annotated", "merged"]
)
def test_other_chains(form: object, unary: tuple[str, ...]) -> None:
    assert callable(form)
    mod = form(network(unary))
    for told in ({}, {"backend": "dnnl"}, {"pipeline": "ccompiler"}):
        started = time.process_time()
        lint(mod, **told)
        assert time.process_time() - started < 2 * SECONDS, told
