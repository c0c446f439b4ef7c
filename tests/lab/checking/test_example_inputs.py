"""Generated inputs: each boolean has both values, so that both branches of an `if` are checked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import byoc_lab
from byoc_lab import backends, relay
from byoc_lab.lab.checking.example_inputs import example_inputs
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate

NAME = "branching"
VALUES = np.ones((2, 3), "float32")


@given(st.lists(st.tuples(st.booleans(), st.lists(st.integers(1, 3), max_size=2)), min_size=1),
       st.integers(0, 9))  # fmt: skip
def test_wide_inputs_have_the_opposite_booleans(
    drawn: list[tuple[bool, list[int]]], seed: int
) -> None:
    params = [
        relay.var(f"p{n}", shape=shape, dtype="bool" if is_boolean else "float32")
        for n, (is_boolean, shape) in enumerate(drawn)
    ]
    main = infer_module(IRModule.from_expr(Function(params, relay.Tuple(params))))["main"]
    normal, wide = (example_inputs(main, kind, seed) for kind in ("normal", "wide"))
    for (is_boolean, _), name in zip(drawn, normal, strict=True):
        assert not is_boolean or (normal[name] != wide[name]).all()


def network() -> IRModule:
    x, yes = relay.var("x", shape=(2, 3)), relay.var("yes", shape=(), dtype="bool")
    return infer_module(
        IRModule.from_expr(Function([yes, x], relay.If(yes, relay.exp(x), relay.tanh(x))))
    )


@pytest.fixture(params=["exp", "tanh"])
def wrong(request: pytest.FixtureRequest) -> Iterator[str]:
    """The operator, in one of the branches, that the registered back end computes wrong."""

    def codegen(function: Function, symbol: str) -> backends.PythonRegion:
        more = 0.5 if request.param in str(function) else 0.0
        return backends.PythonRegion(lambda x: evaluate(function, [x]).value + np.float32(more))

    backends.register(NAME, supports=["exp", "tanh"], codegen=codegen)
    yield request.param
    backends.unregister(NAME)


def test_fault_in_either_branch_is_found(wrong: str) -> None:
    report = byoc_lab.validate(network(), byoc_lab.trace(network(), NAME).result)
    assert not report.ok and not report.not_compared
    assert len([c for c in report.comparisons if c.name.startswith("@") and not c.ok]) == 1


def test_bisect_names_the_region_that_no_input_called(wrong: str) -> None:
    found = byoc_lab.bisect(network(), NAME, [np.array(wrong != "exp"), VALUES])
    assert not found and len(found.unchecked) == 1
    assert f"@{found.unchecked[0]} was not checked: no input called it" in str(found)
