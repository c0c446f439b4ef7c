"""AnnotateSpans: source locations in the module's text."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.compat.passes import AnnotateSpans
from byoc_lab.relay.ir.visit import post_order


def test_spans_are_source_locations_in_the_module_s_text():
    x = relay.var("x", shape=(2,))
    mod = relay.IRModule({"main": relay.Function([x], relay.abs(relay.exp(x)))}, attrs={"a": 1})
    after = AnnotateSpans()(mod)
    relay.assert_structural_equal(after, relay.transform.InferType()(mod))
    lines = mod.astext().split("\n")
    found = {}
    for node in post_order(after["main"]):
        if isinstance(node, relay.Call):
            assert node.span.source_name.name == "GeneratedSource"
            found[node.op_name] = lines[node.span.line - 1][node.span.column - 1 :]
    assert found == {"exp": "exp(%x);", "abs": "abs(%0)"}
