"""Passes, sequences and passes by name; Sequential gives the results of TVM 0.16."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import ArgumentError, PassError, UnknownNameError
from byoc_lab.passes import (
    FunctionPass,
    ModulePass,
    PartitionGraph,
    PassContext,
    Sequential,
    make_pass,
    module_pass,
    pass_names,
    register_pass,
)
from byoc_lab.passes.framework import passes
from byoc_lab.passes.framework.pattern_rewrite import PatternRewrite
from byoc_lab.relay import Function, IRModule
from tests.parity.golden import golden_test

test_golden = golden_test("Sequential")


def _module() -> IRModule:
    return IRModule.from_expr(relay.abs(relay.var("x", shape=(2, 2))))


class Swap(FunctionPass):
    """Replaces abs by exp."""

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return func.replace(body=relay.exp(func.params[0]))


def test_function_pass_gets_and_returns_typed_functions() -> None:
    mod = _module()
    assert not mod["main"].is_typed
    after = Swap()(mod)
    assert after["main"].is_typed and after["main"].body.is_op("exp")
    assert mod["main"].body.is_op("abs"), "the input is never changed"


@pytest.mark.parametrize("attribute", ["Compiler", "Extern", "SkipOptimization"])
def test_function_pass_skips_functions_of_other_compilers(attribute: str) -> None:
    mod = _module()
    mod["main"] = mod["main"].with_attr(attribute, "dnnl" if attribute == "Compiler" else 1)
    assert Swap()(mod)["main"].body.is_op("abs")


def test_pass_that_returns_no_module_raises_pass_error() -> None:
    @module_pass(opt_level=0)
    def forgetful(mod: IRModule, ctx: PassContext) -> None:
        pass

    with pytest.raises(PassError, match="forgetful must return an IRModule, found NoneType"):
        forgetful(_module())


def test_sequence_runs_required_passes_first() -> None:
    seen = []
    for name in ("first", "second"):

        @module_pass(opt_level=0, name=name, required=["first"] if name == "second" else [])
        def record(mod: IRModule, ctx: PassContext, name: str = name) -> IRModule:
            seen.append(name)
            return mod

        register_pass(name, lambda made=record: made)
    try:
        Sequential([make_pass("second")])(_module())
        make_pass("second")(_module())  # called alone, a pass runs no required passes
    finally:
        del passes._factories["first"], passes._factories["second"]
    assert seen == ["first", "second", "second"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"passes": 3}, "passes must be a list of passes, found 3"),
        ({"passes": ["InferType"]}, "found 'InferType' at position 0; make_pass"),
        ({"required": "InferType"}, "required must be a list or tuple of names"),
    ],
)
def test_sequential_refuses_invalid_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Sequential(**arguments)


def test_passes_are_created_by_name() -> None:
    assert {"FoldConstant", "InferType", "PartitionGraph"} <= set(pass_names())
    made = make_pass("PartitionGraph", era="2020-01")
    assert isinstance(made, PartitionGraph) and made.era == "2020-01"
    assert make_pass("InferType", era="2020-01").name == "InferType"  # a pass without eras
    with pytest.raises(UnknownNameError, match=r"no pass is named .*'FoldConstant'"):
        make_pass("FoldConstants")
    with pytest.raises(PassError, match=r"it needs .*; give the pass itself, ConvertLayout"):
        make_pass("ConvertLayout")


@pytest.mark.parametrize(
    ("base", "missing"),
    [(ModulePass, "run"), (FunctionPass, "run_function"), (PatternRewrite, "callbacks")],
)
def test_error_for_a_pass_class_names_the_missing_method(base: type, missing: str) -> None:
    made = type("Mine", (base,), {})
    with pytest.raises(PassError, match=f"^Mine must define {missing}$"):
        made()
