"""`apply(diff(a, b), a)` is structurally equal to b, also after a detour through JSON."""

from __future__ import annotations

from hypothesis import given, settings

import byoc_lab
from byoc_lab.lab.diffing import Diff
from byoc_lab.relay import IRModule, assert_structural_equal
from tests import strategies

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 4), float32]) { add(%x, %x) }"""


def check(before: IRModule, after: IRModule) -> None:
    made = byoc_lab.diff(before, after)
    assert_structural_equal(byoc_lab.apply(made, before), after)
    saved = Diff.from_json(made.to_json())
    assert_structural_equal(saved.apply(before), after)
    assert saved.summary == made.summary


@settings(max_examples=60)
@given(mod=strategies.modules(), other=strategies.modules())
def test_random_modules(mod: IRModule, other: IRModule) -> None:
    check(mod, other)
    check(mod, mod)


@settings(max_examples=40)
@given(mod=strategies.modules())
def test_every_pass_of_a_pipeline_on_random_modules(mod: IRModule) -> None:
    passes = ["SimplifyInference", "FoldConstant", "ToANormalForm", "ToGraphNormalForm"]
    stages = [*byoc_lab.trace(mod, "dnnl"), *byoc_lab.trace(mod, passes)]
    for stage in stages:
        if stage.after is not None:
            check(stage.before, stage.after)
            check(stage.after, stage.before)
