"""Type inference of algebraic data types: constructors, patterns, matches.

Source: src/relay/transforms/type_infer.cc of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable

from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay.ir.adt import (
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    TypeData,
)
from byoc_lab.relay.ir.expr import Expr, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import (
    FuncType,
    IncompleteType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeKind,
    parts_of,
    replace,
)
from byoc_lab.relay.typing.adt_kinds import check_kind
from byoc_lab.relay.typing.adt_matching import unmatched_cases
from byoc_lab.relay.typing.infer_errors import fail


class DataTypeRules:
    """A mixin with rules for data types; the inference provides the module, the types so far and
    `unify`."""

    mod: IRModule
    types: dict[Expr, Type]
    unify: Callable[..., Type]
    of_variable: Callable[[Var], Type]

    def check_stated(self, node: Expr, stated: Type | None) -> None:
        if stated is not None and not isinstance(stated, (TensorType, IncompleteType)):
            try:
                kind = check_kind(stated, self.mod)
                if kind != TypeKind.Type:
                    raise TypeInferenceError(f"{stated} is of kind {kind.name}, expected a type")
            except TypeInferenceError as error:
                fail(node, str(error), error)

    def constructor_type(self, node: Constructor) -> Type:
        data = self._definition(node, node)
        result = TypeCall(data.header, data.type_vars)
        return FuncType(node.inputs, result, data.type_vars)

    def _definition(self, node: Expr, constructor: Constructor) -> TypeData:
        header, name = constructor.belong_to, constructor.name_hint
        if header not in self.mod:
            fail(node, f"constructor {name} belongs to type {header}, which the module lacks")
        data: TypeData = self.mod[header]
        if not any(c.identity == constructor.identity for c in data.constructors):
            have = ", ".join(c.name_hint for c in data.constructors) or "none"
            fail(node, f"type {header} has no constructor {name}; it has {have}")
        return data

    def type_pattern(self, match: Match, pattern: Pattern, ty: Type) -> None:
        """Assign types to the variables of a pattern that is matched against a value of type
        `ty`."""
        what, at = f"the pattern {pattern}", pattern.span
        if isinstance(pattern, PatternVar):
            self.unify(match, ty, self.of_variable(pattern.var), what, at)
        elif isinstance(pattern, PatternTuple):
            fields: list[Type] = [IncompleteType() for _ in pattern.patterns]
            self.unify(match, ty, TupleType(fields), what, at, found_first=True)
            for below, field in zip(pattern.patterns, fields, strict=True):
                self.type_pattern(match, below, field)
        elif isinstance(pattern, PatternConstructor):
            data = self._definition(match, pattern.constructor)
            inputs = pattern.constructor.inputs
            holes: dict[Type, Type] = {v: IncompleteType() for v in data.type_vars}
            wanted = TypeCall(data.header, list(holes.values()))
            self.unify(match, ty, wanted, what, at, found_first=True)
            if len(inputs) != len(pattern.patterns):
                found = len(pattern.patterns)
                fail(match, f"{what} has {found} fields, expected {len(inputs)}", at=at)
            for below, taken in zip(pattern.patterns, inputs, strict=True):
                self.type_pattern(match, below, replace(taken, holes))

    def match_type(self, node: Match) -> Type:
        result: Type = IncompleteType()
        for clause in node.clauses:
            what = f"the clause {clause.lhs}"
            result = self.unify(node, self.types[clause.rhs], result, what, clause.span)
        if node.complete:
            try:
                missing = unmatched_cases(node, self.mod)
            except TypeInferenceError as error:
                fail(node, str(error), error)
            if missing:
                shown = ", ".join(map(str, missing[:5]))
                more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
                fail(
                    node,
                    f"match does not handle {shown}{more}; add clauses, or write match? to leave "
                    f"cases out",
                    facts={"kind": "cases", "missing": missing},
                )
        return result


def is_of_anything(ty: Type) -> bool:
    """Whether all holes in a type are type arguments of a data type: for example, the element type
    of an empty list that is never extended cannot be determined."""
    if isinstance(ty, TypeCall):
        return True
    return all(is_of_anything(p) for p in parts_of(ty) if p.has_holes) and bool(parts_of(ty))
