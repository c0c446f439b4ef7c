"""Answers to the exercise of the missing begin: right ones, and the wrong ones that are typical."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.lessons.exercises import get
from byoc_lab.relay import Call, Expr, IRModule
from byoc_lab.relay.analysis.annotations import END, is_annotation
from byoc_lab.relay.ir.visit import rebuild
from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end

EXERCISE = get("add-the-missing-begin")


def _changed(mod: IRModule, change: Callable[[Call], Expr]) -> IRModule:
    """The module with `change` applied to each call."""
    out = mod.copy()
    out["main"] = rebuild(
        mod["main"], lambda pre, post: change(post) if isinstance(post, Call) else post
    )
    return out


def _second_conv2d(call: Call) -> bool:
    return call.is_op("nn.conv2d") and is_annotation(call.args[0], END)


def _with_begin(mod: IRModule, compiler: str = "dnnl") -> IRModule:
    """The module with a begin on the value that has none."""

    def change(call: Call) -> Expr:
        if not _second_conv2d(call):
            return call
        data, weight = call.args
        return Call(call.op, [compiler_begin(data, compiler), weight], call.attrs)

    return _changed(mod, change)


def _begin_inside(mod: IRModule) -> IRModule:
    """A begin on what enters batch_norm, which is inside the region."""

    def change(call: Call) -> Expr:
        if not call.is_op("nn.batch_norm"):
            return call
        return Call(call.op, [compiler_begin(call.args[0], "dnnl"), *call.args[1:]], call.attrs)

    return _changed(mod, change)


def _without_the_end(mod: IRModule) -> IRModule:
    """The two regions are joined: no end where the first one stops."""

    def change(call: Call) -> Expr:
        if not _second_conv2d(call):
            return call
        return Call(call.op, [call.args[0].args[0], call.args[1]], call.attrs)

    return _changed(mod, change)


def _without_annotations(mod: IRModule) -> IRModule:
    return _changed(mod, lambda call: call.args[0] if is_annotation(call) else call)


def _without_relu(mod: IRModule) -> IRModule:
    return _changed(_with_begin(mod), lambda c: c.args[0] if c.is_op("nn.relu") else c)


def _begin_and_end(mod: IRModule) -> IRModule:
    """A begin where one is missing, with an end of its own: a region of nothing in between."""

    def change(call: Call) -> Expr:
        if not _second_conv2d(call):
            return call
        data = compiler_end(compiler_begin(call.args[0], "dnnl"), "dnnl")
        return Call(call.op, [data, call.args[1]], call.attrs)

    return _changed(mod, change)


def test_it_starts_from_the_trouble() -> None:
    assert [finding.code for finding in byoc_lab.lint(EXERCISE.start())] == ["BYL001"]


def test_a_student_s_answer_passes() -> None:
    verdict = EXERCISE.check(_with_begin(EXERCISE.start()))
    assert verdict, str(verdict)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda mod: mod, "BYL001 error @main: nn.conv2d is inside a region"),
        (lambda mod: None, "found None: does your function return its result?"),
        (lambda mod: mod["main"], "found a function: IRModule.from_expr"),
        (lambda mod: mod.astext(), r"expected a module \(IRModule\), found str"),
        (lambda mod: IRModule(), 'expected a module with a function "main"'),
        (lambda mod: _with_begin(mod, "other"), "BYL.* error"),
        (_begin_inside, "BYL001"),
        (_begin_and_end, "BYL"),
        (_without_the_end, "expected 2 regions: .*; found 1 region: dnnl with"),
        (_without_annotations, "expected 2 regions: .*; found no region"),
        (_without_relu, "the network itself has changed.* lost nn.relu, nn.relu"),
        (lambda mod: relay.testing.mlp.get_workload(1)[0], "the network itself has changed"),
    ],
    ids=lambda x: getattr(x, "__name__", "") if callable(x) else "",
)
def test_a_wrong_answer_is_told_its_cause(answer: Callable[[IRModule], Any], message: str) -> None:
    verdict = EXERCISE.check(answer(EXERCISE.start()))
    assert not verdict

    assert re.search(message, str(verdict), re.S), str(verdict)
