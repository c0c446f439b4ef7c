"""The graph of a module as DOT, layout and SVG."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from byoc_lab import relay
from byoc_lab.errors import BuildError, MissingDependencyError
from byoc_lab.lab.view import graph
from byoc_lab.lab.view.drawing import layout
from byoc_lab.lab.view.drawing.layout import find_dot, lay_out
from byoc_lab.lab.view.drawing.picture import TIMES, picture_of
from byoc_lab.lab.view.graph import MAX_BOXES
from byoc_lab.relay import nn
from tests.lab.view.samples import annotated, chain, mobilenet

SVG = "{http://www.w3.org/2000/svg}"


def test_layout_program_is_installed_with_the_package() -> None:
    found = find_dot()
    assert found is not None
    assert Path(found).is_file()


def test_boxes_do_not_overlap_and_are_inside_their_frames() -> None:
    picture = picture_of(annotated(fixed=True, blocks=3))
    plan = lay_out(picture)
    places = list(plan.boxes.values())
    for n, a in enumerate(places):
        for b in places[n + 1 :]:
            assert a.x + a.w <= b.x or b.x + b.w <= a.x or a.y + a.h <= b.y or b.y + b.h <= a.y
    for box, at in plan.boxes.items():
        if box.frame:
            around = plan.frames[box.frame]
            assert around.x <= at.x and at.x + at.w <= around.x + around.w
            assert around.y <= at.y and at.y + at.h <= around.y + around.h


def test_every_arrow_ends_at_its_own_box() -> None:
    picture = picture_of(mobilenet().final)
    plan = lay_out(picture)
    for arrow in picture.arrows:
        source, target = plan.boxes[arrow.source], plan.boxes[arrow.target]
        (x0, y0), (x1, y1) = plan.curves[arrow][0], plan.curves[arrow][-1]
        assert abs(y0 - (source.y + source.h)) < 2 and source.x - 1 <= x0 <= source.x + source.w + 1
        assert abs(y1 - target.y) < 2 and target.x - 1 <= x1 <= target.x + target.w + 1


def test_each_box_is_drawn() -> None:
    shown = graph(annotated(fixed=True))
    root = ElementTree.fromstring(shown.svg)
    drawn = [g for g in root.iter(f"{SVG}g") if "byl-box" in g.get("class", "").split()]
    assert len(drawn) == len(shown.picture.boxes)


def test_each_region_has_a_label_and_a_pattern_besides_its_colour() -> None:
    text = graph(chain(fixed=True).final).svg
    root = ElementTree.fromstring(text)
    labels = [t.text for t in root.iter(f"{SVG}text") if "byl-label" in t.get("class", "")]
    assert len(labels) == 2 and all(label and "dnnl_main" in label for label in labels)
    fills = {r.get("fill") for r in root.iter(f"{SVG}rect")}
    assert {"url(#byl-p0)", "url(#byl-p1)"} <= fills


HOSTILE = '<img src=x onerror="alert(1)"> & \\N \x01 "quoted"'


def test_names_from_a_module_are_text() -> None:
    x = relay.var(HOSTILE, shape=(2, 2))
    func = relay.Function([x], nn.relu(x), attrs={"Compiler": HOSTILE, "global_symbol": HOSTILE})
    y = relay.var("y", shape=(2, 2))
    text = graph(relay.Function([y, x], relay.Call(func, [y]) + x)).svg
    root = ElementTree.fromstring(text)  # well formed, so no name was parsed as markup
    assert not list(root.iter(f"{SVG}img"))
    titles = {t.text for t in root.iter(f"{SVG}title")}
    assert f"@{HOSTILE}".replace("\x01", "\ufffd") in titles


def test_equal_modules_give_equal_drawings() -> None:
    assert graph(annotated(fixed=True)).svg == graph(annotated(fixed=True)).svg


def test_graph_is_displayed_as_drawing_and_text() -> None:
    bundle = graph(annotated(fixed=False))._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<svg")
    assert "┌ dnnl · region 6" in bundle["text/plain"]
    assert "(crosses a region border)" in bundle["text/plain"]


def test_text_of_a_graph_equals_its_drawing() -> None:
    x = relay.var("x", shape=(2, 3))
    assert str(graph(relay.Function([x], nn.relu(x)))) == (
        f"[0] %x  2{TIMES}3\n[1] nn.relu  ← [0]\n[2] output  ← [1]"
    )


def test_graph_without_a_layout_program_is_displayed_as_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(layout, "find_dot", lambda: None)
    view = graph(annotated(fixed=True))
    with pytest.raises(MissingDependencyError, match="pip install graphviz-pure"):
        _ = view.svg
    bundle = view._repr_mimebundle_()
    assert list(bundle) == ["text/plain"]
    assert "pip install graphviz-pure" in bundle["text/plain"]
    assert "nn.conv2d" in bundle["text/plain"]


def test_graph_of_any_size_is_drawn() -> None:
    x: relay.Expr = relay.var("x", shape=(2, 2))
    draw = random.Random(5)
    for _ in range(3000):  # little repetition
        x = draw.choice([nn.relu, relay.exp, relay.tanh, relay.erf, relay.sqrt])(x)
    svg = graph(relay.Function(relay.analysis.free_vars(x), x)).svg
    assert 10 < svg.count('class="byl-box') < MAX_BOXES
    assert "section 3 of " in svg


def test_failing_layout_program_raises_build_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "find_dot", lambda: sys.executable)
    with pytest.raises(BuildError, match="could not lay out"):
        lay_out(picture_of(annotated(fixed=True)))


def test_frames_nested_deeper_than_the_limit_are_drawn_without_inner_frames() -> None:
    x = relay.var("x", shape=(2, 2))
    call: relay.Expr = x
    for n in range(40):
        p = relay.var("p", shape=(2, 2))
        func = relay.Function([p], nn.relu(call if n else p), attrs={"Composite": f"c{n}"})
        call = relay.Call(func, [x])
    picture = picture_of(relay.Function([x], call))
    plan = lay_out(picture)
    assert len(plan.boxes) == len(picture.boxes)
    assert len(plan.frames) <= layout.MAX_DEPTH + 1


def test_dot_source_has_a_cluster_per_region() -> None:
    source = graph(annotated(fixed=True)).dot
    assert source.startswith("digraph picture {")
    assert source.count("subgraph cluster_f") == 2
    subprocess.run([find_dot() or "", "-Tplain"], input=source.encode(), check=True, timeout=900)
