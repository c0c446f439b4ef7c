"""Visitors and mutators of types to subclass, with the interface of `tvm.relay.type_functor`."""

from __future__ import annotations

from typing import Any

from byoc_lab.relay.ir.adt import Constructor, TypeData
from byoc_lab.relay.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
    TypeVar,
)

_METHODS: dict[type, str] = {
    TypeVar: "visit_type_var",
    IncompleteType: "visit_incomplete_type",
    TensorType: "visit_tensor_type",
    FuncType: "visit_func_type",
    TupleType: "visit_tuple_type",
    RefType: "visit_ref_type",
    GlobalTypeVar: "visit_global_type_var",
    TypeCall: "visit_type_call",
    TypeData: "visit_type_data",
    TypeRelation: "visit_type_relation",
}


class TypeFunctor:
    """Dispatches on the kind of type. Types nest at most 100 deep, so recursion is safe."""

    def visit(self, typ: Type) -> Any:
        method = _METHODS.get(type(typ))
        if method is None:
            raise TypeError(f"{type(self).__name__}.visit takes a Relay type, found {typ!r}")
        return getattr(self, method)(typ)

    def _unhandled(self, typ: Any) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} has no {_METHODS[type(typ)]}, which {typ} needs"
        )

    visit_type_var = visit_incomplete_type = visit_tensor_type = visit_func_type = _unhandled
    visit_tuple_type = visit_ref_type = visit_global_type_var = _unhandled
    visit_type_call = visit_type_data = visit_type_relation = _unhandled


class TypeVisitor(TypeFunctor):
    """Visits everything; override the methods you need, call `super()` to continue below."""

    def visit_type_var(self, tv: TypeVar) -> Any:
        pass

    def visit_incomplete_type(self, it: IncompleteType) -> Any:
        pass

    def visit_tensor_type(self, tt: TensorType) -> Any:
        pass

    def visit_func_type(self, ft: FuncType) -> Any:
        for part in (*ft.arg_types, ft.ret_type, *ft.type_params, *ft.type_constraints):
            self.visit(part)

    def visit_tuple_type(self, tt: TupleType) -> Any:
        for field in tt.fields:
            self.visit(field)

    def visit_ref_type(self, rt: RefType) -> Any:
        self.visit(rt.value)

    def visit_global_type_var(self, gtv: GlobalTypeVar) -> Any:
        pass

    def visit_type_call(self, tc: TypeCall) -> Any:
        for part in (tc.func, *tc.args):
            self.visit(part)

    def visit_type_data(self, td: TypeData) -> Any:
        for part in (td.header, *td.type_vars, *(t for c in td.constructors for t in c.inputs)):
            self.visit(part)

    def visit_type_relation(self, tr: TypeRelation) -> Any:
        for part in tr.args:
            self.visit(part)


class TypeMutator(TypeFunctor):
    """Rebuilds everything; override the methods of the types to change."""

    def visit_type_var(self, tv: TypeVar) -> Any:
        return tv

    def visit_incomplete_type(self, it: IncompleteType) -> Any:
        return it

    def visit_tensor_type(self, tt: TensorType) -> Any:
        return tt

    def visit_func_type(self, ft: FuncType) -> Any:
        return FuncType(
            [self.visit(t) for t in ft.arg_types],
            self.visit(ft.ret_type),
            [self.visit(t) for t in ft.type_params],
            [self.visit(t) for t in ft.type_constraints],
        )

    def visit_tuple_type(self, tt: TupleType) -> Any:
        return TupleType([self.visit(t) for t in tt.fields])

    def visit_ref_type(self, rt: RefType) -> Any:
        return RefType(self.visit(rt.value))

    def visit_global_type_var(self, gtv: GlobalTypeVar) -> Any:
        return gtv

    def visit_type_call(self, tc: TypeCall) -> Any:
        return TypeCall(self.visit(tc.func), [self.visit(t) for t in tc.args])

    def visit_type_data(self, td: TypeData) -> Any:
        header = self.visit(td.header)
        constructors = [
            Constructor(c.name_hint, [self.visit(t) for t in c.inputs], header)
            for c in td.constructors
        ]
        return TypeData(header, [self.visit(v) for v in td.type_vars], constructors, td.extern)

    def visit_type_relation(self, tr: TypeRelation) -> Any:
        return TypeRelation(tr.func, [self.visit(a) for a in tr.args], tr.num_inputs, tr.attrs)
