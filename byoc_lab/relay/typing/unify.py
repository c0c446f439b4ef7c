"""Unification of types, which resolves their holes.

A `?` dimension unifies with any other. A symbolic dimension unified with a number is replaced by
that number everywhere.

Source: the type solver of TVM 0.16.
"""

from __future__ import annotations

from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay.ir.dims import Any, Dim, SizeName, Symbolic
from byoc_lab.relay.ir.types import (
    FuncType,
    IncompleteType,
    TensorType,
    Type,
    parts_of,
    replace,
    with_dims,
    with_parts,
)


class Conflict(TypeInferenceError):
    """Two types that cannot be unified: `found` and `expected`, with their holes unresolved."""

    def __init__(self, found: Type, expected: Type, why: str = ""):
        super().__init__(f"found {found}, expected {expected}{why}")
        self.found, self.expected = found, expected


class Unifier:
    """Holes and symbolic sizes, with the types and sizes bound to them."""

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}
        self.found_lengths: dict[SizeName, Dim] = {}  # symbolic size -> bound size
        self.filled: list[Type] = []  # the holes in the order in which they were bound

    def head(self, ty: Type) -> Type:
        """`ty` itself, or the type that a hole is bound to (its parts may still have holes)."""
        while isinstance(ty, IncompleteType) and ty in self._bound:
            ty = self._bound[ty]
        return ty

    def resolve(self, ty: Type) -> Type:
        """`ty` with all bound holes and symbolic sizes replaced."""
        if ty.has_holes:
            ty = self.head(ty)
            if ty.has_holes and not isinstance(ty, IncompleteType):
                ty = with_parts(ty, [self.resolve(p) for p in parts_of(ty)])
        if self.found_lengths:
            return with_dims(ty, lambda d: d.replace(self.found_lengths))
        return ty

    def holes(self, ty: Type) -> list[Type]:
        """The unbound holes in `ty`."""
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
        """The type in the form that relations receive: None for an unbound hole."""
        ty = self.resolve(ty)
        return None if isinstance(ty, IncompleteType) else ty

    def unify(self, a: Type, b: Type) -> Type:
        """Unify `a` and `b`. Raises TypeInferenceError if that is impossible."""
        a, b = self.head(a), self.head(b)
        if a is b or a == b:
            return a
        if isinstance(a, IncompleteType):
            return self._bind(a, b)
        if isinstance(b, IncompleteType):
            return self._bind(b, a)
        if isinstance(a, TensorType) and isinstance(b, TensorType):
            return self._unify_tensors(a, b)
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

    def _unify_tensors(self, a: TensorType, b: TensorType) -> TensorType:
        if a.dtype != b.dtype or len(a.shape) != len(b.shape):
            raise Conflict(a, b)
        shape = []
        for n, (x, y) in enumerate(zip(a.shape, b.shape, strict=True)):
            x, y = (d.replace(self.found_lengths) if isinstance(d, Symbolic) else d for d in (x, y))
            if not self._go_together(x, y):
                raise Conflict(a, b, f": dimension {n} is {x}, not {y}")
            open_x = isinstance(x, Any) or (isinstance(x, Symbolic) and not isinstance(y, Any))
            shape.append(y if open_x else x)
        return TensorType(shape, a.dtype)

    def _go_together(self, x: Dim, y: Dim) -> bool:
        """Unify two sizes if possible, binding a symbolic size; returns whether it is possible."""
        if x == y:
            return True
        for mine, other in ((x, y), (y, x)):
            if isinstance(mine, Symbolic) and mine.symbol and not isinstance(other, Symbolic):
                self.found_lengths[mine.symbol] = other
                return True
        return isinstance(x, Any) or isinstance(y, Any)


def _occurs(hole: Type, ty: Type) -> bool:
    todo = [ty]
    while todo:
        t = todo.pop()
        if t is hole:
            return True
        todo += [p for p in parts_of(t) if p.has_holes]
    return False


def _same_parameters(a: FuncType, b: FuncType) -> tuple[FuncType, FuncType]:
    """Two generic function types, both expressed with the type parameters of the type that has
    fewer. The remaining parameters of the more general type become holes."""
    if len(a.type_params) > len(b.type_params):
        b, a = _same_parameters(b, a)
        return a, b
    renamed: dict[Type, Type] = {p: IncompleteType() for p in b.type_params}
    renamed |= dict(zip(b.type_params, a.type_params, strict=False))
    b = FuncType(
        [replace(t, renamed) for t in b.arg_types], replace(b.ret_type, renamed), a.type_params
    )
    return a, b
