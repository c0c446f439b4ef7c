"""Checks inside regions of every form: with tuples, fields, calls that return tuples, if, let."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import backends, relay
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.visit import rebuild
from byoc_lab.relay.typing.infer import infer_expr, infer_module
from byoc_lab.run.reference import evaluate

T = "Tensor[(4), float32]"
BODIES = {
    "a field of a tuple": "%0 = nn.relu(%p); %1 = (%0, %q); %2 = %1.0; maximum(%2, %q)",
    "a field of a tuple in a tuple": "%0 = nn.relu(%p); %1 = (%0, %q); %2 = (%1, %0); %3 = %2.0; "
    "%4 = %3.1; maximum(%4, %0)",
    "a call that returns a tuple": "%0 = nn.relu(%p); %1 = split(%0, indices_or_sections=2); "
    "concatenate(%1)",
    "an if": "%0 = nn.relu(%p); %1 = if (%c) { add(%0, %q) } else { maximum(%0, %q) }; add(%1, %0)",
    "a let": "let %a = nn.relu(%p); let %b = add(%a, %q); maximum(%a, %b)",
    "a let that nothing uses": "let %a = nn.relu(%p); let %b = add(%a, %q); maximum(%a, %q)",
}


def networks(body: str) -> list[byoc_lab.IRModule]:
    """The network itself, and the same network as one region."""
    head = '#[version = "0.0.5"]\n'
    params = f"%p: {T}, %q: {T}, %c: bool"
    region = (
        f'def @work({params}, Primitive=1, Compiler="formed", global_symbol="work") {{ {body} }}\n'
        f"def @main({params}) {{ @work(%p, %q, %c) }}"
    )
    texts = (f"def @main({params}) {{ {body} }}", region)
    return [infer_module(relay.parse(head + text)) for text in texts]


@pytest.fixture
def codegen() -> Iterator[None]:
    def computed(function: Function, symbol: str) -> backends.PythonRegion:
        """Computes each operator right, except for the sign of sigmoid."""

        def run(*inputs: np.ndarray) -> list[np.ndarray]:
            return list(evaluate(edit(function), inputs).outputs)

        return backends.PythonRegion(run)

    def edit(function: Function) -> Function:
        def negated(pre: Any, post: Any) -> Any:
            return relay.negative(post) if getattr(post, "op_name", "") == "sigmoid" else post

        return infer_expr(rebuild(function, negated))

    backends.register("formed", codegen=computed)
    yield
    backends.unregister("formed")


@pytest.mark.parametrize("form", BODIES)
def test_each_operator_of_the_region_is_checked(form: str, codegen: None) -> None:
    report = byoc_lab.validate(*networks(BODIES[form]), detail="operator")
    assert report.ok, report
    steps = [c for c in report.comparisons if c.name.startswith("@work ")]
    assert steps[0].name == "@work nn.relu 0"
    assert all(c.call_site is not None for c in steps)


@pytest.mark.parametrize("form", BODIES)
def test_wrong_operator_in_the_region_is_named(form: str, codegen: None) -> None:
    body = BODIES[form].replace("nn.relu", "sigmoid")
    report = byoc_lab.validate(*networks(body), detail="operator")
    steps = [c for c in report.comparisons if c.name.startswith("@work ")]
    assert [c.name for c in steps if not c.ok] == ["@work sigmoid 0"]
