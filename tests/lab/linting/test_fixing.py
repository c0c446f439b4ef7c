"""`fix` and `finding.fix`: shown, applied, undone, and offered only if verified."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import diff, fix, lint, relay, trace
from byoc_lab.errors import ArgumentError
from byoc_lab.lab.linting import edits, fixing
from byoc_lab.lessons import cases
from byoc_lab.passes import (
    AnnotateTarget,
    InferType,
    MergeCompilerRegions,
    PartitionGraph,
    SimplifyInference,
    ToGraphNormalForm,
)
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from tests.lab.linting.samples import begin, end, main


def module(text: str) -> IRModule:
    return InferType()(relay.parse(text))


def test_fix_is_shown_as_a_diff_applied_and_undone() -> None:
    mod = module(main(begin("%x"), "nn.relu(%0)"))
    made = fix(mod)
    assert made and made.steps == ('put compiler_end(..., "A") on nn.relu',)
    assert '+   annotation.compiler_end(%1, compiler="A")' in str(made)
    assert "proved: without annotations the module is structurally equal" in str(made)
    assert str(made.diff()) == str(diff(mod, made.after))
    assert not lint(made.apply())
    assert made.undo() is mod
    assert "text/html" in made._repr_mimebundle_() and "text/plain" in made._repr_mimebundle_()


def test_module_without_faults_needs_no_fix() -> None:
    made = fix(module(main(begin("%x"), "nn.relu(%0)", end("%1"))))
    assert not made and made.left == ()
    assert str(made) == (
        "nothing was fixed: the linter reports no errors and no warnings (it was given neither a "
        "back end nor a pipeline)"
    )


TUPLE = main(
    "(%x, %y)",
    begin("%0", "dnnl"),
    "concatenate(%1)",
    end("%2", "dnnl"),
    parameters="%x: Tensor[(30, 30), float32], %y: Tensor[(30, 30), float32]",
)


def test_fix_uses_the_rules_of_the_given_back_end() -> None:
    """`fix(mod, backend=...)` repairs the findings of `lint(mod, backend=...)`; `fix(mod)` says
    that the back end reports them."""
    mod = module(TUPLE)
    assert lint(mod, backend="dnnl").by_code("BYL027")
    made = fix(mod, backend="dnnl")
    assert made and not lint(made.apply(), backend="dnnl")
    alone = fix(mod)
    assert not alone and "fix(mod, backend='dnnl') repairs them" in str(alone)


def test_fix_reports_pipeline_findings_as_left() -> None:
    mod = module(main(begin("%x", "dnnl"), begin("1f", "dnnl"), "add(%0, %1)", end("%2", "dnnl")))
    steps = ["FoldConstant", "PartitionGraph"]
    assert [f.code for f in lint(mod, steps)] == ["BYL022"]
    made = fix(mod, pipeline=steps)
    assert not made and [f.code for f in made.left] == ["BYL022"]


def test_hints_are_named_if_nothing_is_to_be_fixed() -> None:
    mod = module(main(begin("%x", "dnnl"), "nn.relu(%0)", end("%1", "dnnl")))
    (hint,) = lint(mod, backend="dnnl")
    made = fix(mod, backend="dnnl")
    assert hint.code == "BYL028" and not made and not made.left
    assert hint.message in str(made) and "reports no errors and no warnings" in str(made)


def test_each_finding_has_a_separate_fix() -> None:
    text = main(begin("%x"), "nn.relu(%0)", end("%1", "B"))
    (found,) = lint(module(text))
    assert found.fix is not None and len(found.fixes) >= 2
    for made in found.fixes:
        assert not lint(made.apply()).errors
        assert structural_equal(
            edits.without_annotations(made.after), edits.without_annotations(made.before)
        )


def test_unproved_fix_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proposal that changes the module's results is dropped."""
    mod = module(main(begin("%x"), "nn.relu(%0)"))
    other = module(main(begin("%x"), "tanh(%0)", end("%1")))
    monkeypatch.setattr(fixing, "_made", lambda *_: other)
    made = fix(mod)
    assert not made and made.after is mod and len(made.left) == 1
    assert lint(mod)[0].fix is None


def test_folding_that_changes_numbers_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other operators need equal numbers, for every tested input."""
    mod = module(main(begin("%x"), "nn.relu(%0)"))
    lines = (begin("%x"), begin("1.001f"), "nn.relu(%0)", "multiply(%2, %1)", end("%3"))
    almost = module(main(*lines))
    assert not lint(almost)
    monkeypatch.setattr(fixing, "_made", lambda *_: almost)
    assert not fix(mod)


def test_fix_of_the_first_thread_is_one_begin() -> None:
    case = cases.get("nested-partition")
    made = fix(case.module())
    assert structural_equal(made.apply(), case.fixed())
    assert made.steps == ('put compiler_begin(..., "dnnl") on argument 0 of nn.conv2d',)


def test_fix_of_the_second_thread_is_an_order_of_passes() -> None:
    case = cases.get("batch-norm")
    made = fix(case.module())
    assert structural_equal(made.apply(), case.fixed())
    assert "the module computes the same numbers for 2 random inputs" in made.proof


def _second_thread() -> tuple[IRModule, dict[str, np.ndarray]]:
    """A convolution and a batch norm, annotated while the weight is a parameter."""
    random = np.random.RandomState(0)
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    norms = [relay.const(random.uniform(0.5, 1.5, 4).astype("float32")) for _ in range(4)]
    conv = relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=4, padding=(1, 1))
    out = relay.nn.relu(relay.nn.batch_norm(conv, *norms)[0])
    recorded = trace(IRModule.from_expr(relay.Function([x, w], out)), "dnnl")
    annotated = recorded["MergeCompilerRegions"].after
    assert annotated is not None
    return annotated, {"w": random.rand(4, 3, 3, 3).astype("float32")}


def _operators(mod: IRModule) -> set[str]:
    nodes = (n for f in mod.functions.values() for n in post_order(f))
    return {n.name for n in nodes if isinstance(n, relay.Op)}


def test_leftover_multiply_is_removed_by_binding_the_weight() -> None:
    mod, params = _second_thread()
    assert [f.code for f in lint(mod)] == ["BYL025"]
    assert "multiply" in _operators(mod)
    assert not fix(mod), "without the weight nothing can be folded"
    made = fix(mod, params)
    assert made.steps[0] == "bind %w" and "same numbers" in made.proof
    assert "multiply" not in _operators(made.apply()) and not lint(made.apply())
    assert made.undo() is mod
    with pytest.raises(ArgumentError, match="@main has no parameter %W; did you mean 'w'"):
        fix(mod, {"W": params["w"]})


def test_fix_of_the_fourth_thread_converts_to_graph_normal_form() -> None:
    mod = cases.get("let-bound-calls").module()
    found = lint(mod)
    assert {f.code for f in found} == {"BYL004"}
    steps = {step for f in found for made in f.fixes for step in made.steps}
    assert "bring the module into graph form, without lets" in steps
    made = fix(mod)
    assert all("remove compiler_begin[" in step for step in made.steps)
    assert PartitionGraph()(made.apply())
    graph = found[0].fixes[-1].apply()
    plain = ToGraphNormalForm()(InferType()(edits.without_annotations(mod)))
    assert structural_equal(InferType()(edits.without_annotations(graph)), plain)


def test_network_annotated_too_early_has_one_finding_with_its_fix() -> None:
    """SimplifyInference runs after annotation: 27 batch norms, one cause."""
    mod, params = relay.testing.mobilenet.get_workload(image_shape=(3, 32, 32))
    mod["main"] = bind_params_by_name(mod["main"], params)
    early = MergeCompilerRegions()(AnnotateTarget("dnnl")(InferType()(mod)))
    found = lint(SimplifyInference()(early))
    assert [f.code for f in found] == ["BYL015"]
    assert len(found.all) > 50 and "27 batch norms" in found[0].message
    assert fix(SimplifyInference()(early)).left == ()
    (before,) = lint(early, [SimplifyInference(), PartitionGraph()])
    assert before.code == "BYL023"


def test_fix_of_an_object_other_than_a_module_raises_argument_error() -> None:
    with pytest.raises(ArgumentError, match="fix expects an IRModule, found str"):
        fix("def @main() {}")  # type: ignore[arg-type]


def test_fix_that_keeps_the_operator_in_its_region_is_preferred() -> None:
    x, y = (relay.var(name, shape=(2, 2)) for name in "xy")
    pair = relay.annotation.compiler_begin(relay.Tuple([x, y]), "dnnl")
    joined = relay.annotation.compiler_end(relay.concatenate(pair, axis=0), "dnnl")
    mod = InferType()(IRModule.from_expr(relay.Function([x, y], joined)))
    made = fix(mod, backend="dnnl")
    assert made.steps == ('put compiler_begin(..., "dnnl") on each field of the tuple',)
    outside = _operators(IRModule.from_expr(PartitionGraph()(made.apply())["main"]))
    assert "concatenate" not in outside
