"""LambdaLift turns closures into global functions.

The expected texts are TVM 0.16's results, except that its names of lifted functions are hashes.
"""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab.compat.passes import LambdaLift
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import InferType
from tests.compat.passes.normal_form.checked import check, parsed


def test_closure_without_captured_variables_becomes_a_global_function():
    check(
        "def @main(%a: float32) { let %f = fn (%x: float32) { add(%x, 2f) }; %f(%a) }",
        """def @lifted_name0(%x: float32) -> float32 { add(%x, 2f) }
        def @main(%a: float32) { let %f = @lifted_name0; %f(%a) }""",
        LambdaLift(),
    )


def test_captured_variables_become_parameters_of_a_function_that_returns_the_closure():
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
def test_recursive_closure_calls_the_global_function(step: str):
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


def test_recursive_closure_may_be_a_value_in_its_body():
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


def test_closure_with_captured_type_variables_is_called():
    """TVM passes the lifted function itself, which has another type."""
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


def test_primitive_functions_stay_and_lifted_names_are_fresh():
    text = """def @lifted_name0(%x: float32) { %x }
    def @main(%a: float32) {
      let %f = fn (%x: float32, Primitive=1) { add(%x, 2f) };
      let %g = fn (%x: float32) { %f(%x) };
      %g(%a)
    }"""
    out = LambdaLift()(parsed(text))
    assert [gv.name_hint for gv in out] == ["lifted_name0", "main", "lifted_name1"]
    assert "Primitive" in out["main"].body.value.attrs
