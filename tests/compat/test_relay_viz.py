"""`tvm.contrib.relay_viz`: trees and DOT, as TVM 0.16 writes them."""

from __future__ import annotations

import pathlib

import pytest

from byoc_lab.compat import relay, tvm
from byoc_lab.errors import BuildError

viz = tvm.contrib.relay_viz


def _calls() -> tvm.IRModule:
    data, bias = relay.var("data"), relay.var("bias")
    add = relay.GlobalVar("AddFunc")
    x, y = relay.var("x"), relay.var("y", shape=(2, 3), dtype="int8")
    main = relay.Function([x, y], relay.Call(add, [y, relay.Call(add, [x, y])]))
    return tvm.IRModule({"main": main, add: relay.Function([data, bias], relay.add(data, bias))})


def test_tree(capsys: pytest.CaptureFixture[str]) -> None:
    viz.RelayVisualizer(_calls(), {"y": None}).render()
    assert (
        capsys.readouterr().out
        == """\
@main([Var(x), Var(y, ty=TensorType([2, 3], int8))])
`--Call 
   |--GlobalVar AddFunc
   |--Var(Param) name_hint: y, shape: (2, 3), dtype: int8
   `--Call 
      |--GlobalVar AddFunc
      |--Var(Input) name_hint: x
      `--Var(Param) name_hint: y, shape: (2, 3), dtype: int8
@AddFunc([Var(data), Var(bias)])
`--Call 
   |--add 
   |--Var(Input) name_hint: data
   `--Var(Input) name_hint: bias
"""
    )


def test_a_deep_chain_is_a_tree(tmp_path: pathlib.Path) -> None:
    value = x = relay.var("x")
    for _ in range(1200):
        value = relay.exp(value)
    viz.RelayVisualizer(tvm.IRModule.from_expr(relay.Function([x], value))).render(tmp_path / "x")
    lines = (tmp_path / "x").read_text().splitlines()
    assert len(lines) == 2402 and lines[-1].lstrip() == "`--Var(Input) name_hint: x"


def test_details_of_nodes() -> None:
    d, w = relay.var("d", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    conv = relay.nn.conv2d(d, w, kernel_size=(3, 3), channels=4, out_dtype="float32")
    composite = relay.Function([d, w], conv).with_attr("Composite", "npu.conv2d")
    pair = relay.Tuple([composite(d, relay.const([[[[1.0]]]])), relay.sum(d, axis=1)])
    main = relay.Function([d], relay.If(relay.const(True), relay.TupleGetItem(pair, 1), d))
    seen = []

    class Listing(viz.interface.DefaultVizParser):
        def get_node_edges(self, node, relay_param, node_to_id):  # type: ignore[no-untyped-def]
            shown, edges = super().get_node_edges(node, relay_param, node_to_id)
            seen.append(shown and (shown.type_name, shown.detail, len(edges)))
            return shown, edges

    viz.RelayVisualizer(tvm.IRModule.from_expr(main), parser=Listing())
    layouts = "data_layout: NCHW\nkernel_layout: OIHW\nout_layout: \nout_dtype: float32"
    numbers = "strides: [1, 1]\npadding: [0, 0, 0, 0]\ndilation: [1, 1]\ngroups: 1\nchannels: 4"
    assert ("Call nn.conv2d", f"{numbers}\nkernel_size: [3, 3]\n{layouts}", 2) in seen
    assert ("Call npu.conv2d", "Composite: npu.conv2d", 2) in seen
    assert ("Func npu.conv2d", "Composite: npu.conv2d", 1) in seen
    assert ("Call sum", "axis: [1]\nkeepdims: 0\nexclude: 0", 1) in seen
    assert ("Const", "shape: (1, 1, 1, 1), dtype: float32", 0) in seen
    assert ("TupleGetItem", "idx: 1", 1) in seen and ("Tuple", "", 2) in seen
    unknown = "don't know how to parse <class 'tvm.relay.expr.If'>"
    assert ("unknown", unknown, 0) in seen and None in seen


def test_dot(tmp_path: pathlib.Path) -> None:
    options = {"format": "svg", "cleanup": False}
    plotter = viz.DotPlotter(
        graph_attr={"color": "red"},
        get_node_attr=lambda node: {"shape": "box" if "add" in node.type_name else "ellipse"},
        render_kwargs=options,
    )
    shown = viz.RelayVisualizer(_calls(), None, plotter, viz.DotVizParser())
    shown.render(str(tmp_path / "calls"))
    text = (tmp_path / "calls").read_text()
    assert "\tsubgraph cluster_main {\n\t\tgraph [color=red]\n\t\tlabel=main\n" in text
    assert '\t\t9 [label="Call add\n" shape=box]\n' in text and "\t\t6 -> 9\n" in text
    assert "Call add" in (tmp_path / "calls.svg").read_text()
    odd = viz.DotPlotter(render_kwargs={"format": "mp"})
    viz.RelayVisualizer(_calls(), None, odd)
    with pytest.raises((BuildError, ValueError, RuntimeError), match="mp"):
        odd.render(str(tmp_path / "odd"))
