"""The NumPy executor on data types: constructors and matches."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.errors import EvaluationError
from byoc_lab.run.reference import ConstructorValue, evaluate

HEADER = '#[version = "0.0.5"]\n'
LISTS = """type List[A] { Cons(A, List[A]), Nil }
def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
  match (%l) { Cons(%x, %rest) => { Cons(%f(%x), @map(%f, %rest)) }, Nil => { Nil } }
}
def @foldl[A, B](%f: fn (A, B) -> A, %acc: A, %l: List[B]) -> A {
  match (%l) { Cons(%x, %rest) => { @foldl(%f, %f(%acc, %x), %rest) }, Nil => { %acc } }
}
def @upto(%n: int32) -> List[int32] { if (equal(%n, 0)) { Nil } else { Cons(%n, @upto(%n - 1)) } }
"""


def run(main: str, *inputs, **options):
    return evaluate(relay.parse(HEADER + LISTS + main), inputs, **options)


def test_fold_over_a_mapped_list_is_evaluated():
    main = """def @main(%n: int32) {
      let %square = fn (%x: int32) -> int32 { %x * %x };
      @foldl(fn (%a: int32, %b: int32) { %a + %b }, 0, @map(%square, @upto(%n)))
    }"""
    assert run(main, np.int32(10)).value == sum(n * n for n in range(11))


def test_long_list_needs_no_stack():
    main = "def @main(%n: int32) { @foldl(fn (%a: int32, %b: int32) { %a + 1 }, 0, @upto(%n)) }"
    assert run(main, np.int32(3000)).value == 3000


def test_data_value_may_be_a_result():
    result = run("def @main(%x: float32) { (Cons(%x, Cons(1f, Nil)), %x) }", np.float32(2))
    data, _ = result.value
    assert isinstance(data, ConstructorValue) and data.constructor.name_hint == "Cons"
    assert data.fields[1].fields[1].fields == ()
    assert repr(data) == "<Cons of 2 fields>"
    assert result.outputs == (2, 1, 2)


@pytest.mark.parametrize(
    "c, expected", [("Cons(1, Nil)", 1), ("Nil", 2), ("Cons(1, Cons(5, Nil))", 5)]
)
def test_first_matching_clause_is_evaluated(c: str, expected: int):
    clauses = "Cons(_, Cons(%x, _)) => %x, Cons(%x, _) => %x, Nil => 2, _ => 3"
    assert run(f"def @main() {{ match ({c}) {{ {clauses} }} }}").value == expected


def test_tuples_are_destructured():
    main = "def @main(%x: float32) { match ((%x, (1f, Nil))) { (%a, (%b, %c)) => (%b, %a) } }"
    assert run(main, np.float32(7), dtype="float64").value == (1, 7)


def test_only_the_matching_clause_is_evaluated():
    loop = "def @loop() -> int32 { @loop() }\n"
    main = "def @main() { match (Cons(1, Nil)) { Nil => { @loop() }, Cons(%x, _) => { %x } } }"
    assert run(loop + main).value == 1


def test_matched_values_are_kept_on_request():
    mod = relay.parse(
        HEADER + LISTS + "def @main() { match (Cons(4, Nil)) { Cons(%x, _) => %x, _ => 0 } }"
    )
    result = evaluate(mod, keep=True)
    match = mod["main"].body
    assert result.values[match.binds()[0]] == result.values[match] == 4


def test_value_without_a_matching_clause_is_named():
    with pytest.raises(
        EvaluationError, match=r"from_string:10:15: no clause .* <Cons of 2 fields>"
    ):
        run("def @main() { match? (Cons(1, Nil)) { Nil => 1 } }")
