"""The graph as a `graphviz.Digraph`."""

from __future__ import annotations

import subprocess

import pytest

from byoc_lab import relay
from byoc_lab.errors import UnknownNameError
from byoc_lab.lab.view import graph
from byoc_lab.lab.view.drawing.digraph import THEMES, digraph_of
from byoc_lab.lab.view.drawing.layout import find_dot
from byoc_lab.lab.view.drawing.picture import picture_of
from byoc_lab.lab.view.graph import MAX_BOXES
from byoc_lab.relay import nn
from tests.lab.view.samples import chain, mobilenet


@pytest.mark.parametrize("theme", THEMES)
def test_digraph_has_every_box_every_arrow_and_the_theme_s_colours(theme: str) -> None:
    picture = picture_of(mobilenet().final)
    made = digraph_of(picture, theme)
    source = made.source
    assert source.count("->") == len(picture.arrows)
    assert all(f"b{n} [" in source for n in range(len(picture.boxes)))
    assert source.count("subgraph cluster_f") == len(picture.frames)
    assert THEMES[theme]["regions"][0] in source and THEMES[theme]["paper"] in source
    exe = find_dot()
    assert exe is not None
    drawn = subprocess.run([exe, "-Tsvg"], input=source.encode(), capture_output=True, check=True)
    assert b"nn.softmax" in drawn.stdout


def test_edges_across_a_boundary_without_annotation_are_highlighted() -> None:
    source = graph(chain()[1].after).digraph()
    assert "style=dashed" in source.source and THEMES["light"]["bad"] in source.source


def test_names_in_a_module_are_never_markup() -> None:
    x = relay.var("<b>\\N</b>", shape=(2,))
    source = graph(relay.IRModule.from_expr(nn.relu(x))).digraph().source
    assert "<<b>" not in source


def test_unknown_theme_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="light, dark; found 'blue'"):
        graph(chain()[0].before).digraph("blue")


def test_large_function_is_drawn_with_folded_blocks() -> None:
    x: relay.Expr = relay.var("data", shape=(1, 16, 8, 8))
    for n in range(MAX_BOXES):
        x = nn.relu(nn.conv2d(x, relay.var(f"w{n}", shape=(16, 16, 1, 1)), kernel_size=(1, 1)))
    shown = graph(relay.IRModule.from_expr(x))
    assert f"{MAX_BOXES - 1} times" in str(shown)
    assert len(str(shown).splitlines()) < 10
    assert f"{MAX_BOXES - 1} times" in shown.svg
