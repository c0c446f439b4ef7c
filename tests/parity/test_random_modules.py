"""Thousands of random modules in a live TVM 0.16 and in byoc_lab: equal results.

Modules are sent as text, so reading and printing are compared too. If TVM refuses or crashes,
byoc_lab has to refuse as well. Pipelines that annotate get no tuples: the oracle gives them other
targets (see `fork.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.compat import tvm
from byoc_lab.errors import ByocLabError, ParseError
from byoc_lab.relay.ir.visit import rebuild
from tests import image_strategies, strategies
from tests.sweeps import some

from .client import Oracle
from .compare import difference, is_misplaced_value, run, targets_registered

pytestmark = [pytest.mark.oracle, pytest.mark.slow]

A_THEN_B = {"pass": "AnnotateTarget", "targets": ["A", "B"]}
CALLS_ONLY = {**A_THEN_B, "include_non_call_ops": False}
CUT = ["MergeCompilerRegions", "PartitionGraph"]
OUTLINE = "OutlineCompilerFunctionsWithExistingGlobalSymbols"
COMPOSITES = ["InferType", {"pass": "MergeComposite", "table": "diamond"}]
MANY = [["InferType", {"pass": "MergeComposite", "table": f"random.{n}"}] for n in range(20)]
PIPELINES: dict[str, list[Any]] = {
    "constants": ["InferType", "FoldConstant", {"pass": "FoldScaleAxis", "opt_level": 3}],
    "normal forms": ["InferType", "ToANormalForm", "InferType", "ToGraphNormalForm"],
    "basic blocks": ["InferType", "ToBasicBlockNormalForm"],
    "dead code": ["InferType", {"pass": "DeadCodeElimination", "inline_once": True}],
    "composites": COMPOSITES,
    "common subexpressions": ["InferType", "EliminateCommonSubexpr"],
    "simplifying": ["InferType", "SimplifyExpr"],
    "fusing": ["InferType", {"pass": "FuseOps", "fuse_opt_level": 2}],
}
ANNOTATING = {
    "partition": ["InferType", A_THEN_B, *CUT],
    "calls only": ["InferType", CALLS_ONLY, *CUT],
    "composites": [*COMPOSITES, A_THEN_B, *CUT],
    "inlined": ["InferType", A_THEN_B, *CUT, "Inline", OUTLINE],
}

TO_LAST = {"nn.conv2d": ["NHWC", "default"], "nn.max_pool2d": ["NHWC"]}


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    found = Oracle.find()
    assert found is not None
    with found, targets_registered():
        yield found


def _compare(oracle: Oracle, mod: tvm.IRModule, steps: list[Any]) -> None:
    text = mod.astext(for_tvm=True)
    for result in oracle.run(text, steps):
        if result.step >= 0:
            step = steps[result.step]
            try:
                after = run(step, mod)
            except ByocLabError as error:
                assert result.error is not None, f"{step}: TVM accepts it, byoc_lab says {error}"
                return
            assert result.error is None, f"{step}: byoc_lab accepts it, TVM says {result.error}"
            mod = after
        so_far = steps[: result.step + 1]
        try:
            found = difference(mod, result.text)
        except ParseError as error:
            if not is_misplaced_value(result.text, error):
                raise
            same = oracle.run(text, [*so_far, {"equals": mod.astext(for_tvm=True)}])[-1]
            found = same.error
        assert found is None, f"after {so_far}: {found}"


THOROUGH = settings(
    max_examples=some(300),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.mark.parametrize("name", PIPELINES)
@THOROUGH
@given(mod=strategies.modules())
def test_passes_give_the_modules_of_tvm(oracle: Oracle, name: str, mod: tvm.IRModule) -> None:
    _compare(oracle, mod, PIPELINES[name])


@THOROUGH
@given(mod=strategies.modules(closures=False))
def test_merge_composite_and_defuse_ops_give_the_modules_of_tvm(
    oracle: Oracle, mod: tvm.IRModule
) -> None:
    """Without other closures, for which TVM's DefuseOps leaves null pointers."""
    _compare(oracle, mod, [*COMPOSITES, "DefuseOps"])


@THOROUGH
@given(mod=strategies.modules(closures=False), steps=st.sampled_from(MANY))
def test_overlapping_patterns_are_merged_as_by_tvm(
    oracle: Oracle, mod: tvm.IRModule, steps: list[Any]
) -> None:
    _compare(oracle, mod, steps)


@pytest.mark.parametrize("name", ANNOTATING)
@THOROUGH
@given(mod=strategies.modules(tuples=False))
def test_annotate_target_gives_the_modules_of_tvm(
    oracle: Oracle, name: str, mod: tvm.IRModule
) -> None:
    _compare(oracle, mod, ANNOTATING[name])


@pytest.mark.parametrize("layouts", ({"nn.conv2d": ["NCHW", "default"]}, TO_LAST), ids=str)
@THOROUGH
@given(mod=image_strategies.modules())
def test_convert_layout_gives_the_modules_of_tvm(
    oracle: Oracle, layouts: dict[str, list[str]], mod: tvm.IRModule
) -> None:
    _compare(oracle, mod, ["InferType", {"pass": "ConvertLayout", "desired_layouts": layouts}])


@st.composite
def annotated(draw: st.DrawFn) -> tvm.IRModule:
    """A module with random begins and ends on some edges, most of them malformed."""
    mod = draw(strategies.modules(tuples=False, lets=False))
    marks = draw(st.lists(st.sampled_from(["", "", "", "begin", "end"]), min_size=12, max_size=40))
    compilers = draw(st.lists(st.sampled_from("AAB"), min_size=7, max_size=7))
    count = 0

    def mark(pre: relay.Expr, post: relay.Expr) -> relay.Expr:
        nonlocal count
        if not isinstance(post, relay.Call):
            return post
        args = []
        for arg in post.args:
            kind, compiler = marks[count % len(marks)], compilers[count % len(compilers)]
            count += 1
            if kind:
                arg = getattr(relay.analysis.annotations, kind)(arg, compiler)
            args.append(arg)
        return relay.Call(post.op, args, post.attrs)

    body = rebuild(mod["main"].body, mark)
    if draw(st.booleans()):
        body = relay.analysis.annotations.end(body, "A")
    mod = mod.copy()
    mod["main"] = mod["main"].replace(body=body)
    return relay.transform.InferType()(mod)


@settings(THOROUGH, max_examples=some(200))
@given(mod=annotated())
def test_malformed_annotations_are_refused_if_tvm_refuses(
    oracle: Oracle, mod: tvm.IRModule
) -> None:
    _compare(oracle, mod, ["InferType", "PartitionGraph"])
