"""Queries on expressions and types: variables and type variables."""

from __future__ import annotations

from byoc_lab import relay


def test_type_variables_of_an_expression_are_listed():
    a, b, c = (relay.TypeVar(n) for n in "ABC")
    z = relay.Var("z", b)
    inner = relay.Function([relay.Var("y", c)], z, b, [c])
    func = relay.Function([relay.Var("x", a)], inner, None, [a])
    assert relay.analysis.free_type_vars(func) == [b]
    assert relay.analysis.bound_type_vars(func) == [a, c]
    assert relay.analysis.all_type_vars(func) == [a, c, b]


def test_type_variables_of_a_type_are_listed():
    a, b = relay.TypeVar("A"), relay.TypeVar("B")
    ty = relay.FuncType([a, relay.TupleType([b])], a, [a])
    assert relay.analysis.free_type_vars(ty) == [b]
    assert relay.analysis.bound_type_vars(ty) == [a]
    assert relay.analysis.all_type_vars(ty) == [a, b]


def test_bound_variables_are_listed_from_outside_to_inside():
    text = "fn (%x: int32) { let %y = (let %z = %x; %z); add(%y, %x) }"
    assert [v.name_hint for v in relay.analysis.bound_vars(relay.parse_expr(text))] == list("xyz")


def test_well_formed_requires_one_binding_and_uses_in_scope():
    x, y = relay.var("x", "int32"), relay.var("y", "int32")
    well_formed = relay.analysis.well_formed
    assert well_formed(relay.Function([x], relay.Let(y, x, relay.Tuple([x, y]))))
    assert well_formed(relay.Function([x], y))  # free variables are not a fault here
    assert not well_formed(relay.Tuple([relay.Let(y, x, y), y]))
    assert not well_formed(relay.Tuple([y, relay.Let(y, x, y)]))
    assert not well_formed(relay.Function([x, x], x))
    assert not well_formed(relay.Let(x, x, relay.Let(x, x, x)))
    shared = relay.Call(relay.Op.get("abs"), [x])
    assert well_formed(relay.Function([x], relay.Tuple([shared, shared])))


def test_let_is_visited_variable_first() -> None:
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
