"""PartialEvaluate. The expected texts are TVM 0.16's results, of which `tests/golden` has more;
where constants are computed, which the installed TVM cannot do, those that its rules give."""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.passes import gradient, partial_evaluate
from byoc_lab.relay import IRModule
from byoc_lab.relay.testing import run_infer_type
from byoc_lab.relay.visit import post_order
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import DeadCodeElimination, InferType, LazyGradientInit, PartialEvaluate

LIST = "type List[A] { Cons(A, List[A]), Nil }\n"
NAT = "type Nat { Zero, Succ(Nat) }\n"
TRIANGLE = """def @f(%n: int32) -> int32 {
  if (equal(%n, 0)) { 0 } else { add(%n, @f(subtract(%n, 1))) }
}
"""


def typed(text: str) -> IRModule:
    return InferType()(relay.parse('#[version = "0.0.5"]\n' + text))


def simplified(text: str, **options: bool) -> IRModule:
    """What is left of a program, and of that what is needed."""
    mod = InferType()(PartialEvaluate()(typed(text)))
    return DeadCodeElimination(inline_once=True, **options)(mod)


EVERY_VALUE = {
    "operators": (
        "def @main(%x: Tensor[(3), float32]) { exp(add(%x, 2f)) }",
        "let %a = 2f; let %b = add(%x, %a); let %c = exp(%b); %c",
    ),
    "tuples": (
        "def @main(%x: Tensor[(3), float32]) { %0 = (%x, exp(%x)); %0.1 }",
        "let %a = exp(%x); let %b = (%x, %a); %a",
    ),
    "fields that are not known": (
        "def @main(%x: (Tensor[(3), float32], Tensor[(3), float32])) { add(%x.0, %x.1) }",
        "let %a = %x.0; let %b = %x.1; let %c = add(%a, %b); %c",
    ),
    "references": (
        """def @main(%x: float32) {
          let %r = ref(%x);
          let %u = ref_write(%r, multiply(ref_read(%r), ref_read(%r)));
          ref_read(%r)
        }""",
        "let %a = ref(%x); let %b = multiply(%x, %x); let %c = ref_write(%a, %b); %b",
    ),
    "a branch": (
        """def @main(%x: Tensor[(3), float32], %c: bool) {
          if (%c) { %x } else { exp(%x) }
        }""",
        "let %a = if (%c) { %x } else { let %b = exp(%x); %b }; %a",
    ),
    "functions of functions": (
        """def @main(%x: float32) {
          let %g = fn (%f: fn (float32) -> float32) { %f(%x) };
          %g(fn (%y: float32) { exp(%y) })
        }""",
        """let %g = fn (%f: fn (float32) -> float32) -> float32 { let %a = %f(%x); %a };
        let %b = fn (%y: float32) -> float32 { let %c = exp(%y); %c };
        let %d = exp(%x);
        %d""",
    ),
    "a recursion that does not get on": (
        """def @main(%x: float32) -> float32 {
          let %f = fn (%y: float32) -> float32 { %f(%y) };
          %f(%x)
        }""",
        """let %f = fn (%y: float32) -> float32 { let %a = %f(%y); %a };
        let %b = %f(%x);
        %b""",
    ),
    "a match on what is known": (
        LIST
        + """def @main(%x: float32) -> float32 {
          match (Cons(%x, Nil)) { Cons(%a, _) => exp(%a), Nil => %x }
        }""",
        "let %a = Nil; let %b = Cons(%x, %a); let %c = exp(%x); %c",
    ),
    "a match on what is not": (
        LIST
        + """def @main(%x: float32, %l: List[float32]) -> float32 {
          match (%l) { Cons(%a, _) => exp(%a), Nil => %x }
        }""",
        "let %a = match (%l) { Cons(%h, _) => { let %b = exp(%h); %b }, Nil => %x }; %a",
    ),
}


@pytest.mark.parametrize("name", EVERY_VALUE)
def test_every_value_gets_a_name(name: str) -> None:
    before, body = EVERY_VALUE[name]
    head = before[: before.index("{", before.index("def @main"))]
    expected = typed(f"{head} {{ {body} }}")
    relay.assert_structural_equal(InferType()(PartialEvaluate()(typed(before))), expected)


WHAT_IS_NEEDED = {
    "constants": ("def @main() -> float32 { add(4f, 4f) }", "8f"),
    "a constant condition": (
        "def @main(%x: float32) { if (less(1f, 2f)) { exp(%x) } else { %x } }",
        "exp(%x)",
    ),
    "a recursion on numbers": (TRIANGLE + "def @main() -> int32 { @f(10) }", "55"),
    "a recursion on a number that is not known": (
        TRIANGLE + "def @main(%n: int32) -> int32 { @f(%n) }",
        "if (equal(%n, 0)) { 0 } else { add(%n, @f(subtract(%n, 1))) }",
    ),
    "a recursion on data": (
        NAT
        + """def @difference(%x: Nat[], %y: Nat[]) -> Nat[] {
          match (%x) {
            Zero => %y,
            Succ(%a) => { match (%y) { Zero => %x, Succ(%b) => @difference(%b, %a) } },
          }
        }
        def @main() -> Nat[] { @difference(Succ(Succ(Succ(Zero))), Succ(Zero)) }""",
        "Succ(Succ(Zero))",
    ),
    "a function of any type": (
        LIST
        + """def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
          match (%l) { Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)), Nil => Nil }
        }
        def @main(%x: float32) -> List[int32] {
          @map(fn (%i: float32) { cast(%i, dtype="int32") }, Cons(%x, Cons(2.5f, Nil)))
        }""",
        'Cons(cast(%x, dtype="int32"), Cons(2, Nil))',
    ),
    "a match on a tuple": (
        "def @main() -> int32 { match ((1, 2)) { (%a, %b) => add(%a, %b) } }",
        "3",
    ),
}


@pytest.mark.parametrize("name", WHAT_IS_NEEDED)
def test_what_is_needed_in_the_end(name: str) -> None:
    before, body = WHAT_IS_NEEDED[name]
    head = before[: before.index("{", before.index("def @main"))]
    found = simplified(before, ignore_impurity=True)
    relay.assert_structural_equal(found["main"], typed(f"{head} {{ {body} }}")["main"])


NUMBERS = {
    "a reference that a branch may write": """def @main(%n: int32) -> int32 {
      let %r = ref(1);
      let %double = fn () { ref_write(%r, add(ref_read(%r), ref_read(%r))) };
      let %u = if (less(%n, 3)) { %double() } else { () };
      let %v = %double();
      ref_read(%r)
    }""",
    "a reference that an unknown function writes": """def @main(%n: int32) -> int32 {
      let %r = ref(1);
      let %set = fn (%i: int32) { ref_write(%r, %i) };
      let %add = fn (%i: int32) { ref_write(%r, add(%i, ref_read(%r))) };
      let %either = if (less(%n, 3)) { %set } else { %add };
      let %u = %either(%n);
      ref_read(%r)
    }""",
    "a reference behind a reference": """def @main(%n: int32) -> int32 {
      let %a = ref(%n);
      let %b = ref(%a);
      let %other = if (less(%n, 3)) { %a } else { ref_read(%b) };
      let %u = ref_write(%other, 7);
      ref_read(%a)
    }""",
    "a recursion in a recursion": TRIANGLE
    + """def @g(%n: int32, %m: int32) -> int32 {
      let %h = fn (%k: int32) -> int32 { if (less(%k, 1)) { %m } else { %h(subtract(%k, 1)) } };
      if (less(%n, 1)) { %h(2) } else { add(@f(%n), @g(subtract(%n, 1), %h(%n))) }
    }
    def @main(%n: int32) -> int32 { add(@g(3, %n), @g(%n, 3)) }""",
    "a function made anew in each round": """def @f(%n: int32, %m: int32) -> int32 {
      let %g = fn (%k: int32) -> int32 { if (less(%k, 1)) { %m } else { @f(subtract(%k, 1), %k) } };
      if (less(%n, 1)) { %m } else { %g(subtract(%n, 1)) }
    }
    def @main(%n: int32) -> int32 { add(@f(%n, 2), @f(4, %n)) }""",
    "shared nodes": """def @main(%n: int32) -> int32 {
      %0 = add(%n, 1);
      %1 = fn (%k: int32) -> int32 { add(%0, %k) };
      if (less(%0, 3)) { %1(%0) } else { multiply(%1(2), %0) }
    }""",
    "a Primitive function with a variable from outside": """def @main(%n: int32) -> int32 {
      let %x = add(%n, 1);
      let %f = fn (%k: int32, Primitive=1) -> int32 { let %y = add(%k, %x); multiply(%y, %y) };
      let %g = fn (%k: int32) -> int32 { %f(add(%k, 1)) };
      add(%g(%n), %g(2))
    }""",
}


@pytest.mark.parametrize("name", NUMBERS)
def test_the_numbers_stay_the_same(name: str) -> None:
    mod = typed(NUMBERS[name])
    out = InferType()(PartialEvaluate()(mod))
    for n in (0, 2, 5):
        value = np.array(n, "int32")
        assert evaluate(out, [value]).value == evaluate(mod, [value]).value


def test_gradients_by_way_of_cells() -> None:
    """Nothing of the cells is left, and no zeros are added."""
    func = typed("def @main(%x: Tensor[(3), float32]) { multiply(%x, %x) }")["main"]
    mod = LazyGradientInit()(IRModule.from_expr(run_infer_type(gradient(func))))
    out = InferType()(PartialEvaluate()(mod))
    out = DeadCodeElimination(inline_once=True)(out)
    names = {n.op_name for n in post_order(out["main"]) if isinstance(n, relay.Call)}
    assert names <= {"multiply", "add", "ones_like", "collapse_sum_like"}
    x = np.array([1, 2, 4], "float32")
    square, (slope,) = evaluate(out, [x]).value
    np.testing.assert_array_equal(square, x * x)
    np.testing.assert_array_equal(slope, 2 * x)


def test_functions_of_other_compilers_are_not_looked_into() -> None:
    mod = typed("""def @other(%x: float32, Compiler="dnnl", global_symbol="other") -> float32 {
      exp(%x)
    }
    def @main(%x: float32) -> float32 { @other(%x) }""")
    out = InferType()(PartialEvaluate()(mod))
    assert out["other"] is mod["other"]
    assert any(isinstance(n, relay.GlobalVar) for n in post_order(out["main"]))


def test_a_long_recursion_is_followed_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_evaluate, "MOST_CALLS", 20)
    mod = typed(TRIANGLE + "def @main() -> int32 { @f(100) }")
    out = InferType()(PartialEvaluate()(mod))
    calls = [n for n in post_order(out["main"]) if isinstance(n, relay.Call)]
    assert [n.op.name_hint for n in calls if isinstance(n.op, relay.GlobalVar)] == ["f"]
    assert evaluate(out, []).value == 5050


def test_a_long_chain() -> None:
    x = y = relay.var("x", shape=(2,))
    for _ in range(5_000):
        y = relay.negative(y)
    out = PartialEvaluate()(IRModule.from_expr(relay.Function([x], y)))
    assert sum(isinstance(n, relay.Let) for n in post_order(out["main"])) == 5_000


def test_its_events_do_its_work_again() -> None:
    mod = typed(NUMBERS["shared nodes"])
    (stage,) = byoc_lab.trace(mod, [PartialEvaluate()])
    assert [e.rule for e in stage.events] == ["bind", "evaluate"]
    again = InferType()(stage.state_after(2))
    relay.assert_structural_equal(again, InferType()(stage.after))
