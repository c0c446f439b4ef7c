"""The picture of a Relay module: boxes, frames and arrows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from byoc_lab import relay
from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.view.drawing.elements import Picture, collapse
from byoc_lab.lab.view.drawing.picture import TIMES, picture_of
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.relay import nn
from byoc_lab.relay.analysis.annotations import begin, end
from tests.lab.view.samples import annotated, chain, mobilenet, network


def titles(picture: Picture) -> list[str]:
    return [box.title for box in picture.boxes]


def arrows(picture: Picture) -> list[tuple[str, str]]:
    return [(a.source.title, a.target.title) for a in picture.arrows]


def test_weights_are_folded_into_the_operators_that_use_them() -> None:
    picture = picture_of(InferType()(network(1)))
    assert titles(picture) == ["%data", "nn.conv2d", "nn.batch_norm", "nn.relu", "output"]
    conv = picture.boxes[1]
    assert (conv.weights, conv.detail) == (1, TIMES.join(["1", "16", "8", "8"]))
    assert picture.boxes[2].weights == 4


def test_projection_is_part_of_the_box_of_its_tuple() -> None:
    mod = InferType()(network(1))
    norm = next(b for b in picture_of(mod).boxes if b.title == "nn.batch_norm")
    assert any(isinstance(e, relay.TupleGetItem) for e in norm.exprs)


def test_input_added_to_another_input_is_not_a_weight() -> None:
    x, y = relay.var("x", shape=(2, 2)), relay.var("y", shape=(2, 2))
    assert titles(picture_of(relay.IRModule.from_expr(x + y))) == ["%x", "%y", "add", "output"]


def test_regions_have_the_numbers_of_tvm() -> None:
    picture = picture_of(annotated(fixed=True, blocks=3))
    assert [f.label for f in picture.frames] == [f"dnnl · region {n}" for n in (0, 6, 12)]
    assert [f.colour for f in picture.frames] == [0, 1, 2]
    assert not any(a.crossing for a in picture.arrows)


def test_only_the_edge_without_begin_is_marked_as_crossing() -> None:
    picture = picture_of(annotated(fixed=False))
    crossing = [(a.source.title, a.target.title) for a in picture.arrows if a.crossing]
    assert crossing == [("end", "nn.conv2d")]


def test_edge_from_a_region_without_end_to_the_output_is_marked_as_crossing() -> None:
    x = relay.var("x", shape=(2, 2))
    mod = InferType()(relay.IRModule.from_expr(nn.relu(begin(x, "dnnl"))))
    assert [(a.source.title, a.target.title) for a in picture_of(mod).arrows if a.crossing] == [
        ("nn.relu", "output")
    ]


def test_edge_from_an_unclosed_region_to_a_begin_is_marked_as_crossing() -> None:
    x = relay.var("x", shape=(2, 2))
    inner = begin(relay.exp(nn.relu(begin(x, "dnnl"))), "dnnl")
    mod = InferType()(relay.IRModule.from_expr(end(relay.tanh(inner), "dnnl")))
    assert [(a.source.title, a.target.title) for a in picture_of(mod).arrows if a.crossing] == [
        ("exp", "begin")
    ]
    drawn = collapse(picture_of(mod))
    assert any(a.crossing for a in drawn.arrows)


def test_external_function_is_drawn_at_its_call() -> None:
    mod = chain(fixed=True).final
    picture = picture_of(mod)
    assert [(f.kind, f.colour) for f in picture.frames] == [("external", 0), ("external", 1)]
    assert arrows(picture)[0] == ("%data", "nn.conv2d")
    assert ("nn.relu", "nn.conv2d") in arrows(picture), "one region feeds the next"
    assert picture.stats() == {"offloaded": 6, "host": 0, "regions": 2}


def test_functions_of_a_compiler_count_as_regions_even_if_not_drawn() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 2), float32]) {
  let %a = @swapped(%x, %x);
  let %b = @relu(%a.0);
  %b
}
def @swapped(%p: Tensor[(2, 2), float32], %q: Tensor[(2, 2), float32], Compiler="dnnl") {
  (%q, %p)
}
def @relu(%p: Tensor[(2, 2), float32], Compiler="dnnl") { nn.relu(%p) }
"""
    picture = picture_of(relay.parse(text))
    assert [f.label for f in picture.frames] == ["@relu · dnnl"]
    assert picture.stats() == {"offloaded": 1, "host": 0, "regions": 2}


def test_begin_without_operators_is_no_region() -> None:
    """AnnotateTarget of TVM 0.16 puts a begin without an end around the value of each let."""
    text = "def @main(%x: Tensor[(2,), float32]) {\n  let %a = tanh(%x);\n  tanh(%a)\n}"
    counted = [
        picture_of(AnnotateTarget("dnnl", era=era)(InferType()(relay.parse(text)))).stats()
        for era in ("0.16", None)
    ]
    assert counted == [{"offloaded": 2, "host": 0, "regions": 2}] * 2


@pytest.mark.parametrize("traced", [lambda: chain(fixed=True, blocks=4), mobilenet])
def test_region_counts_once_before_its_function_is_called(
    traced: Callable[[], Trace],
) -> None:
    stage = traced().stages[-1]
    assert "add function" in {event.rule for event in stage.events}
    wanted = picture_of(stage.before).stats()
    for rewrite in range(1, min(13, len(stage.events) + 1)):
        assert picture_of(stage.step(rewrite).after).stats() == wanted


def test_composites_are_frames_inside_regions() -> None:
    picture = picture_of(mobilenet().final)
    composites = [f for f in picture.frames if f.kind == "composite"]
    assert len(composites) == 27
    assert {f.label for f in composites} == {"dnnl.conv2d_bias_relu"}
    assert {f.parent.kind for f in composites if f.parent} == {"external"}


def test_closures_of_2020_are_nested_frames() -> None:
    """In the first thread's case study, the second region is inside the first."""
    x = relay.var("x", shape=(2, 2))
    inner = relay.Function([], nn.relu(x), attrs={"Compiler": "dnnl", "ExternalSymbol": "dnnl_1"})
    outer = relay.Function(
        [], nn.relu(relay.Call(inner, [])), attrs={"Compiler": "dnnl", "ExternalSymbol": "dnnl_0"}
    )
    picture = picture_of(relay.Function([x], relay.Call(outer, [])))
    assert [f.label for f in picture.frames] == ["@dnnl_0", "@dnnl_1"]
    assert picture.frames[1].parent is picture.frames[0]
    assert arrows(picture) == [("%x", "nn.relu"), ("nn.relu", "nn.relu"), ("nn.relu", "output")]


def test_values_bound_by_lets_are_connected() -> None:
    x, v = relay.var("x", shape=(2, 2)), relay.var("v")
    body = relay.Let(v, nn.relu(x), relay.Tuple([v, nn.relu(v)]))
    picture = picture_of(relay.Function([x], body))
    assert arrows(picture) == [
        ("%x", "nn.relu"),
        ("nn.relu", "nn.relu"),
        ("nn.relu", "output"),
        ("nn.relu", "output"),
    ]


def test_let_bound_to_itself_terminates() -> None:
    v = relay.var("v")
    assert titles(picture_of(relay.Let(v, v, v)))[-1] == "output"


def test_recursive_function_is_drawn_once() -> None:
    x = relay.var("x", shape=(2, 2))
    mod = relay.IRModule()
    gv = relay.GlobalVar("main")
    mod[gv] = relay.Function([x], nn.relu(relay.Call(gv, [x])))
    assert "@main" in titles(picture_of(mod))


def test_functions_without_a_call_have_separate_frames() -> None:
    x, y = relay.var("x", shape=(2, 2)), relay.var("y", shape=(2, 2))
    mod = relay.IRModule({"main": relay.Function([x], nn.relu(x))})
    mod["other"] = relay.Function([y], relay.exp(y))
    assert [f.label for f in picture_of(mod).frames] == ["@other"]


@pytest.mark.slow
def test_long_chain_needs_no_recursion() -> None:
    x: relay.Expr = relay.var("x", shape=(2, 2))
    for _ in range(20_000):
        x = end(nn.relu(begin(x, "dnnl")), "dnnl")
    picture = picture_of(relay.Function(relay.analysis.free_vars(x), x))
    assert len(picture.frames) == 20_000
    assert picture.stats()["offloaded"] == 20_000


def test_deeply_nested_functions_need_no_recursion() -> None:
    x = relay.var("x", shape=(2, 2))
    call: relay.Expr = x
    for _ in range(3000):
        p = relay.var("p", shape=(2, 2))
        call = relay.Call(relay.Function([p], nn.relu(p)), [call])
    assert len(picture_of(relay.Function([x], call)).boxes) == 3002


def test_collapsed_picture_has_one_box_per_region() -> None:
    small = collapse(picture_of(annotated(fixed=True)))
    assert titles(small) == ["%data", "dnnl · region 0", "dnnl · region 6", "output"]
    assert len(small.arrows) == 3


def test_partitioning_keeps_the_operators_in_the_picture() -> None:
    before = annotated(fixed=True)
    ops = [t for t in titles(picture_of(before)) if t not in ("begin", "end")]
    assert titles(picture_of(PartitionGraph()(before))) == ops
