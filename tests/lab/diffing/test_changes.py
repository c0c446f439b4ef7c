"""Each kind of change between modules; no change is reported twice or omitted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import byoc_lab
from byoc_lab import relay
from byoc_lab.relay import IRModule
from byoc_lab.transform import MergeComposite
from tests import strategies
from tests.sweeps import some

HEAD = '#[version = "0.0.5"]\n'
TENSOR = "Tensor[(4, 4), float32]"


def _parse(text: str) -> IRModule:
    return relay.parse(HEAD + text)


def _main(*lines: str) -> str:
    return f"def @main(%x: {TENSOR}, %y: {TENSOR}) {{\n" + "\n".join(lines) + "\n}\n"


def _summary(before: str, after: str) -> str:
    return byoc_lab.diff(_parse(before), _parse(after)).summary


CASES = {
    "attribute": (
        _main("nn.softmax(%x, axis=1)"),
        _main("nn.softmax(%x, axis=0)"),
        "attributes of 1 call changed",
    ),
    "constant": (_main("add(%x, 1f)"), _main("add(%x, 2f)"), "constants of 1 call changed"),
    "operands": (_main("add(%x, %x)"), _main("add(%x, %y)"), "operands of 1 call changed"),
    "added": (_main("abs(%x)"), _main("%0 = abs(%x);", "exp(%0)"), "1 call added"),
    "removed": (_main("%0 = abs(%x);", "exp(%0)"), _main("exp(%x)"), "1 call removed"),
    "replaced": (
        _main("%0 = abs(%x);", "exp(%0)"),
        _main("%0 = tanh(%x);", "exp(%0)"),
        "1 call added, 1 call removed",
    ),
    "variables renamed": (
        f"def @main(%x: {TENSOR}, %y: {TENSOR}) {{ add(%x, %y) }}",
        f"def @main(%y: {TENSOR}, %x: {TENSOR}) {{ add(%y, %x) }}",
        "no change",
    ),
    "function renamed": (
        f"def @f(%a: {TENSOR}) {{ abs(%a) }}\n" + _main("@f(%x)"),
        f"def @g(%b: {TENSOR}) {{ abs(%b) }}\n" + _main("@g(%x)"),
        "@f renamed to @g",
    ),
    "functions swapped": (
        f"def @f(%a: {TENSOR}) {{ abs(%a) }}\ndef @g(%a: {TENSOR}) {{ exp(%a) }}\n"
        + _main("%0 = @f(%x);", "@g(%0)"),
        f"def @g(%a: {TENSOR}) {{ abs(%a) }}\ndef @f(%a: {TENSOR}) {{ exp(%a) }}\n"
        + _main("%0 = @g(%x);", "@f(%0)"),
        "@f renamed to @g, @g renamed to @f",
    ),
    "result": (_main("%x"), _main("%y"), "operands of 1 function changed"),
    "result of a function literal": (
        _main("%0 = fn (%a, %b) { %a };", "%1 = %0(%x, %y);", "(%1, %0)"),
        _main("%0 = fn (%a, %b) { %b };", "%1 = %0(%x, %y);", "(%1, %0)"),
        "operands of 1 function changed",
    ),
    "parameter": (
        f"def @main(%x: {TENSOR}) {{ abs(%x) }}",
        f"def @main(%x: {TENSOR}, %w: {TENSOR}) {{ abs(%x) }}",
        "1 parameter added",
    ),
    "type": (
        f"def @main(%x: {TENSOR}) {{ abs(%x) }}",
        "def @main(%x: Tensor[(4, 4), float64]) { abs(%x) }",
        "types of 1 variable changed",
    ),
    "let": (
        _main("%0 = abs(%x);", "exp(%0)"),
        _main("let %v = abs(%x);", "exp(%v)"),
        "1 let added",
    ),
    "order of lets": (
        _main("let %v = abs(%x);", "let %w = exp(%y);", "add(%v, %w)"),
        _main("let %w = exp(%y);", "let %v = abs(%x);", "add(%v, %w)"),
        "1 let moved into a different position in @main",
    ),
    "moved": (
        _main("%0 = abs(%x);", "exp(%0)"),
        f"def @f(%a: {TENSOR}) {{ abs(%a) }}\n" + _main("%0 = @f(%x);", "exp(%0)"),
        "1 call moved into @f, 1 call added",
    ),
    "inlined": (
        f"def @f(%a: {TENSOR}) {{ abs(%a) }}\n" + _main("%0 = @f(%x);", "exp(%0)"),
        _main("%0 = abs(%x);", "exp(%0)"),
        "1 call moved into @main, 1 call removed",
    ),
    "annotated": (
        _main("abs(%x)"),
        _main(
            '%0 = annotation.compiler_begin(%x, compiler="dnnl");',
            "%1 = abs(%0);",
            'annotation.compiler_end(%1, compiler="dnnl")',
        ),
        "2 annotations for dnnl added",
    ),
    "retargeted": (
        _main('%0 = annotation.compiler_begin(%x, compiler="dnnl");', "abs(%0)"),
        _main('%0 = annotation.compiler_begin(%x, compiler="other");', "abs(%0)"),
        "1 annotation for other added, 1 annotation for dnnl removed",
    ),
    "field of a tuple": (
        _main("%0 = abs(%x);", "%1 = (%0, %x);", "%1.0"),
        _main("%0 = abs(%x);", "%1 = exp(%0);", "%2 = (%1, %x);", "%2.0"),
        "1 call added",
    ),
    "unused function": (
        _main("abs(%x)"),
        f"def @f(%a: {TENSOR}) {{ %a }}\n" + _main("abs(%x)"),
        "1 function added",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_summary_describes_each_kind_of_difference(name: str) -> None:
    before, after, expected = CASES[name]
    assert _summary(before, after) == expected


def test_move_into_a_composite_is_reported_as_composed() -> None:
    mod = _parse(_main("%0 = abs(%x);", "%1 = exp(%0);", "tanh(%1)"))
    pattern = relay.dataflow_pattern.is_op("exp")(relay.dataflow_pattern.is_op("abs")(
        relay.dataflow_pattern.wildcard()
    ))  # fmt: skip
    fused = MergeComposite([("lab.exp_abs", pattern)])(mod)
    assert byoc_lab.diff(mod, fused).summary == "2 calls composed into lab.exp_abs"
    assert byoc_lab.diff(fused, mod).summary == "2 calls moved into @main"


def test_changes_of_each_mobilenet_stage_are_summarized() -> None:
    mod, params = relay.testing.mobilenet.get_workload()
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    stages = {(s.name, s.index): s.diff() for s in byoc_lab.trace(mod, "dnnl")}
    shown = [d.summary for d in stages.values() if d]
    assert shown == [
        "297 calls added, 27 calls removed, 27 projections removed",
        "243 calls removed",
        "81 calls added, 27 calls removed",
        "81 calls removed",
        "81 calls composed into dnnl.conv2d_bias_relu, 2 calls composed into dnnl.dense_bias",
        "116 annotations for dnnl added, 2 annotations for default added",
        "56 annotations for dnnl removed",
        "82 calls and 27 composites moved into @tvmgen_default_dnnl_main_0, 3 calls and 1 "
        "composite moved into @tvmgen_default_dnnl_main_55, 2 calls added",
    ]
    last = byoc_lab.diff(stages[list(stages)[-1]].before, stages[list(stages)[-1]].after)
    outlined = [c for c in last.changes if c.kind == "outlined"]
    assert all(c.before is not None and c.after is not None for c in outlined)


@settings(max_examples=some(60))
@given(mod=strategies.modules())
def test_changes_are_empty_exactly_if_the_modules_are_equal(mod: IRModule) -> None:
    passes = ["SimplifyInference", "FoldConstant", "ToANormalForm", "ToGraphNormalForm"]
    for stage in [*byoc_lab.trace(mod, "dnnl"), *byoc_lab.trace(mod, passes)]:
        made = stage.diff()
        rows_differ = any(row.kind != "same" for row in made.rows())
        assert bool(made.changes) == stage.changed == rows_differ


@settings(max_examples=some(60))
@given(mod=strategies.modules(), other=strategies.modules())
def test_each_node_is_in_one_module_or_in_both(mod: IRModule, other: IRModule) -> None:
    """Added and removed nodes have no counterpart; other nodes are each other's counterpart."""
    made = byoc_lab.diff(mod, other)
    for change in made.changes:
        if change.kind in ("added", "annotated"):
            assert change.before is None
        elif change.kind == "removed":
            assert change.after is None
        elif change.before is not None:
            assert made.correspondence.to_after[change.before] is change.after


def composites_that_do_not_move(mod: IRModule) -> list[str]:
    """Composites reported as added or removed by PartitionGraph, which only moves them."""
    stage = byoc_lab.trace(mod, "dnnl")["PartitionGraph"]
    changes = stage.diff().changes
    kinds = ("outlined", "moved")
    return [str(c) for c in changes if c.noun == "composite" and c.kind not in kinds]


def test_composite_is_not_paired_with_the_call_of_its_region() -> None:
    """The composite is its region's result: both calls return the same value."""
    x, gamma = relay.var("x", shape=(1, 1, 1, 1)), relay.var("gamma", shape=(1,))
    norm = relay.nn.batch_norm(relay.nn.conv2d(x, x), gamma, gamma, gamma, gamma)
    mod = IRModule.from_expr(relay.Function([x, gamma], relay.Tuple([relay.nn.relu(x), norm[0]])))
    assert composites_that_do_not_move(mod) == []


@pytest.mark.slow
def test_composites_of_inception_only_move() -> None:
    mod, _ = relay.testing.inception_v3.get_workload()
    assert composites_that_do_not_move(mod) == []


def test_many_functions_are_listed_and_counted() -> None:
    x = relay.var("x", shape=(4,))
    value = x
    for _ in range(5):
        value = relay.sin(relay.nn.relu(value))
    stage = byoc_lab.trace(IRModule.from_expr(value), "dnnl")["PartitionGraph"]
    names = [f"@{gv.name_hint}" for gv in stage.after.functions if gv.name_hint != "main"]
    listed = stage.diff().summary.partition(" moved into ")[2].partition(", 5 calls added")[0]
    assert listed == f"5 functions ({names[0]}, {names[1]}, {names[2]} and 2 more)"


def test_call_of_a_function_is_not_paired_with_the_call_of_a_region_inside() -> None:
    """The call of @f and the call of the region inside @f return the same value."""
    made = 'Compiler="A", Primitive=1, global_symbol='
    of_r = f'def @r(%b: {TENSOR}, {made}"r") -> {TENSOR} {{ tanh(%b) }}\n'
    of_s = f'def @s(%c: {TENSOR}, {made}"s") -> {TENSOR} {{ exp(%c) }}\n'
    of_f, main = (f"def @{name}(%x: {TENSOR}) -> {TENSOR}" for name in ("f", "main"))
    before = f"{of_f} {{ tanh(%x) }}\n{main} {{ %0 = @f(%x); exp(%0) }}\n"
    after = f"{of_f} {{ @r(%x) }}\n{main} {{ %0 = @f(%x); @s(%0) }}\n{of_r}{of_s}"
    assert _summary(before, after) == "1 call moved into @r, 1 call moved into @s, 2 calls added"


@pytest.mark.parametrize(
    ("before", "after", "summary"),
    [
        ("%x, %w: add(nn.relu(%x), %w)", "%a: add(nn.relu(%a), %a)",
         "1 parameter removed, operands of 1 call changed"),
        ("%x, %w, %b: add(add(nn.relu(%x), %w), %b)", "%a, %b: add(nn.relu(%a), %b)",
         "1 parameter removed, 1 call removed"),
        ("%x: nn.relu(%x)", "%c, %a: add(nn.relu(%a), %c)", "1 parameter added, 1 call added"),
        ("%x: add(%x, 1f)", "%a, %c: subtract(%a, %c)",
         "1 parameter added, 1 call added, 1 call removed"),
    ],
)  # fmt: skip
def test_renamed_parameter_is_not_reported_as_added_and_removed(
    before: str, after: str, summary: str
) -> None:
    def text(short: str) -> str:
        names, body = short.split(": ")
        typed = ", ".join(f"{name}: {TENSOR}" for name in names.split(", "))
        return f"def @main({typed}) {{ {body} }}"

    assert _summary(text(before), text(after)) == summary


def test_renamed_parameter_of_a_composite_is_not_reported_as_added_and_removed() -> None:
    def text(params: str, body: str, args: str) -> str:
        typed = ", ".join(f"{name}: {TENSOR}" for name in params.split(", "))
        fn = f'%0 = fn ({typed}, Composite="npu.c") {{ {body} }};'
        return f"def @main(%x: {TENSOR}) {{ {fn} %0({args}) }}"

    before = text("%a, %q", "add(nn.relu(%a), %q)", "%x, %x")
    after = text("%b", "add(nn.relu(%b), %b)", "%x")
    assert _summary(before, after) == "1 parameter removed, operands of 1 composite changed"
