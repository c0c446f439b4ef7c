"""`extract_fused_functions` returns the functions that FuseOps forms."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.compat.passes.normal_form.extract_fused_functions import extract_fused_functions
from byoc_lab.relay import IRModule


def test_equal_functions_are_returned_once() -> None:
    x = relay.var("x", shape=(2, 3))
    first = relay.nn.softmax(relay.nn.relu(relay.exp(x)))
    second = relay.annotation.stop_fusion(first)
    mod = IRModule.from_expr(relay.nn.softmax(relay.nn.relu(relay.exp(second))))
    found = extract_fused_functions(relay.transform.InferType()(mod))
    operators = {tuple(op.name for op in relay.analysis.all_ops(f)) for f in found.values()}
    assert len(found) == 2
    assert operators == {("nn.relu", "exp"), ("nn.softmax",)}
    assert all(gv.name_hint.isdecimal() for gv in found)


def test_network_has_as_many_fused_functions_as_in_tvm() -> None:
    mod, _ = relay.testing.mobilenet.get_workload()
    assert len(extract_fused_functions(mod)) == 29  # the count of TVM 0.16
