"""LambdaLift and EtaExpand: functions as values.

The expected texts are TVM 0.16's results (its names of lifted functions are hashes).
"""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.relay import IRModule
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import EtaExpand, InferType, LambdaLift

HEADER = '#[version = "0.0.5"]\n'
LIST = "type List[A] { Cons(A, List[A]), Nil, }\n"
MAP = (
    LIST
    + """def @map[A, B](%f: fn (A) -> B, %xs: List[A]) -> List[B] {
  match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil } }
"""
)


def parsed(text: str, **options) -> IRModule:
    return relay.parse(HEADER + text, **options)


def check(before: str, after: str, run) -> IRModule:
    """`run` makes `after` of `before`, structurally, and neither changes what is computed."""
    mod = parsed(before)
    out = run(mod)
    typed = InferType()(out)
    relay.assert_structural_equal(typed, parsed(after))
    relay.assert_structural_equal(mod, parsed(before))
    return typed


# LambdaLift


def test_a_closure_without_variables_from_outside_becomes_a_global_function():
    check(
        "def @main(%a: float32) { let %f = fn (%x: float32) { add(%x, 2f) }; %f(%a) }",
        """def @lifted_name0(%x: float32) -> float32 { add(%x, 2f) }
        def @main(%a: float32) { let %f = @lifted_name0; %f(%a) }""",
        LambdaLift(),
    )


def test_variables_from_outside_are_given_to_a_function_that_gives_the_closure():
    check(
        """def @main(%a: float32) {
          let %f = fn (%x: float32) {
            let %g = fn (%y: float32) { add(%y, add(%x, %a)) };
            %g(%x)
          };
          %f(%a)
        }""",
        """def @lifted_name0(%x: float32, %a: float32, Closure=1) -> fn (float32) -> float32 {
          fn (%y: float32) -> float32 { add(%y, add(%x, %a)) }
        }
        def @lifted_name1(%a: float32, Closure=1) -> fn (float32) -> float32 {
          fn (%x: float32) -> float32 { let %g = @lifted_name0(%x, %a); %g(%x) }
        }
        def @main(%a: float32) { let %f = @lifted_name1(%a); %f(%a) }""",
        LambdaLift(),
    )


@pytest.mark.parametrize("step", ["%a", "1f"])
def test_a_recursive_closure_calls_the_global_function(step: str):
    body = f"if (less(%i, 1)) {{ %x }} else {{ %f(add(%x, {step}), subtract(%i, 1)) }}"
    lifted = {
        "%a": f"""def @lifted_name0(%a: float32, Closure=1) -> fn (float32, int32) -> float32 {{
          fn (%x: float32, %i: int32) -> float32 {{ {body.replace("%f(", "@lifted_name0(%a)(")} }}
        }}""",
        "1f": f"""def @lifted_name0(%x: float32, %i: int32) -> float32 {{
          {body.replace("%f(", "@lifted_name0(")} }}""",
    }
    stands = {"%a": "@lifted_name0(%a)", "1f": "@lifted_name0"}
    mod = check(
        f"""def @main(%a: float32, %n: int32) {{
          let %f = fn (%x: float32, %i: int32) -> float32 {{ {body} }}; %f(1f, %n) }}""",
        f"""{lifted[step]}
        def @main(%a: float32, %n: int32) {{ let %f = {stands[step]}; %f(1f, %n) }}""",
        LambdaLift(),
    )
    expected = 1 + 3 * (2 if step == "%a" else 1)
    assert evaluate(mod, [np.float32(2), np.int32(3)]).value == expected


def test_a_recursive_closure_may_be_a_value_in_its_body():
    """TVM leaves %f free in the lifted function."""
    mod = parsed(
        """def @main(%a: float32) {
          let %f = fn (%x: float32) -> float32 {
            let %g = fn (%y: float32) -> float32 { %f(%y) };
            if (less(%x, 1f)) { %x } else { %g(subtract(%x, 1f)) }
          };
          %f(%a)
        }"""
    )
    out = InferType()(LambdaLift()(mod))
    assert len(out) == 3
    assert evaluate(out, [np.float32(2.5)]).value == 0.5


def test_a_closure_with_type_variables_from_outside_is_called():
    """TVM gives the function of no variables itself, which is of another type."""
    check(
        "def @main[A](%a: A) { let %f = fn (%x: A) { %x }; %f(%a) }",
        """def @lifted_name0[A](Closure=1) -> fn (A) -> A { fn (%x: A) -> A { %x } }
        def @main[A](%a: A) { let %f = @lifted_name0(); %f(%a) }""",
        LambdaLift(),
    )


def test_equal_closures_are_lifted_once():
    mod = LambdaLift()(
        parsed(
            """def @main(%a: float32) {
              (fn (%x: float32) { add(%x, %a) }, fn (%y: float32) { add(%y, %a) },
               fn (%y: float32) { add(%a, %y) }) }"""
        )
    )
    assert len(mod) == 3
    first, second, other = mod["main"].body.fields
    assert first is not second and first.op is second.op and other.op is not first.op


def test_primitive_functions_stay_and_names_are_not_taken_twice():
    text = """def @lifted_name0(%x: float32) { %x }
    def @main(%a: float32) {
      let %f = fn (%x: float32, Primitive=1) { add(%x, 2f) };
      let %g = fn (%x: float32) { %f(%x) };
      %g(%a)
    }"""
    out = LambdaLift()(parsed(text))
    assert [gv.name_hint for gv in out] == ["lifted_name0", "main", "lifted_name1"]
    assert "Primitive" in out["main"].body.value.attrs


# EtaExpand


def test_constructors_that_are_values_become_functions():
    pair = LIST + "def @pair[A](%f: fn (A, List[A]) -> List[A], %x: A) { %f(%x, Nil) }\n"
    before = pair + "def @main(%x: int32) { (@pair(Cons, %x), Cons(%x, Nil)) }"
    wrapped = "fn [B](%p: B, %q: List[B]) -> List[B] { Cons(%p, %q) }"
    check(
        before,
        pair + f"def @main(%x: int32) {{ (@pair({wrapped}, %x), Cons(%x, Nil)) }}",
        EtaExpand(expand_constructor=True),
    )
    relay.assert_structural_equal(EtaExpand(expand_global_var=True)(parsed(pair)), parsed(pair))


def test_global_functions_are_wrapped_where_they_are_called_too():
    check(
        "def @f[A](%x: A) -> A { %x }\ndef @main(%a: int32) { (@f(%a), @f(%a)) }",
        """def @f[A](%x: A) -> A { %x }
        def @main(%a: int32) {
          %0 = fn [A](%p: A) -> A { @f(%p) };
          (%0(%a), %0(%a))
        }""",
        EtaExpand(expand_global_var=True),
    )


def test_eta_expand_wants_to_be_told_what():
    with pytest.raises(PassError, match="expand_constructor=True or expand_global_var=True"):
        EtaExpand()(IRModule())


def test_an_expanded_global_function_keeps_its_attributes() -> None:
    text = (
        "def @main(%x: float32) -> float32 { @ext(%x) }\n"
        'def @ext(%p: float32, Compiler="A", Primitive=1) -> float32 { abs(%p) }'
    )
    expanded = EtaExpand(expand_global_var=True)(parsed(text))["main"].body.op
    assert isinstance(expanded, relay.Function)
    assert dict(expanded.attrs) == {"Compiler": "A", "Primitive": 1}
