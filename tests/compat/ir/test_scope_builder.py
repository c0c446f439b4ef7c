"""`ScopeBuilder` builds chains of lets and branches."""

from __future__ import annotations

import pytest

from byoc_lab.compat import relay
from byoc_lab.errors import WellFormedError
from byoc_lab.relay import structural_equal


def test_scope_builder_returns_a_chain_of_lets() -> None:
    x, condition = relay.var("x", shape=(2,)), relay.var("c", "bool")
    sb = relay.ScopeBuilder()
    y = sb.let("y", relay.nn.relu(x))
    z = sb.let(("z", relay.TensorType((2,))), y + y)
    with sb.if_scope(condition):
        w = sb.let(relay.var("w"), relay.exp(z))
        sb.ret(w)
    with sb.else_scope():
        sb.ret(y)
    text = """fn (%x: Tensor[(2), float32], %c: bool) {
      let %y = nn.relu(%x);
      let %z: Tensor[(2), float32] = add(%y, %y);
      if (%c) { let %w = exp(%z); %w } else { %y }
    }"""
    built = relay.Function([x, condition], sb.get())
    assert structural_equal(built, relay.parse_expr(text))


def test_scope_builder_refuses_misplaced_calls() -> None:
    sb = relay.ScopeBuilder()
    with pytest.raises(WellFormedError, match="no result"):
        sb.get()
    with pytest.raises(WellFormedError, match="must follow an if_scope"), sb.else_scope():
        pass
    with pytest.raises(WellFormedError, match="no result"), sb.if_scope(relay.var("c")):
        pass
    sb.ret(relay.const(1))
    with pytest.raises(WellFormedError, match="already"):
        sb.ret(relay.const(2))
    with sb.if_scope(relay.var("c")):
        sb.ret(relay.const(1))
    with pytest.raises(WellFormedError, match="no else_scope"):
        sb.get()


x = relay.var("x", shape=(2,))
