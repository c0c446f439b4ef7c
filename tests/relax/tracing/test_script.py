"""The text of Relax modules, and the node of each line."""

from __future__ import annotations

import byoc_lab
from byoc_lab.relax.tracing import read
from byoc_lab.relay.ir.expr import Call, Function

from .networks import BRANCHES, DEVICES, SMALL, dnnl_passes, resnet


def plain(text: str) -> list[str]:
    kept = (line for line in text.split("\n") if line.strip())
    return [line for line in kept if not line.strip().startswith(("# from tvm", "# Metadata"))]


def test_text_equals_that_of_tvm() -> None:
    for mod in (SMALL, BRANCHES, DEVICES, resnet(1), byoc_lab.trace(resnet(1), "dnnl").result):
        assert sorted(plain(str(read(mod)))) == sorted(plain(mod.script(show_meta=False)))


def test_relax_functions_come_before_tir_functions() -> None:
    lines = byoc_lab.trace(SMALL, "LegalizeOps").final.lines
    assert list(dict.fromkeys(line.function for line in lines)) == [
        None, "main", "add", "conv2d", "erf", "relu",
    ]  # fmt: skip


def test_bindings_have_their_nodes_and_names() -> None:
    mod = read(SMALL)
    by_name = {line.defines: line for line in mod.lines if line.defines}
    assert list(by_name) == ["a", "c", "d", "e"]
    conv, relu = by_name["a"], by_name["d"]
    assert isinstance(conv.node, Call) and conv.node.op_name == "nn.conv2d"
    assert set(conv.refs) == {"x", "w"} and relu.refs == {"c": by_name["c"].node}
    assert mod.lines[3].node is mod["main"] and mod.lines[-1].node is by_name["e"].node
    assert not any("byoc_lab" in line.text for line in mod.lines)


def test_branches_and_local_functions_have_their_nodes() -> None:
    lines = read(BRANCHES).lines
    (head,) = [line for line in lines if line.text.strip() == "if c:"]
    assert type(head.node).__name__ == "If"
    regions = byoc_lab.trace(SMALL, dnnl_passes()).final
    heads = [line for line in regions.lines if isinstance(line.node, Function)]
    assert [line.node.attrs.get("Composite") for line in heads] == [
        None, "dnnl.conv2d", "dnnl.add", "dnnl.relu", None,
    ]  # fmt: skip
    called = [line for line in regions.lines if line.defines == "lv" and line.function != "main"]
    assert called[0].refs["gv"] is heads[1].node
