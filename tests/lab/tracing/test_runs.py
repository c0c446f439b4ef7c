"""Traces of user functions that run passes and change the module themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from byoc_lab import backends, relay, trace, transform
from byoc_lab.lab.tracing import Trace
from byoc_lab.passes import module_pass
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.patterns import is_op, wildcard
from byoc_lab.relay.typing.infer import infer_module
from tests.lab.explaining.pieces import NPU, conv, entry


@pytest.fixture(autouse=True, scope="module")
def back_end() -> Iterator[None]:
    backends.register(NPU, patterns=[entry("relu", is_op("nn.relu")(wildcard()))])
    yield
    backends.register(NPU)


def module() -> IRModule:
    return infer_module(IRModule.from_expr(nn.relu(conv())))


def partitioned(mod: IRModule) -> IRModule:
    passes = [
        transform.MergeComposite(backends.get(NPU).patterns()),
        transform.AnnotateTarget(NPU),
        transform.PartitionGraph(),
    ]
    return transform.Sequential(passes)(mod)


PARTITIONED = ["MergeComposite", "AnnotateTarget", "PartitionGraph"]


def marked(mod: IRModule, name: str) -> IRModule:
    """The module, with a mark added in place."""
    mod["main"] = mod["main"].with_attr(name, 1)
    return mod


def own_changes(mod: IRModule) -> IRModule:
    mod = transform.InferType()(marked(mod, "before"))
    mod = transform.PartitionGraph()(partitioned(marked(mod, "between")))
    return marked(mod, "after")


def with_questions(mod: IRModule) -> IRModule:
    for call in (mod["main"].body, mod["main"].body.args[0]):
        transform.InferType()(IRModule.from_expr(call))
    transform.ToMixedPrecision()(mod)  # the result is not used
    return partitioned(mod)


def new_modules(mod: IRModule) -> IRModule:
    mod = partitioned(IRModule.from_expr(mod["main"].with_attr("before", 1)))
    return mod.with_functions(dict(marked(mod, "after").functions))


def fails(mod: IRModule) -> IRModule:
    partitioned(marked(mod, "before"))
    raise ValueError("of the function")


FUNCTIONS: list[tuple[Callable[[IRModule], IRModule], list[str]]] = [
    (partitioned, PARTITIONED),
    (
        own_changes,
        ["own_changes", "InferType", "own_changes", *PARTITIONED, "PartitionGraph", "own_changes"],
    ),
    (with_questions, PARTITIONED),
    (new_modules, ["new_modules", *PARTITIONED, "new_modules"]),
    (fails, ["fails", *PARTITIONED, "fails"]),
    (lambda mod: mod, ["<lambda>"]),
    (lambda mod: marked(mod, "own"), ["<lambda>"]),
    (module_pass(lambda mod, ctx: partitioned(mod), opt_level=0, name="own"), ["own"]),
]


def chained(found: Trace) -> bool:
    return all(a.after is b.before for a, b in zip(found, list(found)[1:], strict=False))


@pytest.mark.parametrize(("function", "stages"), FUNCTIONS)
@pytest.mark.parametrize("around", [[], ["InferType"]])
def test_user_function_has_a_stage_for_each_pass_and_each_direct_change(
    function: Any, stages: list[str], around: list[str]
) -> None:
    mod = module()
    found = trace(mod, [*around, function, *around])
    failed = found.error is not None
    assert failed == (function is fails)
    assert [s.name for s in found] == [*around, *stages, *([] if failed else around)]
    assert chained(found) and found.initial is mod and structural_equal(mod, module())
    if not failed:
        assert structural_equal(found.result, infer_module(function(module())))


def test_stage_shows_no_later_change_of_a_function() -> None:
    found = trace(module(), own_changes)
    marks = [[a for a in s.after["main"].attrs if a != "global_symbol"] for s in found]
    assert marks[0] == ["before"] and marks[2] == ["before", "between"]
    assert all("after" not in m for m in marks[:-1]) and "after" in marks[-1]
    assert [s.changed for s in found][:3] == [True, False, True]


def test_stages_of_a_function_are_a_group_with_its_context() -> None:
    def low(mod: IRModule) -> IRModule:
        with transform.PassContext(opt_level=1):
            return transform.Sequential([transform.FoldConstant(), transform.AlterOpLayout()])(mod)

    found = trace(module(), ["InferType", low], opt_level=3)
    assert [s.group for s in found] == ["", "low", "low"]
    assert [(s.name, s.needs_level) for s in found if s.skipped] == [
        ("FoldConstant", 2),
        ("AlterOpLayout", 3),
    ]


def test_rewrites_of_passes_with_unused_results_belong_to_no_stage() -> None:
    x = relay.var("x", shape=(1, 8))

    def asks(mod: IRModule) -> IRModule:
        transform.SimplifyInference()(IRModule.from_expr(nn.dropout(x)))
        return transform.SimplifyInference()(mod)

    mod = infer_module(IRModule.from_expr(relay.nn.relu(nn.dropout(x))))
    (stage,) = trace(mod, asks)
    assert [e.rule for e in stage.events] == ["dropout"]
    assert structural_equal(stage.state_after(1), stage.after)
