"""`compare`: the differences of two traces, the first difference, and the moved operators."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import ArgumentError, StageIndexError, UnknownNameError
from byoc_lab.lab.comparing import Comparison, compare
from byoc_lab.lab.tracing import trace
from byoc_lab.relay import IRModule
from tests import strategies
from tests.lab.tracing.recording.lines import FOREIGN, HEAD, begin, end, write
from tests.lab.view.samples import chain
from tests.sweeps import some

PASSES = ["InferType", "SimplifyInference", "FoldConstant", "InferType"]


def network(*operators: str) -> IRModule:
    x: relay.Expr = relay.var("x", shape=(2, 2))
    for name in operators:
        x = getattr(relay.nn if name == "relu" else relay, name)(x)
    return IRModule.from_expr(x)


def ways(comparison: Comparison) -> Counter[tuple[str, str, str]]:
    return Counter((m.operator, m.source.back_end, m.target.back_end) for m in comparison.moved)


def test_traces_for_two_back_ends_differ_first_at_annotation() -> None:
    mod = network("relu", "tanh", "sigmoid")
    made = compare(trace(mod, "dnnl"), trace(mod, "ccompiler"))
    assert made and made.first_difference is made["AnnotateTarget"]
    assert not made[0].differs and made[0].name == "input"
    assert ways(made)[("nn.relu", "dnnl", "ccompiler")] == 1
    (relu,) = [m for m in made.moved if m.operator == "nn.relu"]
    assert (relu.source.region, relu.target.region) == (
        "@tvmgen_default_dnnl_main_0", "@tvmgen_default_ccompiler_main_0",
    )  # fmt: skip
    assert relu.first in made[-1].diff().correspondence.to_after
    assert made["FoldConstant"].only_in == "first"


def test_comparison_counts_calls_moved_between_host_and_region() -> None:
    mod = network("relu", "erf")
    annotated = ["InferType", relay.transform.AnnotateTarget("dnnl"), "PartitionGraph"]
    there = compare(trace(mod, ["InferType"]), trace(mod, annotated))
    assert [str(m) for m in there.moved] == [
        "nn.relu: the host in the first, @tvmgen_default_dnnl_main_0 of dnnl in the second"
    ]
    back = compare(trace(mod, annotated), trace(mod, ["InferType"]))
    assert [m.way for m in back.moved] == ["from dnnl to the host"]
    assert back.summary.endswith("; 1 operator moved from dnnl to the host")
    moved = "1 operator moved from dnnl to the host; 1 call placed in @main instead, "
    assert back[-1].summary.startswith(moved)
    assert "  1 nn.relu from dnnl to the host" in str(back)


def test_two_versions_of_a_module_differ_from_the_input_on() -> None:
    made = compare(trace(network("relu", "tanh"), PASSES), trace(network("relu", "exp"), PASSES))
    assert made.first_difference is made["input"]
    assert made[0].summary == "1 call added, 1 call removed"
    assert str(made).splitlines()[1] == "5 of 5 stages differ, the first is input"


def test_stages_of_one_pipeline_alone_are_marked() -> None:
    mod = network("relu")
    doubled = relay.transform.ToANormalForm(), relay.transform.ToGraphNormalForm()
    made = compare(trace(mod, ["InferType", "InferType"]), trace(mod, ["InferType", *doubled]))
    assert [(pair.name, pair.only_in, pair.differs) for pair in made.pairs] == [
        ("input", "", False),
        ("InferType", "", False),
        ("InferType", "first", False),
        ("ToANormalForm", "second", True),
        ("ToGraphNormalForm", "second", False),
    ]


def test_failed_pipeline_is_compared_up_to_its_error() -> None:
    made = compare(chain(), chain(fixed=True))
    assert made.first_difference is made["Annotate"]
    pair = made["PartitionGraph"]
    assert pair.first is not None and pair.first_module is pair.first.before
    assert "3  PartitionGraph  failed   changed " in str(made)


def test_recording_and_trace_of_one_pipeline_do_not_differ(tmp_path: Path) -> None:
    typed = relay.transform.InferType()(network("relu", "tanh"))  # modules of a recording are typed
    ours = trace(typed, ["InferType", "FoldConstant"])
    lines = [HEAD]
    for stage in ours:
        assert stage.after is not None
        lines += [begin(stage.name, stage.before.astext()), end(stage.name, stage.after.astext())]
    recording = byoc_lab.load_trace(write(tmp_path / "recording", *lines))
    made = compare(recording, ours)
    assert not made and [pair.only_in for pair in made.pairs] == ["", "", ""]
    assert "no difference in 3 stages, the input included" in str(made)


def test_module_known_only_as_text_differs_without_moved_operators(tmp_path: Path) -> None:
    passes = [begin("InferType"), end("InferType", FOREIGN)]
    recording = byoc_lab.load_trace(write(tmp_path / "recording", HEAD, *passes))
    made = compare(recording, trace(recording.initial, ["InferType"]))
    assert made["InferType"].differs and made["InferType"].moved == ()
    assert "of the text" in made["InferType"].summary


def test_pairs_are_found_by_position_and_name() -> None:
    made = compare(chain(), chain())
    assert made[1] is made["InferType"] and len(made) == 4
    assert repr(made[1]) == "<pair InferType: same>"
    with pytest.raises(StageIndexError, match=r"4 pairs of stages, numbered from 0; found 4"):
        made[4]
    with pytest.raises(UnknownNameError, match="has no stage 'Partition'"):
        made["Partition"]


def test_compare_refuses_arguments_other_than_traces_and_modules() -> None:
    with pytest.raises(ArgumentError, match="found str as the second"):
        compare(chain(), "trace")  # type: ignore[arg-type]


def test_comparison_is_saved_as_one_page(tmp_path: Path) -> None:
    page = compare(chain(), chain(fixed=True)).save_html(tmp_path / "page.html")
    assert "beside" in page.read_text(encoding="utf-8")


@settings(max_examples=some(30))
@given(mod=strategies.modules())
def test_trace_does_not_differ_from_itself(mod: IRModule) -> None:
    one = trace(mod, "ccompiler")
    for other in (one, trace(mod, "ccompiler")):
        made = compare(one, other)
        assert not made and made.first_difference is None
        assert not made.moved and not any(pair.only_in for pair in made.pairs)


@settings(max_examples=some(40))
@given(mod=strategies.modules(), other=strategies.modules())
def test_swapping_the_traces_swaps_the_sides(mod: IRModule, other: IRModule) -> None:
    pipelines = PASSES, "ccompiler"
    for first, second in ((mod, mod), (mod, other)):
        a, b = trace(first, pipelines[0]), trace(second, pipelines[1])
        there, back = compare(a, b), compare(b, a)
        assert [_swapped(there, n) for n in range(len(there))] == [
            (p.name, p.only_in, p.differs) for p in back.pairs
        ]
        if first is second:
            swapped = Counter({(o, t, s): n for (o, s, t), n in ways(there).items()})
            assert swapped == ways(back)


def _swapped(made: Comparison, n: int) -> tuple[str, str, bool]:
    pair = made[n]
    return pair.name, {"first": "second", "second": "first", "": ""}[pair.only_in], pair.differs
