"""Kind checking: checks that data types are defined and get the right number of type arguments.

Source: src/relay/analysis/kind_check.cc of TVM 0.16.
"""

from __future__ import annotations

from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay.ir.adt import TypeData
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import (
    GlobalTypeVar,
    IncompleteType,
    Type,
    TypeCall,
    TypeConstraint,
    TypeKind,
    TypeVar,
    parts_of,
)


def check_kind(t: Type, mod: IRModule | None = None) -> TypeKind:
    """The kind of a type. Raises TypeInferenceError for an ill-kinded type.

    Args:
        mod: the module that defines the data types; without it, `t` must not contain data types.
    """
    stack: list[tuple[Type, bool]] = [(t, True)]
    while stack:
        ty, applied = stack.pop()
        _check(ty, applied, mod)
        if isinstance(ty, TypeData):
            stack += [(i, False) for c in ty.constructors for i in c.inputs]
        elif isinstance(ty, TypeCall):
            stack += [(ty.func, True), *((a, False) for a in ty.args)]
        else:
            stack += [(p, False) for p in parts_of(ty)]
    if isinstance(t, TypeData):
        return TypeKind.TypeData
    if isinstance(t, TypeConstraint):
        return TypeKind.Constraint
    return t.kind if isinstance(t, (GlobalTypeVar, TypeVar, IncompleteType)) else TypeKind.Type


def _check(ty: Type, applied: bool, mod: IRModule | None) -> None:
    """Check one type without its parts. applied: it is the function of a type call, so its kind
    need not be Type."""
    if isinstance(ty, TypeCall):
        if not isinstance(ty.func, GlobalTypeVar):
            raise TypeInferenceError(f"{ty}: found {ty.func}, expected the name of a data type")
        if mod is None or ty.func not in mod:
            known = [] if mod is None else [v.name_hint for v in mod.type_definitions]
            raise TypeInferenceError(
                f"no type is named {ty.func}; the module defines {', '.join(known) or 'none'}"
            )
        wanted = len(mod[ty.func].type_vars)
        if len(ty.args) != wanted:
            raise TypeInferenceError(f"{ty.func} takes {wanted} types, found {len(ty.args)}: {ty}")
    elif isinstance(ty, GlobalTypeVar) and not applied:
        raise TypeInferenceError(f"{ty} is the name of a data type; write the type as {ty}[...]")
    elif isinstance(ty, (TypeVar, IncompleteType)) and ty.kind != TypeKind.Type and not applied:
        raise TypeInferenceError(f"{ty} is of kind {ty.kind.name}, expected a type")
