"""Nodes of data types: immutable, traversed and rewritten like other nodes, compared
structurally."""

from __future__ import annotations

import pytest

import byoc_lab as tvm
from byoc_lab import relay
from byoc_lab.errors import DuplicateNameError, UnknownNameError, WellFormedError

LIST = relay.GlobalTypeVar("List")
A = relay.TypeVar("A")
CONS = relay.Constructor("Cons", [A, LIST(A)], LIST)
NIL = relay.Constructor("Nil", [], LIST)
INTS = LIST(relay.scalar_type("int32"))


def head_or(default: relay.Expr) -> relay.Function:
    """The first element of a list, or `default`."""
    items, head, tail = relay.Var("items", INTS), relay.Var("head"), relay.Var("tail")
    some = relay.PatternConstructor(CONS, [relay.PatternVar(head), relay.PatternVar(tail)])
    none = relay.PatternConstructor(NIL)
    clauses = [relay.Clause(some, head), relay.Clause(none, default)]
    return relay.Function([items], relay.Match(items, clauses))


def module() -> tvm.IRModule:
    mod = tvm.IRModule()
    mod[LIST] = relay.TypeData(LIST, [A], [CONS, NIL])
    return mod


def test_parts_of_a_match_are_its_data_pattern_variables_and_results():
    match = head_or(relay.const(7)).body
    names = [getattr(p, "name_hint", None) for p in match.parts()]
    assert names == ["items", "head", "tail", "head", None]
    assert match.part_names() == (
        ".data",
        ".clauses[0].lhs.vars[0]",
        ".clauses[0].lhs.vars[1]",
        ".clauses[0].rhs",
        ".clauses[1].rhs",
    )
    copied = match.with_parts(match.parts())
    assert copied is not match and relay.structural_equal(copied, match, map_free_vars=True)
    assert all(a.lhs is b.lhs for a, b in zip(copied.clauses, match.clauses, strict=True))


def test_with_parts_replaces_variables_in_match_patterns():
    match = head_or(relay.const(7)).body
    data, head, *rest = match.parts()
    other = relay.Var("other")
    renamed = match.with_parts([data, other, *rest[:1], other, *rest[2:]])
    assert str(renamed.clauses[0].lhs) == "Cons(%other, %tail)"
    assert renamed.clauses[0].lhs.span is match.clauses[0].lhs.span
    assert renamed.clauses[1].lhs is match.clauses[1].lhs
    assert head not in relay.analysis.all_vars(renamed)


def test_pattern_variables_are_bound():
    func = head_or(relay.const(7))
    assert [v.name_hint for v in relay.analysis.bound_vars(func)] == ["items", "head", "tail"]
    assert relay.analysis.free_vars(func) == []
    assert [v.name_hint for v in relay.analysis.free_vars(func.body)] == ["items"]
    assert relay.analysis.well_formed(func)


def test_pattern_variable_is_bound_once_and_used_in_its_clause():
    h, x = relay.Var("h"), relay.Var("x")
    pattern = relay.PatternConstructor(CONS, [relay.PatternVar(h), relay.PatternWildcard()])
    clause = relay.Clause(pattern, h)
    assert relay.analysis.well_formed(relay.Match(x, [clause]))
    assert not relay.analysis.well_formed(relay.Match(x, [clause, clause]))
    elsewhere = relay.Clause(relay.PatternWildcard(), h)
    assert not relay.analysis.well_formed(relay.Match(x, [clause, elsewhere]))
    assert not relay.analysis.well_formed(relay.Tuple([relay.Match(x, [clause]), h]))
    twice = relay.PatternTuple([relay.PatternVar(h), relay.PatternVar(h)])
    assert not relay.analysis.well_formed(relay.Match(x, [relay.Clause(twice, h)]))


def test_substitution_replaces_variables_in_clauses():
    default = relay.Var("default", relay.scalar_type("int32"))
    func = relay.bind(head_or(default), {default: relay.const(3)})
    assert relay.structural_equal(func, head_or(relay.const(3)))
    assert not relay.structural_equal(func, head_or(relay.const(4)))


def test_match_nodes_are_immutable():
    match = head_or(relay.const(7)).body
    for obj, field in ((match, "data"), (match.clauses[0], "rhs"), (match.clauses[0].lhs, "vars")):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(obj, field, None)


@pytest.mark.parametrize(
    "make",
    [
        lambda: relay.Match(1, []),
        lambda: relay.Match(relay.const(1), [relay.const(1)]),
        lambda: relay.Clause(relay.const(1), relay.const(1)),
        lambda: relay.PatternVar("x"),
        lambda: relay.PatternConstructor("Cons"),
        lambda: relay.PatternTuple([relay.const(1)]),
    ],
)
def test_invalid_pattern_argument_raises_type_error(make):
    with pytest.raises(TypeError, match="found"):
        make()


def test_nesting_of_patterns_is_limited():
    pattern: relay.Pattern = relay.PatternWildcard()
    with pytest.raises(WellFormedError, match="nest 100 deep"):
        for _ in range(200):
            pattern = relay.PatternTuple([pattern])


# Visitors ----------------------------------------------------------------------------------------


def test_visitors_visit_matches_and_constructors():
    seen = []

    class Names(relay.ExprVisitor):
        def visit_match(self, m):
            seen.append(len(m.clauses))
            super().visit_match(m)

        def visit_constructor(self, c):
            seen.append(c.name_hint)

    Names().visit(head_or(relay.Call(CONS, [relay.const(1), relay.Call(NIL, [])])))
    assert seen == [2, "Cons", "Nil"]


def test_mutators_rebuild_only_changed_nodes():
    class Sevens(relay.ExprMutator):
        def visit_constant(self, const):
            return relay.const(7)

    assert relay.structural_equal(Sevens().visit(head_or(relay.const(1))), head_or(relay.const(7)))
    func = head_or(relay.Var("default"))
    assert Sevens().visit(func) is func


def test_deep_matches_need_no_stack():
    x = relay.Var("x", relay.scalar_type("int32"))
    value: relay.Expr = x
    for _ in range(5_000):
        value = relay.Match(value, [relay.Clause(relay.PatternWildcard(), value)])
    func = relay.Function([x], value)
    assert relay.structural_hash(func) == relay.structural_hash(relay.Function([x], value))
    assert relay.analysis.free_vars(func) == []
    assert len(list(relay.transform.InferType()(tvm.IRModule.from_expr(func)).functions)) == 1


# Equality ----------------------------------------------------------------------------------------


def test_names_of_pattern_variables_are_ignored():
    one, other = head_or(relay.const(1)), head_or(relay.const(1))
    assert relay.structural_equal(one, other)
    assert relay.structural_hash(one) == relay.structural_hash(other)


@pytest.mark.parametrize(
    "pattern, complete, why",
    [
        (relay.PatternWildcard(), True, "different patterns"),
        (relay.PatternConstructor(CONS, [relay.PatternWildcard()] * 2), True, "different patterns"),
        (relay.PatternConstructor(NIL), False, "match against match?"),
    ],
)
def test_different_patterns_are_unequal(pattern, complete, why):
    x = relay.Var("x")
    wanted = relay.Match(x, [relay.Clause(relay.PatternConstructor(NIL), x)])
    found = relay.Match(x, [relay.Clause(pattern, x)], complete)
    assert relay.structural_hash(wanted) != relay.structural_hash(found)
    with pytest.raises(ValueError, match=why.replace("?", r"\?")):
        relay.assert_structural_equal(wanted, found)


def test_difference_in_a_clause_is_located():
    with pytest.raises(ValueError, match=r"<root>\.body\.clauses\[1\]\.rhs"):
        relay.assert_structural_equal(head_or(relay.const(1)), head_or(relay.const(2)))


def test_constructors_differ_by_type_or_name():
    other = relay.GlobalTypeVar("Other")
    assert relay.structural_equal(CONS, relay.Constructor("Cons", CONS.inputs, LIST))
    assert not relay.structural_equal(CONS, NIL)
    assert not relay.structural_equal(NIL, relay.Constructor("Nil", [], other))


def test_modules_are_compared_with_their_type_definitions():
    b = relay.TypeVar("B")
    same, more, none = module(), module(), tvm.IRModule()
    same[LIST] = relay.TypeData(
        LIST,
        [b],
        [relay.Constructor("Cons", [b, LIST(b)], LIST), relay.Constructor("Nil", [], LIST)],
    )
    more[LIST] = relay.TypeData(LIST, [A], [CONS, NIL, relay.Constructor("Third", [], LIST)])
    assert relay.structural_equal(module(), same)
    assert relay.structural_hash(module()) == relay.structural_hash(same)
    assert not relay.structural_equal(module(), more)
    assert not relay.structural_equal(module(), none)
    assert relay.structural_hash(module()) != relay.structural_hash(none)


# Modules -----------------------------------------------------------------------------------------


def test_module_contains_type_definitions():
    mod = module()
    assert mod[LIST].constructors == (CONS, NIL)
    assert LIST in mod and relay.GlobalTypeVar("Tree") not in mod
    assert mod.get_global_type_var("List") == LIST
    assert mod.get_type("List") == (LIST, CONS, NIL)
    assert mod.get_constructor(NIL.tag) is NIL
    # TVM 0.16's tags: a byte of the hash of the type's name, then the constructor's index.
    assert (CONS.tag, NIL.tag) == (-2013265920, -2013265919)
    assert relay.Constructor("Other", [], LIST).tag == -1, "of no definition yet"
    assert mod.copy()[LIST] is mod[LIST]
    other = tvm.IRModule()
    other.update(mod)
    assert other.type_definitions == mod.type_definitions
    assert tvm.IRModule({}, mod.type_definitions)[LIST] is mod[LIST]


def test_missing_type_or_constructor_raises_error_that_names_it():
    with pytest.raises(UnknownNameError, match="no type Tree; it has List"):
        module().get_type("Tree")
    with pytest.raises(UnknownNameError, match="tag 12"):
        module().get_constructor(12)
    with pytest.raises(UnknownNameError, match="'Tree'"):
        module()["Tree"] = module()[LIST]
    with pytest.raises(TypeError, match="needs a definition"):
        module()[LIST] = head_or(relay.const(1))


def test_inconsistent_type_definition_is_refused():
    with pytest.raises(DuplicateNameError, match="two constructors Nil"):
        relay.TypeData(LIST, [A], [NIL, NIL])
    with pytest.raises(WellFormedError, match="declares the type List"):
        relay.TypeData(relay.GlobalTypeVar("Tree"), [], [NIL])
