"""`TypeVisitor` and `TypeMutator` of compat."""

from __future__ import annotations

import pytest

from byoc_lab.compat import relay

A = relay.TypeVar("A")
LIST = relay.GlobalTypeVar("List")
NIL = relay.Constructor("Nil", [], LIST)
CONS = relay.Constructor("Cons", [A, LIST(A)], LIST)
DATA = relay.TypeData(LIST, [A], [CONS, NIL])
F32 = relay.TensorType((2, 3))
TYPES = [
    A,
    F32,
    relay.IncompleteType(),
    relay.TupleType([F32, A]),
    relay.FuncType([F32, A], A, [A]),
    relay.TypeRelation("same", [F32, A], 1, None),
    relay.FuncType([F32], A, [A], [relay.TypeRelation("same", [F32, A], 1, None)]),
    relay.RefType(F32),
    LIST,
    LIST(A),
    DATA,
]


def test_visitor_visits_every_component_of_a_type():
    met = []

    class Names(relay.TypeVisitor):
        def visit_type_var(self, tv):
            met.append(str(tv))

        def visit_tensor_type(self, tt):
            met.append(tt.dtype)

        def visit_global_type_var(self, gtv):
            met.append(gtv.name_hint)

        def visit_incomplete_type(self, it):
            met.append("_")

    for ty in TYPES:
        Names().visit(ty)
        met.append("/")
    functions = "float32AAA/float32A/float32AAfloat32A/"
    assert "".join(met) == f"A/float32/_/float32A/{functions}float32/List/ListA/ListAAListA/"


@pytest.mark.parametrize("ty", TYPES, ids=lambda ty: type(ty).__name__)
def test_mutator_without_changes_returns_an_equal_type(ty: relay.Type):
    made = relay.TypeMutator().visit(ty)
    assert type(made) is type(ty) and str(made) == str(ty)


def test_mutator_changes_the_requested_types():
    class Halves(relay.TypeMutator):
        def visit_tensor_type(self, tt):
            return relay.TensorType(tt.shape, "float16")

    for ty in TYPES:
        assert str(Halves().visit(ty)) == str(ty).replace("float32", "float16")


def test_unhandled_type_raises_error_that_names_the_method():
    with pytest.raises(NotImplementedError, match="visit_tensor_type"):
        relay.TypeFunctor().visit(F32)
    with pytest.raises(TypeError, match="takes a Relay type"):
        relay.TypeVisitor().visit(relay.const(1))
