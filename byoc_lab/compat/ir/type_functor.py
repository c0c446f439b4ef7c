"""Visitors and mutators of types to subclass, with the interface of `tvm.relay.type_functor`."""

from __future__ import annotations

from collections.abc import Iterable
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
    """Visits all types; override the methods you need, call `super()` to continue with the
    children."""

    def _visit_all(self, *types: Type) -> None:
        for part in types:
            self.visit(part)

    def _nothing(self, typ: Any) -> Any:
        pass

    visit_type_var = visit_incomplete_type = visit_tensor_type = visit_global_type_var = _nothing

    def visit_func_type(self, typ: FuncType) -> Any:
        self._visit_all(*typ.arg_types, typ.ret_type, *typ.type_params, *typ.type_constraints)

    def visit_tuple_type(self, typ: TupleType) -> Any:
        self._visit_all(*typ.fields)

    def visit_ref_type(self, typ: RefType) -> Any:
        self.visit(typ.value)

    def visit_type_call(self, typ: TypeCall) -> Any:
        self._visit_all(typ.func, *typ.args)

    def visit_type_data(self, typ: TypeData) -> Any:
        inputs = (t for c in typ.constructors for t in c.inputs)
        self._visit_all(typ.header, *typ.type_vars, *inputs)

    def visit_type_relation(self, typ: TypeRelation) -> Any:
        self._visit_all(*typ.args)


class TypeMutator(TypeFunctor):
    """Rebuilds all types; override the methods for the types to change."""

    def _all(self, types: Iterable[Type]) -> list[Any]:
        return [self.visit(t) for t in types]

    def _same(self, typ: Any) -> Any:
        return typ

    visit_type_var = visit_incomplete_type = visit_tensor_type = visit_global_type_var = _same

    def visit_func_type(self, typ: FuncType) -> Any:
        return FuncType(
            self._all(typ.arg_types),
            self.visit(typ.ret_type),
            self._all(typ.type_params),
            self._all(typ.type_constraints),
        )

    def visit_tuple_type(self, typ: TupleType) -> Any:
        return TupleType(self._all(typ.fields))

    def visit_ref_type(self, typ: RefType) -> Any:
        return RefType(self.visit(typ.value))

    def visit_type_call(self, typ: TypeCall) -> Any:
        return TypeCall(self.visit(typ.func), self._all(typ.args))

    def visit_type_data(self, typ: TypeData) -> Any:
        header = self.visit(typ.header)
        made = [Constructor(c.name_hint, self._all(c.inputs), header) for c in typ.constructors]
        return TypeData(header, self._all(typ.type_vars), made, typ.extern)

    def visit_type_relation(self, typ: TypeRelation) -> Any:
        return TypeRelation(typ.func, self._all(typ.args), typ.num_inputs, typ.attrs)
