"""The cases that a match does not cover; the cases and their order equal TVM 0.16's."""

from __future__ import annotations

import pytest

import byoc_lab as tvm
from byoc_lab import relay
from byoc_lab.errors import TypeInferenceError, UnknownNameError

MODULE = relay.parse(
    """#[version = "0.0.5"]
type Bit { Zero, One }
type List[A] { Cons(A, List[A]), Nil }
type Tree { Leaf, Node(Tree, Tree) }
def @main() { 0 }
"""
)


def missing(*patterns: str) -> list[str]:
    clauses = " ".join(f"{p} => {{ 0 }}," for p in patterns)
    text = f'#[version = "0.0.5"]\ndef @f(%x: List[int32]) {{ match (%x) {{ {clauses} }} }}'
    mod = relay.parse(text, init_module=MODULE, infer=False)
    return [str(p) for p in relay.analysis.unmatched_cases(mod["f"].body, mod)]


@pytest.mark.parametrize(
    "patterns, cases",
    [
        ([], ["_"]),
        (["_"], []),
        (["%x"], []),
        (["Nil", "Cons(_, _)"], []),
        (["Nil"], ["Cons(_, _)"]),
        (["Cons(_, _)"], ["Nil"]),
        (["Cons(_, Cons(_, Nil))", "Nil"], ["Cons(_, Nil)", "Cons(_, Cons(_, Cons(_, _)))"]),
        (["Cons(_, Cons(_, Cons(_, _)))", "Cons(_, Nil)", "Nil"], ["Cons(_, Cons(_, Nil))"]),
        (["(Nil, Nil)", "(Cons(_, _), %q)"], ["(Nil, Cons(_, _))"]),
        (["(Zero, One)", "(One, Zero)"], ["(One, One)", "(Zero, Zero)"]),
        (
            ["Cons(Zero, Cons(One, _))", "Cons(_, Nil)", "Nil"],
            ["Cons(One, Cons(_, _))", "Cons(Zero, Cons(Zero, _))"],
        ),
        (["Node(Leaf, _)", "Leaf"], ["Node(Node(_, _), _)"]),
    ],
)
def test_missing_cases_are_listed_as_by_tvm(patterns: list[str], cases: list[str]):
    assert missing(*patterns) == cases


def test_wrong_number_of_pattern_fields_is_refused():
    with pytest.raises(TypeInferenceError, match="has 1 fields, expected 2"):
        missing("Cons(_)")


def test_match_on_an_undefined_type_is_refused():
    match = relay.Match(
        relay.Var("x"),
        [relay.Clause(relay.PatternConstructor(MODULE.get_type("Bit")[1]), relay.const(0))],
    )
    with pytest.raises(UnknownNameError, match="no type Bit"):
        relay.analysis.unmatched_cases(match, tvm.IRModule())


def test_exponential_number_of_cases_is_refused_soon():
    wide = ", ".join(["Zero"] * 40)
    with pytest.raises(TypeInferenceError, match="more than 5000 cases"):
        missing(f"({wide})")
    rows = [["Zero" if j in (i, i + 1) else "_" for j in range(20)] for i in range(19)]
    with pytest.raises(TypeInferenceError, match="more than 5000 cases"):
        missing(*(f"({', '.join(row)})" for row in rows))
