"""The graph of a compiled region: a drawing in a notebook, text in a terminal."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np

from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.backends.dnnl.graph import DnnlGraph
from byoc_lab.lab.view import graph
from byoc_lab.lab.view.drawing.region_picture import TIMES
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.typing.infer import infer_module


def const(*shape: int) -> relay.Constant:
    return relay.const(np.ones(shape, np.float32))


def residual_block() -> DnnlGraph:
    data = relay.var("data", shape=(1, 3, 32, 32))
    stem = nn.conv2d(data, const(16, 3, 3, 3), padding=1, strides=(2, 2))
    stem = nn.relu(nn.bias_add(stem, const(16)))
    body = nn.relu(nn.conv2d(stem, const(16, 16, 3, 3), padding=1) + stem)
    pooled = nn.max_pool2d(body, (2, 2), (2, 2))
    mod = infer_module(IRModule.from_expr(relay.Tuple([pooled, stem])))
    return dnnl.region_graph(mod["main"], "dnnl_0").graph


TEXT = """\
[0] data  1*3*32*32
┌ @dnnl_0 · dnnl
  [1] conv2d + bias + relu  3*3, stride 2, 1*16*16*16  ← [0]
  [2] conv2d + add + relu  3*3, 1*16*16*16  ← [1], [1]
  [3] max_pool2d  2*2, stride 2, 1*16*8*8  ← [2]
[4] output  ← [3]
[5] output  ← [1]""".replace("*", TIMES)


def test_region_graph_is_printed_as_text() -> None:
    shown = residual_block()
    assert str(shown) == repr(shown) == str(graph(shown)) == TEXT


def test_region_graph_is_json_data() -> None:
    shown = residual_block()
    assert json.loads(json.dumps(shown)) == shown
    assert [op["kind"] for op in shown["ops"]] == ["conv2d", "conv2d", "max_pool2d"]


def test_drawing_states_the_weights_not_drawn() -> None:
    bundle = residual_block()._repr_mimebundle_()
    assert bundle["text/plain"] == TEXT
    drawn = ElementTree.fromstring(bundle["image/svg+xml"])
    words = [t.text for t in drawn.iter("{http://www.w3.org/2000/svg}text")]
    for word in (
        "@dnnl_0 · dnnl",
        "conv2d + bias + relu",
        f"1{TIMES}3{TIMES}32{TIMES}32",
        "output",
    ):
        assert word in words
    titles = [t.text for t in drawn.iter("{http://www.w3.org/2000/svg}title")]
    assert any("2 weights not drawn" in str(t) for t in titles)


def test_names_are_data_and_never_markup() -> None:
    shown = residual_block()
    shown["tensors"][shown["inputs"][0]]["name"] = "<script>"
    assert "<script>" not in shown._repr_mimebundle_()["image/svg+xml"]
