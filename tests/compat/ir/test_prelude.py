"""The prelude: data types and functions have TVM 0.16's types and the expected results."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.compat.ir.prelude import Prelude
from byoc_lab.errors import UnknownNameError, UnsupportedNameError
from byoc_lab.run.reference import ConstructorValue, evaluate

# Inferred by TVM 0.16 for its own prelude.
TYPES = """
id          fn [A](A) -> A
compose     fn [A, B, C](fn (B) -> C, fn (A) -> B) -> fn (A) -> C
flip        fn [A, B, C](fn (A, B) -> C) -> fn (B, A) -> C
iterate     fn [A](fn (A) -> A, int32) -> fn (A) -> A
hd          fn [A](List[A]) -> A
tl          fn [A](List[A]) -> List[A]
nth         fn [A](List[A], int32) -> A
update      fn [A](List[A], int32, A) -> List[A]
length      fn [A](List[A]) -> int32
sum         fn (List[int32]) -> int32
map         fn [A, B](fn (A) -> B, List[A]) -> List[B]
filter      fn [A](fn (A) -> bool, List[A]) -> List[A]
foldl       fn [A, B](fn (A, B) -> A, A, List[B]) -> A
foldr       fn [A, B](fn (A, B) -> B, B, List[A]) -> B
foldr1      fn [A](fn (A, A) -> A, List[A]) -> A
concat      fn [A](List[A], List[A]) -> List[A]
rev         fn [A](List[A]) -> List[A]
zip         fn [A, B](List[A], List[B]) -> List[(A, B)]
map_accumr  fn [A, B, C](fn (A, B) -> (A, C), A, List[B]) -> (A, List[C])
map_accuml  fn [A, B, C](fn (A, B) -> (A, C), A, List[B]) -> (A, List[C])
unfoldr     fn [A, B](fn (A) -> Option[(A, B)], A) -> List[B]
unfoldl     fn [A, B](fn (A) -> Option[(A, B)], A) -> List[B]
tmap        fn [A, B](fn (A) -> B, Tree[A]) -> Tree[B]
size        fn [A](Tree[A]) -> int32
"""

SUB = "fn (%a: int32, %b: int32) -> int32 { subtract(%a, %b) }"
PAIR = "fn (%a: int32, %b: int32) -> (int32, int32) { (subtract(%b, %a), add(%a, %b)) }"
DOWN = """fn (%n: int32) -> Option[(int32, int32)] {
  if (less(%n, 1)) { None } else { Some((subtract(%n, 1), %n)) } }"""
DOUBLE = "fn (%x: int32) -> int32 { add(%x, %x) }"
TREE = "Rose(1, Cons(Rose(2, Nil), Cons(Rose(3, Nil), Nil)))"
LIST = "Cons(1, Cons(2, Cons(3, Nil)))"

RESULTS = {
    "@id(4)": 4,
    f"{{ let %f = @compose({DOUBLE}, fn (%x: int32) {{ add(%x, 1) }}); %f(3) }}": 8,
    f"{{ let %f = @flip({SUB}); %f(1, 10) }}": 9,
    f"{{ let %f = @iterate({DOUBLE}, 3); %f(1) }}": 8,
    f"{{ let %f = @iterate({DOUBLE}, 0); %f(1) }}": 1,
    f"@hd(@tl({LIST}))": 2,
    f"@nth({LIST}, 2)": 3,
    f"@update({LIST}, 1, 9)": [1, 9, 3],
    f"@length({LIST})": 3,
    f"@sum({LIST})": 6,
    f"@map({DOUBLE}, {LIST})": [2, 4, 6],
    f"@filter(fn (%x: int32) -> bool {{ less(1, %x) }}, {LIST})": [2, 3],
    f"@foldl({SUB}, 10, {LIST})": ((10 - 1) - 2) - 3,
    f"@foldr({SUB}, 10, {LIST})": 1 - (2 - (3 - 10)),
    f"@foldr1({SUB}, {LIST})": 1 - (2 - 3),
    f"@concat({LIST}, Cons(4, Nil))": [1, 2, 3, 4],
    f"@rev({LIST})": [3, 2, 1],
    f"@zip({LIST}, Cons(True, Cons(False, Nil)))": [(1, True), (2, False)],
    f"@map_accumr({PAIR}, 10, {LIST})": (1 - (2 - (3 - 10)), [10, -5, 13]),
    f"@map_accuml({PAIR}, 10, {LIST})": (3 - (2 - (1 - 10)), [11, -7, 14]),
    f"@unfoldr({DOWN}, 3)": [3, 2, 1],
    f"@unfoldl({DOWN}, 3)": [1, 2, 3],
    f"@tmap({DOUBLE}, {TREE})": ("Rose", 2, [("Rose", 4, []), ("Rose", 6, [])]),
    f"@size({TREE})": 3,
}


@pytest.fixture(scope="module")
def prelude() -> Prelude:
    return Prelude()


@pytest.mark.parametrize("line", TYPES.strip().splitlines())
def test_prelude_types_equal_those_of_tvm(prelude: Prelude, line: str) -> None:
    name, expected = line.split(maxsplit=1)
    assert str(prelude.mod[name].checked_type) == expected


def python(value):
    """Converts a value to Python's lists, tuples and numbers."""
    if isinstance(value, tuple):
        return tuple(map(python, value))
    if not isinstance(value, ConstructorValue):
        return value.item()
    name = value.constructor.name_hint
    fields = tuple(map(python, value.fields))
    if name in ("Cons", "Nil"):
        return [fields[0], *fields[1]] if fields else []
    return (name, *fields)


@pytest.mark.parametrize("program", RESULTS)
def test_prelude_programs_return_the_expected_values(prelude: Prelude, program: str) -> None:
    body = program if program.startswith("{") else f"{{ {program} }}"
    mod = relay.parse(f'#[version = "0.0.5"]\ndef @main() {body}', init_module=prelude.mod)
    assert python(evaluate(mod).value) == RESULTS[program]


def test_prelude_functions_can_be_called_as_attributes(prelude: Prelude) -> None:
    _, cons, nil = prelude.mod.get_type("List")
    total = prelude.sum(cons(relay.const(2), cons(relay.const(3), nil())))
    mod = prelude.mod.copy()
    mod["main"] = relay.Function([], total)
    assert evaluate(mod).value == 5


def test_importing_the_prelude_twice_changes_nothing(prelude: Prelude) -> None:
    mod = prelude.mod.copy()
    before = dict(mod.functions)
    mod.import_from_std("prelude.rly")
    assert Prelude(mod).map is prelude.map
    assert mod.functions == before


def test_unknown_standard_file_error_lists_the_files() -> None:
    with pytest.raises(UnknownNameError, match=r"'arrays.rly' .* core.rly, prelude.rly"):
        relay.IRModule().import_from_std("arrays.rly")
    with pytest.raises(UnknownNameError, match=r"'\.\./module.py'"):
        relay.IRModule().import_from_std("../module.py")


def test_gradients_of_the_prelude_are_refused_with_advice() -> None:
    with pytest.raises(
        UnknownNameError, match=r"no file 'gradient\.rly'.*train them in their original framework"
    ):
        relay.IRModule().import_from_std("gradient.rly")


def test_tensor_arrays_of_any_rank_are_refused_with_the_supported_ones() -> None:
    prelude = Prelude()
    assert not hasattr(prelude, "get_global_var")
    with pytest.raises(UnsupportedNameError, match=r"get_global_var .* StaticTensorArrayOps"):
        prelude.get_global_var("tensor_array", "int32")
