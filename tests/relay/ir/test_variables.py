"""Variables of an expression: bound, free and all, and their scopes."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import WellFormedError
from byoc_lab.relay.ir.variables import (
    all_vars,
    bound_vars,
    check_well_formed,
    free_among,
    free_vars,
    walk_scopes,
    well_formed,
)
from byoc_lab.relay.ir.visit import post_order

X, Y, Z = (relay.var(name, shape=(2,)) for name in "xyz")


def test_free_variables_have_no_binder() -> None:
    inner = relay.Let(Y, relay.exp(X), relay.add(Y, Z))
    function = relay.Function([X], inner)
    assert free_vars(function) == free_among(post_order(function)) == [Z]
    assert bound_vars(function) == [X, Y]
    assert all_vars(function) == [X, Y, Z]


def test_scope_traversal_returns_nodes_and_free_variables() -> None:
    call = relay.add(X, Y)
    scopes = walk_scopes(relay.Function([X], call))
    assert call in scopes.nodes and not scopes.nodes & {X, Y}
    assert scopes.free == {Y} and not scopes.faults and not scopes.in_own_value


BOUND_TWICE = relay.Tuple([relay.Function([X], X), relay.Function([X], X)])
USED_OUTSIDE = relay.Tuple([relay.Let(X, Y, X), X])
USED_BEFORE = relay.Tuple([X, relay.Let(X, Y, X)])


@pytest.mark.parametrize(
    ("expr", "message"),
    [
        (BOUND_TWICE, "more than once"),
        (USED_OUTSIDE, "outside of the scope"),
        (USED_BEFORE, "also used outside of its scope"),
    ],
    ids=["bound twice", "used outside", "used before"],
)
def test_violated_scopes_are_refused(expr: relay.Expr, message: str) -> None:
    assert not well_formed(expr)
    with pytest.raises(WellFormedError, match=message):
        check_well_formed(expr)


def test_valid_scopes_are_well_formed() -> None:
    assert well_formed(relay.Function([X], relay.Let(Y, X, relay.add(X, Y))))
    assert well_formed(relay.add(X, X))


def test_variable_used_in_the_value_of_its_let_is_reported_but_well_formed_as_in_tvm() -> None:
    own = relay.Let(Y, relay.Tuple([relay.Let(Z, relay.exp(Y), Z), Y]), Y)
    assert well_formed(own)
    assert [fault.variable for fault in walk_scopes(own).in_own_value] == [Y, Y]


def test_function_literal_may_call_itself() -> None:
    itself = relay.Let(Y, relay.Function([X], relay.Call(Y, [X])), Y)
    assert not walk_scopes(itself).in_own_value
