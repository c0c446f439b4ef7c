"""DeadCodeElimination of unused calls of functions; golden files cover the rest."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.compat.passes import DeadCodeElimination
from tests.parity.golden import golden_test

FUNCTIONS = """#[version = "0.0.5"]
def @plain(%x: int32) -> int32 { add(%x, 1) }
def @loop(%x: int32) -> int32 { @loop(%x) }
def @even(%x: int32) -> int32 { if (equal(%x, 0)) { 1 } else { @odd(subtract(%x, 1)) } }
def @odd(%x: int32) -> int32 { if (equal(%x, 0)) { 0 } else { @even(subtract(%x, 1)) } }
def @writes(%x: int32) -> int32 { let %r = ref(%x); let %u = ref_write(%r, 1); %x }
def @ping(%x: int32) -> int32 { @pong(%x) }
def @pong(%x: int32) -> int32 { let %u = @writes(%x); @ping(%x) }
def @makes(%x: int32) -> int32 {
  let %f = fn (%y: int32) -> int32 { @writes(%y) };
  %x
}
def @calls(%x: int32) -> int32 {
  let %f = fn (%y: int32) -> int32 { @writes(%y) };
  let %g = %f;
  %g(%x)
}
"""
FUNCTIONS += "".join(
    f"def @deep{n}(%x: int32) -> int32 {{ @deep{n + 1}(%x) }}\n" for n in range(40)
)
FUNCTIONS += "def @deep40(%x: int32) -> int32 { %x }\n"


@pytest.mark.parametrize("name", ["plain", "loop", "even", "odd", "makes", "deep0"])
def test_unused_calls_without_effects_are_removed(name: str) -> None:
    """Also calls of recursive functions, mutually recursive functions, and long chains of
    functions."""
    main = f"def @main(%x: int32) {{ let %unused = @{name}(%x); %x }}"
    out = DeadCodeElimination()(relay.parse(FUNCTIONS + main))
    assert isinstance(out["main"].body, relay.Var)


@pytest.mark.parametrize("name", ["writes", "ping", "pong", "calls"])
def test_unused_calls_with_effects_stay(name: str) -> None:
    main = f"def @main(%x: int32) {{ let %unused = @{name}(%x); %x }}"
    out = DeadCodeElimination()(relay.parse(FUNCTIONS + main))
    assert isinstance(out["main"].body, relay.Let)


def test_unused_recursive_local_function_is_removed() -> None:
    text = """#[version = "0.0.5"]
    def @main(%x: int32, %r: ref(int32)) {
      let %f = fn (%y: int32) -> int32 { if (less(%y, 1)) { 0 } else { %f(subtract(%y, 1)) } };
      let %g = fn (%y: int32) -> int32 { let %u = ref_write(%r, %y); %g(%y) };
      let %unused = %f(%x);
      let %written = %g(%x);
      %x
    }"""
    left = [n.var.name_hint for n in _lets(DeadCodeElimination()(relay.parse(text))["main"].body)]
    assert left == ["g", "written"]


def _lets(expr: relay.Expr) -> list[relay.Let]:
    found = []
    while isinstance(expr, relay.Let):
        found.append(expr)
        expr = expr.body
    return found


# Golden files

test_golden = golden_test("DeadCodeElimination")
