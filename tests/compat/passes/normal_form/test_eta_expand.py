"""EtaExpand wraps constructors and global functions used as values.

The expected texts are TVM 0.16's results, except that its names of lifted functions are hashes.
"""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.compat.passes import EtaExpand
from byoc_lab.errors import PassError
from byoc_lab.relay import IRModule
from tests.compat.passes.normal_form.checked import check, parsed

LIST = "type List[A] { Cons(A, List[A]), Nil, }\n"


def test_constructors_used_as_values_become_functions():
    pair = LIST + "def @pair[A](%f: fn (A, List[A]) -> List[A], %x: A) { %f(%x, Nil) }\n"
    before = pair + "def @main(%x: int32) { (@pair(Cons, %x), Cons(%x, Nil)) }"
    wrapped = "fn [B](%p: B, %q: List[B]) -> List[B] { Cons(%p, %q) }"
    check(
        before,
        pair + f"def @main(%x: int32) {{ (@pair({wrapped}, %x), Cons(%x, Nil)) }}",
        EtaExpand(expand_constructor=True),
    )
    relay.assert_structural_equal(EtaExpand(expand_global_var=True)(parsed(pair)), parsed(pair))


def test_global_functions_are_wrapped_also_at_their_calls():
    check(
        "def @f[A](%x: A) -> A { %x }\ndef @main(%a: int32) { (@f(%a), @f(%a)) }",
        """def @f[A](%x: A) -> A { %x }
        def @main(%a: int32) {
          %0 = fn [A](%p: A) -> A { @f(%p) };
          (%0(%a), %0(%a))
        }""",
        EtaExpand(expand_global_var=True),
    )


def test_eta_expand_without_an_option_raises_an_error():
    with pytest.raises(PassError, match="expand_constructor=True or expand_global_var=True"):
        EtaExpand()(IRModule())


def test_expanded_global_function_keeps_its_attributes() -> None:
    text = (
        "def @main(%x: float32) -> float32 { @ext(%x) }\n"
        'def @ext(%p: float32, Compiler="A", Primitive=1) -> float32 { abs(%p) }'
    )
    expanded = EtaExpand(expand_global_var=True)(parsed(text))["main"].body.op
    assert isinstance(expanded, relay.Function)
    assert dict(expanded.attrs) == {"Compiler": "A", "Primitive": 1}
