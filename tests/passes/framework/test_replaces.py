"""Passes declare the operators that they replace: exactly these are replaced."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from byoc_lab.passes import FoldConstant, make_pass
from byoc_lab.passes.framework.passes import passes_replacing
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from tests.relay.op.samples import SAMPLES

SIMPLIFY = (
    "CanonicalizeOps",
    "DynamicToStatic",
    "FakeQuantizationToInteger",
    "SimplifyExpr",
    "SimplifyInference",
)


def operators(mod: IRModule) -> set[str]:
    return {n.op_name for f in mod.functions.values() for n in post_order(f) if calls(n)}


def calls(node: Any) -> bool:
    return bool(getattr(node, "op_name", None))


@cache
def samples() -> list[tuple[str, IRModule]]:
    """A typed module for each sample call that FoldConstant does not fold."""
    typed = [(s.op, infer_module(IRModule.from_expr(s.function()))) for s in SAMPLES]
    return [(op, mod) for op, mod in typed if op in operators(FoldConstant()(mod))]


@pytest.mark.parametrize("name", SIMPLIFY)
def test_replaced_operators_equal_the_declared_operators(name: str) -> None:
    p = make_pass(name)
    gone = {op for op, mod in samples() if op not in operators(p(mod))}
    assert gone <= set(p.replaces)
    if name in ("CanonicalizeOps", "DynamicToStatic", "SimplifyExpr"):  # whatever surrounds it
        # FoldConstant also folds dyn.ones and dyn.zeros with a constant shape.
        assert set(p.replaces) - gone <= {"dyn.ones", "dyn.zeros"}


def test_passes_replacing_lists_the_passes_of_an_operator() -> None:
    assert passes_replacing({"dyn.image.resize2d"}) == ["DynamicToStatic"]
    assert passes_replacing({"nn.layer_norm", "nn.bias_add"}) == [
        "CanonicalizeOps",
        "SimplifyInference",
    ]
    assert passes_replacing({"nn.conv2d"}) == []
