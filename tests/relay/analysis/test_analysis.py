"""Analyses of expressions, types and modules, as scripts around BYOC use them."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import UnknownNameError

HEADER = '#[version = "0.0.5"]\n'
MIXED = relay.parse(
    HEADER
    + """def @main(%x: Tensor[(2), float32], %y: float32) {
  %0 = abs(%x);
  %1 = fn (%z: Tensor[(2), float32]) { %7 = exp(%z); add(%7, %0) };
  %2 = if (True) { %8 = abs(%y); exp(%8) } else { %y };
  %3 = add(exp(%0), %1(negative(%x)));
  %4 = (%2, %3);
  add(%4.1, %2)
}
def @other(%x: float32) { tanh(%x) }"""
)


# Variables and types -----------------------------------------------------------------------------


def test_type_variables_of_an_expression():
    a, b, c = (relay.TypeVar(n) for n in "ABC")
    z = relay.Var("z", b)
    inner = relay.Function([relay.Var("y", c)], z, b, [c])
    func = relay.Function([relay.Var("x", a)], inner, None, [a])
    assert relay.analysis.free_type_vars(func) == [b]
    assert relay.analysis.bound_type_vars(func) == [a, c]
    assert relay.analysis.all_type_vars(func) == [a, c, b]


def test_type_variables_of_a_type():
    a, b = relay.TypeVar("A"), relay.TypeVar("B")
    ty = relay.FuncType([a, relay.TupleType([b])], a, [a])
    assert relay.analysis.free_type_vars(ty) == [b]
    assert relay.analysis.bound_type_vars(ty) == [a]
    assert relay.analysis.all_type_vars(ty) == [a, b]


def test_bound_variables_are_listed_from_the_outside_in():
    text = "fn (%x: int32) { let %y = (let %z = %x; %z); add(%y, %x) }"
    assert [v.name_hint for v in relay.analysis.bound_vars(relay.parse_expr(text))] == list("xyz")


def test_a_variable_is_bound_once_and_used_within_its_scope():
    x, y = relay.var("x", "int32"), relay.var("y", "int32")
    well_formed = relay.analysis.well_formed
    assert well_formed(relay.Function([x], relay.Let(y, x, relay.Tuple([x, y]))))
    assert well_formed(relay.Function([x], y))  # free variables are no fault here
    assert not well_formed(relay.Tuple([relay.Let(y, x, y), y]))
    assert not well_formed(relay.Tuple([y, relay.Let(y, x, y)]))
    assert not well_formed(relay.Function([x, x], x))
    assert not well_formed(relay.Let(x, x, relay.Let(x, x, x)))
    shared = relay.Call(relay.Op.get("abs"), [x])
    assert well_formed(relay.Function([x], relay.Tuple([shared, shared])))


# Extraction --------------------------------------------------------------------------------------


def test_an_expression_is_extracted_by_its_number():
    """The numbers are those that TVM 0.16 gives the expressions of this module."""
    last_ops = []
    for number in range(12):
        body = relay.analysis.extract_intermdeiate_expr(MIXED, number)["main"].body
        last_ops.append(getattr(body, "op_name", type(body).__name__))
    wanted = "abs exp abs exp exp add negative  add Tuple TupleGetItem add"
    assert last_ops == wanted.split(" ")
    extracted = relay.analysis.extract_intermdeiate_expr(MIXED, 3)["main"]
    assert [p.name_hint for p in extracted.params] == ["x"]


@pytest.mark.parametrize("number", [-1, 12])
def test_a_number_that_is_not_there(number: int):
    with pytest.raises(UnknownNameError, match="it has %0 to %11"):
        relay.analysis.extract_intermdeiate_expr(MIXED, number)


def test_operators_of_main_are_counted():
    counts = {"add": 3, "negative": 1, "exp": 3, "abs": 2}
    assert relay.analysis.list_op_freqs(MIXED) == counts


def test_a_let_is_met_name_first() -> None:
    x, name = relay.var("x", shape=(2,)), relay.var("name", shape=(2,))
    let = relay.Let(name, relay.abs(x), relay.add(x, name))
    assert relay.analysis.all_vars(let) == [name, x]
    for base in (relay.ExprVisitor, relay.ExprMutator):
        met: list[str] = []

        class Note(base):  # type: ignore[misc, valid-type]
            def visit_var(self, var: relay.Var, met: list[str] = met) -> relay.Var:
                met.append(var.name_hint)
                return var

        assert Note().visit(let) in (None, let)
        assert met == ["name", "x"]
