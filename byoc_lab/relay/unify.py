"""Unification: what two types have in common, and what their holes must be for that.

Source: the type solver of TVM 0.16 (a `?` dimension goes with any other).
"""

from __future__ import annotations

from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay.types import (
    Any,
    FuncType,
    IncompleteType,
    TensorType,
    Type,
    parts_of,
    replace,
    with_parts,
)


class Conflict(TypeInferenceError):
    """Two types that cannot be one: `found` and `expected`, without what holes are known to be."""

    def __init__(self, found: Type, expected: Type, why: str = ""):
        super().__init__(f"found {found}, expected {expected}{why}")
        self.found, self.expected = found, expected


class Unifier:
    """Holes and what they were found to be."""

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}
        self.filled: list[Type] = []  # the holes that were bound, in that order

    def head(self, ty: Type) -> Type:
        """`ty` itself, or what its hole was found to be (parts may still have holes)."""
        while isinstance(ty, IncompleteType) and ty in self._bound:
            ty = self._bound[ty]
        return ty

    def resolve(self, ty: Type) -> Type:
        """`ty` with every hole filled that can be."""
        if not ty.has_holes:
            return ty
        ty = self.head(ty)
        if isinstance(ty, IncompleteType) or not ty.has_holes:
            return ty
        return with_parts(ty, [self.resolve(p) for p in parts_of(ty)])

    def holes(self, ty: Type) -> list[Type]:
        """The holes in `ty` that are not filled."""
        todo: list[Type] = [ty]
        found: list[Type] = []
        while todo:
            t = self.head(todo.pop())
            if isinstance(t, IncompleteType):
                found.append(t)
            elif t.has_holes:
                todo += parts_of(t)
        return found

    def known(self, ty: Type) -> Type | None:
        """The type as a relation gets it: None while it is a hole."""
        ty = self.resolve(ty)
        return None if isinstance(ty, IncompleteType) else ty

    def unify(self, a: Type, b: Type) -> Type:
        """Make `a` and `b` the same. Raises TypeInferenceError when they cannot be."""
        a, b = self.head(a), self.head(b)
        if a is b or a == b:
            return a
        if isinstance(a, IncompleteType):
            return self._bind(a, b)
        if isinstance(b, IncompleteType):
            return self._bind(b, a)
        if isinstance(a, TensorType) and isinstance(b, TensorType):
            return _unify_tensors(a, b)
        mine, theirs = parts_of(a), parts_of(b)
        if type(a) is not type(b) or len(mine) != len(theirs) or not mine:
            raise Conflict(self.resolve(a), self.resolve(b))
        if isinstance(a, FuncType) and isinstance(b, FuncType):
            a, b = _same_parameters(a, b)
            mine, theirs = parts_of(a), parts_of(b)
        return with_parts(a, [self.unify(x, y) for x, y in zip(mine, theirs, strict=True)])

    def _bind(self, hole: IncompleteType, ty: Type) -> Type:
        if ty.has_holes and _occurs(hole, self.resolve(ty)):
            raise TypeInferenceError(f"a type would contain itself: {self.resolve(ty)}")
        self._bound[hole] = ty
        self.filled.append(hole)
        return ty


def _occurs(hole: Type, ty: Type) -> bool:
    todo = [ty]
    while todo:
        t = todo.pop()
        if t is hole:
            return True
        todo += [p for p in parts_of(t) if p.has_holes]
    return False


def _unify_tensors(a: TensorType, b: TensorType) -> TensorType:
    if a.dtype != b.dtype or len(a.shape) != len(b.shape):
        raise Conflict(a, b)
    shape = []
    for n, (x, y) in enumerate(zip(a.shape, b.shape, strict=True)):
        if x != y and not isinstance(x, Any) and not isinstance(y, Any):
            raise Conflict(a, b, f": dimension {n} is {x}, not {y}")
        shape.append(y if isinstance(x, Any) else x)
    return TensorType(shape, a.dtype)


def _same_parameters(a: FuncType, b: FuncType) -> tuple[FuncType, FuncType]:
    """Two generic function types over the same type parameters: those of the one that has fewer.
    The other ones of the more general type may be anything."""
    if len(a.type_params) > len(b.type_params):
        b, a = _same_parameters(b, a)
        return a, b
    renamed: dict[Type, Type] = {p: IncompleteType() for p in b.type_params}
    renamed |= dict(zip(b.type_params, a.type_params, strict=False))
    b = FuncType(
        [replace(t, renamed) for t in b.arg_types], replace(b.ret_type, renamed), a.type_params
    )
    return a, b
