"""Passes leave Python's garbage collector enabled, and leave no reference cycles."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.lessons import mobilenet
from byoc_lab.relay.typing.infer import infer_expr, infer_module
from byoc_lab.transform import MergeComposite, module_pass


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Disables automatic collection during a test."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def _module() -> relay.IRModule:
    return infer_module(mobilenet.module(image_size=32, classes=10))


WORK: dict[str, Callable[[relay.IRModule], Any]] = {
    "dnnl": lambda mod: byoc_lab.trace(mod, "dnnl").result,
    "lint": lambda mod: list(byoc_lab.lint(mod)),
    "parse": lambda mod: relay.parse(mod.astext()),
    "print": str,
    "compare": lambda mod: relay.structural_equal(mod, mod.copy()),
}


@pytest.mark.parametrize("name", WORK)
def test_collector_stays_enabled(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It belongs to the process: other threads rely on it."""

    def refuse() -> None:
        raise AssertionError("switched for the whole process")

    mod = _module()
    for function in ("disable", "enable", "freeze"):
        monkeypatch.setattr(gc, function, refuse)
    WORK[name](mod)


def test_collector_runs_during_a_pass() -> None:
    found = []

    @module_pass(opt_level=0)
    def look(mod: relay.IRModule, ctx: object) -> relay.IRModule:
        found.append(gc.isenabled())
        return mod

    look(_module())
    assert found == [True]


def test_type_inference_leaves_no_cycles(no_collection: None) -> None:
    """Constraints on the type of a parameter are freed with the inference."""
    x, y, f = relay.var("x"), relay.var("y", shape=(2,)), relay.var("f")
    body = relay.add(x, relay.const([1.0, 2.0]))
    kept = weakref.ref(body)
    infer_expr(relay.Function([y], relay.Let(f, relay.Function([x], body), relay.Call(f, [y]))))
    del body, x
    assert kept() is None


@pytest.mark.slow
def test_merging_composites_leaves_no_cycles(no_collection: None) -> None:
    """The parameters of composite functions have no types at first."""
    value: relay.Expr = relay.var("data", shape=(1, 4, 4, 4))
    for _ in range(3):
        conv = relay.nn.conv2d(value, relay.const(np.ones((4, 4, 1, 1), "float32")))
        value = relay.exp(relay.nn.relu(relay.nn.bias_add(conv, relay.const([1.0] * 4))))
    mod = infer_module(relay.IRModule.from_expr(value))
    gc.collect()
    MergeComposite(byoc_lab.dnnl.pattern_table())(mod)
    assert gc.collect() == 0
