"""`run_opt_pass` runs a pass on an expression."""

from __future__ import annotations

from byoc_lab import relay


def test_run_opt_pass_runs_on_an_expression() -> None:
    x = relay.var("x", shape=(2, 3))
    typed = relay.testing.run_infer_type(relay.abs(x))
    assert str(typed.checked_type) == "Tensor[(2, 3), float32]"
    func = relay.Function([x], relay.add(x, relay.add(relay.const(1.0), relay.const(2.0))))
    folded = relay.testing.run_opt_pass(func, relay.transform.FoldConstant())
    assert isinstance(folded, relay.Function)
    assert float(folded.body.args[1].data.numpy()) == 3
