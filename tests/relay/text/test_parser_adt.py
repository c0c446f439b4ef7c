"""Data types in text: parsing, and printed text that is parsed to an equal module."""

from __future__ import annotations

from pathlib import Path

import pytest

from byoc_lab import relay
from byoc_lab.errors import ParseError

from .texts import PRINTED, code_of

HEADER = '#[version = "0.0.5"]\n'
DATA_TYPES = [path for path in PRINTED if path.stem.startswith("adt_")]


@pytest.mark.parametrize("path", DATA_TYPES, ids=lambda path: path.stem)
def test_printed_module_parses_to_an_equal_module(path: Path):
    mod = relay.parse(code_of(path))
    again = relay.parse(mod.astext())
    assert relay.structural_equal(again, mod)
    assert relay.structural_hash(again) == relay.structural_hash(mod)


@pytest.mark.parametrize("style", ["0.7", "0.0.4"])
@pytest.mark.parametrize("name", ["adt_length", "adt_matches", "adt_tuples"])
def test_older_printer_styles_are_parsed(name: str, style: str):
    (path,) = (p for p in DATA_TYPES if p.stem == name)
    mod = relay.parse(code_of(path))
    assert relay.structural_equal(relay.parse(mod.astext(style=style)), mod)


def test_golden_texts_with_data_types_exist():
    assert len(DATA_TYPES) >= 15


def test_definitions_are_parsed():
    mod = relay.parse(
        HEADER
        + "extern type Handle[A]\ntype E { }\ntype T[A, B,] { X, Y(), Z(A, (B, Handle[A])), }"
    )
    handle, empty, t = (mod[v] for v in mod.get_global_type_vars())
    assert handle.extern and not handle.constructors and not empty.constructors
    assert [c.name_hint for c in t.constructors] == ["X", "Y", "Z"]
    assert list(map(str, t.constructors[2].inputs)) == ["A", "(B, Handle[A])"]
    assert str(t) == "type T[A, B] {\n  X,\n  Y,\n  Z(A, (B, Handle[A])),\n}"


def test_type_may_be_used_before_its_definition():
    mod = relay.parse(HEADER + "def @f(%x: Late) { %x }\ntype Late { L }")
    assert str(mod["f"].params[0].type_annotation) == "Late[]"


def test_definitions_are_printed_by_name_before_the_functions():
    text = relay.parse(HEADER + "def @f() { 1 }\ntype B { X }\ntype A { Y }").astext()
    assert text.split("\n\n")[:2] == [HEADER + "type A {\n  Y,\n}", "type B {\n  X,\n}"]


def test_constructors_without_fields_are_called_implicitly():
    mod = relay.parse(HEADER + "type T { X }\ndef @f() { (X, X()) }")
    first, second = mod["f"].body.fields
    assert isinstance(first, relay.Call) and first.args == ()
    assert relay.structural_equal(first, second)


@pytest.mark.parametrize(
    "clauses",
    [
        "X => { 1 }, Y(%a) => { %a },",
        "X => 1, Y(%a) => %a",
        "X => { 1 } Y(%a: int32,) => { %a }",
        "Y(%a) => { let %b = %a; %b }, _ => 1",
    ],
)
def test_all_forms_of_clauses_are_parsed(clauses: str):
    text = f"type T {{ X, Y(int32) }}\ndef @f(%t: T) {{ match (%t) {{ {clauses} }} }}"
    mod = relay.parse(HEADER + text)
    assert len(mod["f"].body.clauses) == 2
    assert relay.structural_equal(relay.parse(mod.astext()), mod)


@pytest.mark.parametrize("word, complete", [("match", True), ("match?", False)])
def test_match_may_be_any_operand(word: str, complete: bool):
    text = f"""type T {{ X }}
def @f(%t: (T, T)) {{
  %0 = {word} (%t.0) {{ X => 1 }};
  let %a = {word} %t {{ (%x, _) => {{ %x }} }};
  add(%0, {word} (%a) {{ _ => {{ %0 }} }}) + {word} ((%a, X)) {{ (X, X) => {{ 2 }} }}
}}"""
    mod = relay.parse(HEADER + text)
    found = []
    relay.analysis.post_order_visit(mod["f"], found.append)
    matches = [n for n in found if isinstance(n, relay.Match)]
    assert [m.complete for m in matches] == [complete] * 4
    assert relay.structural_equal(relay.parse(mod.astext()), mod)


def test_pattern_variables_are_visible_only_in_their_clause():
    text = "type T { X(int32) }\ndef @f(%a: T) { match (%a) { X(%a) => { %a } } }"
    body = relay.parse(HEADER + text)["f"].body
    (bound,) = body.binds()
    assert body.clauses[0].rhs is bound and body.data is not bound


def test_patterns_and_clauses_have_locations():
    text = "type T { X(int32) }\ndef @f(%a: T) {\n  match (%a) { X(%b) => { %b } }\n}"
    match = relay.parse(HEADER + text)["f"].body
    (clause,) = match.clauses
    assert str(match.span) == "from_string:4:3"
    assert str(clause.span) == str(clause.lhs.span) == "from_string:4:16"
    assert str(clause.lhs.patterns[0].span) == "from_string:4:18"


def test_types_of_another_module_can_be_used():
    base = relay.parse(HEADER + "type T { X(int32) }\ndef @f(%t: T) { match (%t) { X(%a) => %a } }")
    mod = relay.parse(HEADER + "def @main() { @f(X(1)) }", init_module=base)
    assert mod["main"].body.args[0].op is base.get_type("T")[1]
    with pytest.raises(ParseError, match="type T is defined in init_module already"):
        relay.parse(HEADER + "type T { Y }", init_module=base)


def test_definitions_in_a_paste_belong_to_their_program():
    program = "type T { X }\n\ndef @f(%t: T) {\n  %t\n}"
    mods = relay.parse_programs(f"First:\n{program}\nand the type of things is\n{program}\n")
    assert [m.get_type("T")[1].name_hint for m in mods] == ["X", "X"]
    assert all(m["f"].params for m in mods)
