"""Building programs with references, closures, data types and recursion.

Values known at compile time are evaluated, so that no references or closures remain; results equal
the NumPy executor's.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from byoc_lab import build, relay
from byoc_lab.backends import dnnl
from byoc_lab.errors import BuildError, EvaluationError
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir.adt import Constructor, Match
from byoc_lab.relay.ir.expr import Function, GlobalVar, Let, Op, RefCreate, RefRead, RefWrite
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import deep, evaluate, inline
from byoc_lab.run.inline import flattened, inlined
from byoc_lab.run.to_relax import to_relax

pytest.importorskip("tvm")

LISTS = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
type Option[A] { Some(A), None }
def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
  match (%l) { Cons(%x, %rest) => { Cons(%f(%x), @map(%f, %rest)) }, Nil => { Nil } }
}
def @foldl[A, B](%f: fn (A, B) -> A, %acc: A, %l: List[B]) -> A {
  match (%l) { Cons(%x, %rest) => { @foldl(%f, %f(%acc, %x), %rest) }, Nil => { %acc } }
}
def @upto(%n: int32) -> List[int32] { if (equal(%n, 0)) { Nil } else { Cons(%n, @upto(%n - 1)) } }
"""
VECTOR = "Tensor[(3), float32]"
X = np.array([0.5, -2.0, 3.0], np.float32)


def module(text: str) -> IRModule:
    text = text.replace("VECTOR", VECTOR)
    return infer_module(relay.parse(LISTS + text))


def same(mod: IRModule, *inputs: Any) -> None:
    """Asserts that a module becomes operator calls and recursive functions with the same
    results."""
    flat = flattened(mod["main"], mod)
    made = IRModule({"main": flat.main})
    for gv, function in flat.functions.items():
        made[gv] = function
    known = (Let, Match, RefCreate, RefRead, RefWrite, Constructor)
    for function in made.functions.values():
        nodes = list(post_order(function.body))
        assert not any(isinstance(n, (*known, Function)) for n in nodes)
        assert all(n.is_typed for n in nodes if not isinstance(n, (Op, GlobalVar)))
    agree(evaluate(made, inputs).outputs, evaluate(mod, inputs).outputs)


def agree(got: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> None:
    assert len(got) == len(wanted)
    for g, w in zip(got, wanted, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


def test_read_of_a_written_reference_becomes_the_written_value() -> None:
    mod = module("""def @main(%x: VECTOR) {
      let %r = ref(%x);
      let %before = ref_read(%r);
      let %_ = ref_write(%r, nn.relu(%x));
      (%before, ref_read(%r))
    }""")
    same(mod, X)
    assert evaluate(inlined(mod["main"], mod), [X]).outputs[0] is X


@pytest.mark.parametrize("flag", [True, False])
def test_branches_may_write_references(flag: bool) -> None:
    """Both branches write one reference, one branch another; the result of the `if` is used,
    too."""
    mod = module("""def @main(%flag: bool, %x: VECTOR) {
      let %r = ref(%x);
      let %s = ref(%x);
      let %t = if (%flag) {
        let %_ = ref_write(%r, exp(%x));
        let %_1 = ref_write(%s, ref_read(%r) + %x);
        tanh(%x)
      } else {
        let %_2 = ref_write(%r, negative(%x));
        %x
      };
      (%t, ref_read(%r), ref_read(%s))
    }""")
    same(mod, np.array(flag), X)


@pytest.mark.parametrize("flag", [True, False])
def test_reference_may_be_chosen_by_a_tensor(flag: bool) -> None:
    mod = module("""def @main(%flag: bool, %x: VECTOR) {
      let %r = ref(%x);
      let %s = ref(exp(%x));
      let %t = if (%flag) { %r } else { %s };
      let %_ = ref_write(%t, ref_read(%t) + %x);
      (ref_read(%r), ref_read(%s), ref_read(%t))
    }""")
    same(mod, np.array(flag), X)


def test_functions_may_be_returned_stored_and_captured() -> None:
    same(
        module("""
    def @adder(%a: VECTOR) -> fn (VECTOR) -> VECTOR { fn (%b: VECTOR) -> VECTOR { %a + %b } }
    def @main(%x: VECTOR) {
      let %pair = (@adder(%x), (fn (%y: VECTOR) -> VECTOR { exp(%y) }, %x));
      let %twice = fn (%f: fn (VECTOR) -> VECTOR, %y: VECTOR) -> VECTOR { %f(%f(%y)) };
      let %option = Some(%pair.1.0);
      let %g = match? (%option) { Some(%f) => { %f } };
      (%twice(%pair.0, %x), %g(%pair.1.1), @adder(%x)(%x))
    }"""),
        X,
    )


@pytest.mark.parametrize("flag", [True, False])
def test_function_may_be_chosen_by_a_tensor(flag: bool) -> None:
    """Two functions, or one function applied to either of two tensors."""
    same(
        module("""
    def @scale(%a: VECTOR) -> fn (VECTOR) -> VECTOR { fn (%b: VECTOR) -> VECTOR { %a * %b } }
    def @main(%flag: bool, %x: VECTOR) {
      let %f = if (%flag) { fn (%y: VECTOR) -> VECTOR { exp(%y) } } else { @scale(%x) };
      let %g = if (%flag) { @scale(exp(%x)) } else { @scale(negative(%x)) };
      (%f(%x), %g(%x))
    }"""),
        np.array(flag),
        X,
    )


@pytest.mark.parametrize("flag", [True, False])
def test_data_may_be_chosen_by_a_tensor(flag: bool) -> None:
    """At the top of a pattern, and inside it."""
    same(
        module("""def @main(%flag: bool, %x: VECTOR) {
      let %o = if (%flag) { Some(%x) } else { None };
      let %l = if (%flag) { Cons(%x, Nil) } else { Cons(exp(%x), Cons(%x, Nil)) };
      let %a = match (%o) { Some(%y) => { exp(%y) }, None => { %x } };
      let %b = match (%l) { Cons(%y, Cons(%z, _)) => { %y - %z }, Cons(%y, Nil) => { %y },
                            Nil => { %x } };
      let %c = match (Some(%o)) { Some(Some(%y)) => { tanh(%y) }, _ => { %x } };
      (%a, %b, %c, @foldl(fn (%p: VECTOR, %q: VECTOR) { %p * %q }, %x, %l))
    }"""),
        np.array(flag),
        X,
    )


def test_functions_of_known_lists_are_built() -> None:
    """Recursion that data ends is followed to its end; generic functions get their types."""
    many = "Nil"
    for n in range(40):
        many = f"Cons(%x * {n}f, {many})"
    same(
        module(f"""def @main(%x: VECTOR) {{
      let %l = {many};
      let %n = @foldl(fn (%a: int32, %y: VECTOR) {{ %a + 1 }}, 0, %l);
      (%n, @foldl(fn (%a: VECTOR, %y: VECTOR) {{ tanh(%a + %y) }}, %x,
                  @map(fn (%y: VECTOR) {{ %y - exp(%x) }}, %l)))
    }}"""),
        X,
    )


LOOP = """def @main(%n: int32, %x: VECTOR) {
  let %loop = fn (%i: int32, %a: VECTOR) -> (int32, VECTOR) {
    if (less(%i, %n)) { %loop(%i + 1, tanh(%a + %x)) } else { (%i, %a) }
  };
  %loop(0, %x)
}"""


@pytest.mark.parametrize("rounds", [0, 1, 7])
def test_loop_becomes_a_recursive_function(rounds: int) -> None:
    """Its captured tensors become parameters of the remaining function."""
    mod = module(LOOP)
    same(mod, np.int32(rounds), X)
    flat = flattened(mod["main"], mod)
    (loop,) = flat.functions.values()
    assert len(loop.params) == 4
    with pytest.raises(BuildError, match="@recursive_1 is recursive"):
        inlined(mod["main"], mod)


def test_mutual_recursion_with_functions_as_arguments_is_built() -> None:
    mod = module(
        """
    def @even(%f: fn (int32) -> int32, %n: int32) -> bool {
      if (equal(%n, 0)) { True } else { @odd(%f, %f(%n)) }
    }
    def @odd(%f: fn (int32) -> int32, %n: int32) -> bool {
      if (equal(%n, 0)) { False } else { @even(%f, %f(%n)) }
    }
    def @main(%n: int32, %step: int32) {
      let %less = fn (%i: int32) -> int32 { %i - %step };
      (@even(%less, %n), @odd(%less, %n), @even(fn (%i: int32) -> int32 { %i - 1 }, %n))
    }""".replace("True", "equal(0, 0)").replace("False", "equal(0, 1)")
    )
    for n in (0, 4, 6):
        same(mod, np.int32(n), np.int32(2))


def test_recursion_may_write_references() -> None:
    """One reference is captured, and one is an argument."""
    mod = module(
        """def @main(%n: int32, %x: VECTOR) {
      let %count = ref(0);
      let %sum = ref(%x);
      let %loop = fn (%i: int32, %r: ref(VECTOR)) -> int32 {
        let %_ = ref_write(%count, ref_read(%count) + 1);
        if (less(%i, %n)) {
          let %_1 = ref_write(%r, ref_read(%r) + exp(%x));
          %loop(%i + 1, %r)
        } else { %i }
      };
      let %last = %loop(0, %sum);
      (%last, ref_read(%count), ref_read(%sum))
    }""".replace("ref(VECTOR)", "ref(Tensor[(3), float32])")
    )
    for rounds in (0, 3):
        same(mod, np.int32(rounds), X)


def test_recursion_through_a_reference_is_built() -> None:
    """A reference contains a function that reads the reference."""
    same(
        module("""def @main(%n: int32) {
      let %r = ref(fn (%i: int32) -> int32 { %i });
      let %f = fn (%i: int32) -> int32 {
        if (less(%i, 1)) { 0 } else { %i + ref_read(%r)(%i - 1) }
      };
      let %_ = ref_write(%r, %f);
      %f(%n)
    }"""),
        np.int32(5),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "def @main(%x: VECTOR) { ref(%x) }",
            "the result of .* is a reference, which only TVM's Relay has when a program runs",
        ),
        ("def @main(%x: VECTOR) { Cons(%x, Nil) }", "is data, which only TVM's Relay"),
        ("def @main(%x: VECTOR) { (fn () { %x }, %x) }", "is a function, which only TVM's Relay"),
        ("def @main(%n: int32) { @foldl(fn (%a: int32, %b: int32) { %a + %b }, 0, @upto(%n)) }",
         "a recursion on tensors returns data or references: List"),
        ("def @main(%l: List[int32]) { match? (%l) { Cons(%x, _) => { %x } } }",
         "the data that .* matches is known at run time only"),
        ("def @main(%f: fn (int32) -> int32) { %f(1) }", "the function that .* at run time only"),
        ("def @main(%r: ref(int32)) { ref_read(%r) }", "the reference of .* is known at run time"),
        ("def @main(%x: VECTOR) { match? (Cons(%x, Nil)) { Nil => { %x } } }", "no clause of"),
        (
            """def @build(%n: int32, %l: List[int32]) -> int32 {
              if (equal(%n, 0)) { match? (%l) { Cons(%x, _) => { %x } } }
              else { @build(%n - 1, Cons(%n, %l)) }
            }
            def @main(%n: int32) { @build(%n, Cons(7, Nil)) }""",
            "data or functions grow with a recursion whose depth depends on tensors",
        ),
        (
            """def @main(%n: int32) {
              let %r = ref(fn (%i: int32) -> int32 { %i });
              let %f = fn (%i: int32) -> int32 {
                let %_ = ref_write(%r, fn (%j: int32) -> int32 { %i });
                if (less(%i, 1)) { 0 } else { %f(%i - 1) }
              };
              %f(%n)
            }""",
            "a recursion changes a reference to a function or to data|grow with a recursion",
        ),
        ("def @f(%x: VECTOR) -> VECTOR { @f(%x) } def @main(%x: VECTOR) { @f(%x) }",
         "calls itself for all inputs"),
    ],
)  # fmt: skip
def test_function_known_only_at_run_time_raises_build_error(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inline, "MAX_DEPTH", 50)
    with pytest.raises(BuildError, match=message):
        mod = module(text)
        to_relax(**vars(flattened(mod["main"], mod)))


def test_built_loops_and_functions_equal_the_reference() -> None:
    """A loop that writes a reference, and a function that a tensor chooses."""
    mod = module("""def @main(%n: int32, %x: VECTOR) {
      let %sum = ref(%x);
      let %loop = fn (%i: int32) -> int32 {
        if (less(%i, %n)) {
          let %_ = ref_write(%sum, ref_read(%sum) + exp(%x));
          %loop(%i + 1)
        } else { %i }
      };
      let %last = %loop(0);
      let %f = if (less(%n, 2)) { fn (%y: VECTOR) -> VECTOR { exp(%y) } }
               else { fn (%y: VECTOR) -> VECTOR { tanh(%y) } };
      (%last, ref_read(%sum), (%f(%x), %f(%f(%x))))
    }""")
    exe = build(mod)
    for rounds in (0, 3):
        agree(exe(np.int32(rounds), X), evaluate(mod, [np.int32(rounds), X]).outputs)


LOADED = """
import sys, numpy as np
from byoc_lab.errors import EvaluationError
from byoc_lab.run import load_library
from byoc_lab.run import deep
deep.MAX_DEPTH = 200
library = load_library(sys.argv[1] + "/net.so")
assert library.inputs == ["n", "x"], library.inputs
np.save(sys.argv[1] + "/result.npy", library(np.int32(50), np.ones(3, np.float32))[0])
try:
    library(np.int32(200), np.ones(3, np.float32))
except EvaluationError as error:
    assert "endless" in str(error)
else:
    raise AssertionError("it ended")
"""


# Endless recursion is an error in both, not a crash.
@pytest.mark.slow
@pytest.mark.native
def test_region_in_a_loop_is_exported_and_loaded(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    mod = module("""def @loop(%i: int32, %n: int32, %a: VECTOR, %x: VECTOR) -> VECTOR {
      if (less(%i, %n)) { @loop(%i + 1, %n, @step(%a, %x), %x) } else { %a }
    }
    def @step(%a: VECTOR, %x: VECTOR) -> VECTOR { tanh(%a + %x) }
    def @main(%n: int32, %x: VECTOR) { @loop(0, %n, %x, %x) }""")
    exe = build(dnnl.partition_for_dnnl(mod))
    x = np.ones(3, np.float32)
    for rounds in (0, 4):
        agree(exe(np.int32(rounds), x), evaluate(mod, [np.int32(rounds), x]).outputs)
    exe.assert_offloaded()
    assert exe.cards()[0].calls == 4
    monkeypatch.setattr(deep, "MAX_DEPTH", 200)
    with pytest.raises(EvaluationError, match="deep: endless recursion"):
        exe(np.int32(deep.MAX_DEPTH), x)
    exe.export_library(tmp_path / "net.so")
    subprocess.run([sys.executable, "-c", LOADED, str(tmp_path)], check=True, timeout=900)
    np.testing.assert_array_equal(np.load(tmp_path / "result.npy"), exe(np.int32(50), x)[0])
