"""Structural equality: the same computation, independent of variable names.

As in TVM, sharing counts (a node used twice is not two equal nodes), except for projections,
constants, operators and the empty tuple; names of bound variables, spans and inferred types are
ignored; attributes, annotations and constants are compared bit for bit.

Source: `tvm.ir.structural_equal` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from byoc_lab.errors import StructuralEqualError
from byoc_lab.printing import printable
from byoc_lab.relay.ir.adt import Clause, Constructor, Match, Pattern, TypeData
from byoc_lab.relay.ir.attrs import Attrs, same_value
from byoc_lab.relay.ir.dataflow import VarId
from byoc_lab.relay.ir.dims import Dim, SizeName, Symbolic, named, symbol
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Let,
    Op,
    Tuple,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.ir.foreign import ForeignOp
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import (
    GlobalTypeVar,
    IncompleteType,
    TensorType,
    Type,
    TypeKind,
    TypeVar,
    parts_of,
    replace,
    with_dims,
    with_parts,
)

MAX_NAMES = 4
"""The maximum number of names in a dimension that is compared with a renamed one."""


_NOWHERE = symbol("a dimension that the right side lacks")


@dataclass(frozen=True)
class Difference:
    """The first difference of two structures: its `path` from the root, and both sides."""

    path: str
    lhs: Any
    rhs: Any
    why: str

    @printable
    def __str__(self) -> str:
        return (
            f"{self.why}, at {self.path}\n  left:  {_excerpt(self.lhs)}\n"
            f"  right: {_excerpt(self.rhs)}"
        )


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two expressions, types or modules (or attributes, or lists) are structurally
    equal."""
    return first_difference(lhs, rhs, map_free_vars) is None


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise ValueError with the path of the first difference, in TVM's wording and in detail."""
    found = first_difference(lhs, rhs, map_free_vars)
    if found:
        raise StructuralEqualError(
            f"StructuralEqual check failed, caused by lhs at {found.path}:\n"
            f"{_excerpt(found.lhs)}\nand rhs at {found.path}:\n{_excerpt(found.rhs)}\n{found.why}"
        )


def first_difference(
    lhs: Any, rhs: Any, map_free_vars: bool = False, *, constants: bool = True
) -> Difference | None:
    """The first difference of two structures, or None.

    With `constants=False`, all constants of one type are equal: for comparison with a text without
    metadata.
    """
    if isinstance(lhs, IRModule) and isinstance(rhs, IRModule):
        return _modules(lhs, rhs, map_free_vars, constants)
    if isinstance(lhs, TypeData) and isinstance(rhs, TypeData):
        same = lhs.header == rhs.header and definition_key(lhs) == definition_key(rhs)
        return None if same else Difference("<root>", lhs, rhs, "different definitions")
    if isinstance(lhs, Type) and isinstance(rhs, Type):
        lhs, rhs = without_holes(lhs), without_holes(rhs)
        comparison = _Comparison(map_free_vars, constants)
        if map_free_vars and not comparison.types_differ(lhs, rhs, binds=True):
            return None
    if isinstance(lhs, Type) or isinstance(rhs, Type):
        return None if lhs == rhs else Difference("<root>", lhs, rhs, "different types")
    lhs, rhs = as_expression(lhs), as_expression(rhs)
    if not isinstance(lhs, Expr) or not isinstance(rhs, Expr):  # attributes, shapes, numbers
        return None if same_value(lhs, rhs) else Difference("<root>", lhs, rhs, "different values")
    return _Comparison(map_free_vars, constants).run(lhs, rhs, "<root>")


def as_expression(side: Any) -> Any:
    """A pattern as a match with one clause, so that the variables that the pattern binds are not
    free."""
    if isinstance(side, Pattern):
        return Match(Tuple([]), [Clause(side, Tuple([]))])
    return side


def _modules(a: IRModule, b: IRModule, free: bool, constants: bool) -> Difference | None:
    mine, theirs = ({gv.name_hint for gv in m.functions} for m in (a, b))
    if mine != theirs:
        return Difference("<root>", sorted(mine), sorted(theirs), "different sets of functions")
    found = _type_definitions(a, b)
    if found:
        return found
    if a.attrs != b.attrs:
        return Difference("<root>.attrs", a.attrs, b.attrs, _attrs_difference(a.attrs, b.attrs))
    for name in sorted(mine):
        found = _Comparison(free, constants).run(
            a[name], b[name], f'<root>.functions[I.GlobalVar("{name}")]'
        )
        if found:
            return found
    return None


def _type_definitions(a: IRModule, b: IRModule) -> Difference | None:
    mine, theirs = ({v.name_hint: d for v, d in m.type_definitions.items()} for m in (a, b))
    if mine.keys() != theirs.keys():
        return Difference("<root>", sorted(mine), sorted(theirs), "different sets of types")
    for name in sorted(mine):
        if definition_key(mine[name]) != definition_key(theirs[name]):
            path = f'<root>.type_definitions["{name}"]'
            return Difference(path, mine[name], theirs[name], "different definitions")
    return None


def definition_key(data: TypeData) -> Any:
    """The content of a type definition, with type variables replaced by numbers."""
    numbered: dict[Type, Type] = {v: GlobalTypeVar(str(n)) for n, v in enumerate(data.type_vars)}
    constructors = (
        (c.name_hint, [replace(t, numbered) for t in c.inputs]) for c in data.constructors
    )
    return (len(data.type_vars), [(name, tuple(inputs)) for name, inputs in constructors])


class _Comparison:
    """Walks both graphs in parallel. A pair of nodes is assumed equal once the nodes' own fields
    agree; the rest of the walk compares the nodes below."""

    def __init__(self, map_free_vars: bool, constants: bool):
        self.map_free_vars = map_free_vars
        self.constants = constants
        self.to_right: dict[Expr, Expr] = {}
        self.to_left: dict[Expr, Expr] = {}
        self.type_vars: dict[Type, Type] = {}
        # Symbolic size on the right -> symbolic size on the left.
        self.lengths: dict[SizeName, Dim] = {}

    def run(self, lhs: Expr, rhs: Expr, root: str) -> Difference | None:
        stack: list[tuple[Expr, Expr, Any]] = [(lhs, rhs, None)]
        while stack:
            a, b, path = stack.pop()
            if self._paired(a, b):
                if self.to_right.get(a) is b:
                    continue
                return self._found(root, path, a, b, "shared on one side only")
            why = self._own_fields(a, b)
            if why:
                return self._found(root, path, a, b, why)
            if counts_sharing(a):
                self._pair(a, b)
            pairs = enumerate(zip(a.parts(), b.parts(), strict=True))
            stack += [(x, y, (path, a, n)) for n, (x, y) in reversed(list(pairs))]
        return None

    def _paired(self, a: Expr, b: Expr) -> bool:
        return a in self.to_right or b in self.to_left

    def _pair(self, a: Expr, b: Expr) -> None:
        self.to_right[a] = b
        self.to_left[b] = a

    def _found(self, root: str, path: Any, a: Expr, b: Expr, why: str) -> Difference:
        labels = []
        while path:
            path, parent, n = path
            labels.append(parent.part_names()[n])
        return Difference(root + "".join(reversed(labels)), a, b, why)

    def _own_fields(self, a: Expr, b: Expr) -> str:
        """The difference between the fields of two nodes; "" when they are equal."""
        if type(a) is not type(b):
            return f"{type(a).__name__} against {type(b).__name__}"
        if len(a.parts()) != len(b.parts()):
            return f"{len(a.parts())} operands against {len(b.parts())}"
        check = _OWN.get(type(a))
        return check(self, a, b) if check else ""

    def _var(self, a: Var, b: Var) -> str:
        # Bound variables were paired at their binder. A free variable keeps its identity when it
        # gets a type.
        if a.vid is b.vid or self.map_free_vars:
            return self._annotations(a, b)
        return "different free variables"

    def _bind(self, a: Var, b: Var) -> str:
        if self._paired(a, b):
            return "bound more than once"
        self._pair(a, b)
        return self._annotations(a, b)

    def _annotations(self, a: Var, b: Var) -> str:
        if a.device != b.device:
            return f"device {a.virtual_device_} against {b.virtual_device_}"
        return self.types_differ(a.type_annotation, b.type_annotation, binds=True)

    def _global(self, a: GlobalVar, b: GlobalVar) -> str:
        return "" if a.name_hint == b.name_hint else "different globals"

    def _op(self, a: Op, b: Op) -> str:
        return "" if a is b else "different operators"

    def _constant(self, a: Constant, b: Constant) -> str:
        x, y = a.numpy(), b.numpy()
        if x.shape != y.shape or x.dtype != y.dtype:
            return "constants of different types"
        if self.constants and not _same_bits(x, y):
            return "constants of different values"
        return ""

    def _call(self, a: Call, b: Call) -> str:
        why = self._attrs(a.attrs, b.attrs)
        if why:
            return why
        if isinstance(a.op, Op) or a.type_args == b.type_args:
            return ""
        if len(a.type_args) != len(b.type_args):
            return f"{len(a.type_args)} type arguments against {len(b.type_args)}"
        different = (self.types_differ(x, y) for x, y in zip(a.type_args, b.type_args, strict=True))
        return next((f"type argument: {why}" for why in different if why), "")

    def _projection(self, a: TupleGetItem, b: TupleGetItem) -> str:
        return "" if a.index == b.index else "different indices"

    def _let(self, a: Let, b: Let) -> str:
        return self._bind(a.var, b.var)

    def _constructor(self, a: Constructor, b: Constructor) -> str:
        return "" if a.identity == b.identity else "different constructors"

    def _match(self, a: Match, b: Match) -> str:
        if a.complete != b.complete:
            return "match against match?"
        if [c.lhs.shape() for c in a.clauses] != [c.lhs.shape() for c in b.clauses]:
            return "different patterns"
        for v, w in zip(a.binds(), b.binds(), strict=True):
            why = self._bind(v, w)
            if why:
                return f"pattern variable %{v.name_hint}: {why}"
        return ""

    def _function(self, a: Function, b: Function) -> str:
        if len(a.type_params) != len(b.type_params):
            return "different numbers of type parameters"
        self.type_vars.update(zip(a.type_params, b.type_params, strict=True))
        for p, q in zip(a.params, b.params, strict=True):
            why = self._bind(p, q)
            if why:
                return f"parameter %{p.name_hint}: {why}"
        return self._attrs(a.attrs, b.attrs) or self.types_differ(a.ret_type, b.ret_type)

    def _attrs(self, a: Attrs | None, b: Attrs | None) -> str:
        if a == b:
            return ""
        if a is not None and b is not None:  # attribute values and their keys may contain variables
            pairs: dict[Any, Any] = dict(self.to_right)
            pairs.update({v.vid: w.vid for v, w in pairs.items() if isinstance(v, Var)})
            a = Attrs(a.schema, {k: renamed(v, pairs) for k, v in a.items()})
        return "" if a == b else _attrs_difference(a, b)

    def types_differ(self, a: Type | None, b: Type | None, binds: bool = False) -> str:
        """The difference between two types; "" if they are equal. If a type `binds` symbolic sizes,
        those on the right may have other names."""
        if a is not None and b is not None and a.has_symbols and b.has_symbols:
            if binds:
                self._pair_lengths(a, b)
            a = with_dims(a, self._on_the_right)
        if a is not None and self.type_vars and not isinstance(a, TypeVar):
            a = replace(a, self.type_vars)
        elif a is not None:
            a = self.type_vars.get(a, a)
        same = a == b or (a is not None and b is not None and without_holes(a) == without_holes(b))
        return "" if same else f"type {a} against {b}"

    def _on_the_right(self, length: Symbolic) -> Dim:
        """A dimension of the left side, with the names of the right side."""
        taken = set(self.lengths.values())
        new = {n: _NOWHERE for n in length.names() if named(n) in taken}
        return length.replace({**new, **self.lengths})

    def _pair_lengths(self, a: Type, b: Type) -> None:
        """Pair the symbolic sizes of two types at their first occurrence."""
        if isinstance(a, TensorType) and isinstance(b, TensorType):
            for x, y in zip(a.shape, b.shape, strict=False):
                if isinstance(x, Symbolic) and isinstance(y, Symbolic):
                    self._pair_names(x, y)
        for p, q in zip(parts_of(a), parts_of(b), strict=False):
            self._pair_lengths(p, q)

    def _pair_names(self, x: Symbolic, y: Symbolic) -> None:
        """Map the new names in `x` to names in `y` so that both sizes become equal."""
        taken = set(self.lengths.values())
        mine = [name for name in x.names() if name not in self.lengths]
        theirs = [length for length in map(named, y.names()) if length not in taken]
        for chosen in permutations(theirs, len(mine)) if len(mine) <= MAX_NAMES else ():
            found = {**self.lengths, **dict(zip(mine, chosen, strict=True))}
            if x.replace(found) == y:
                self.lengths = found
                return


_OWN: dict[type, Any] = {
    Var: _Comparison._var,
    GlobalVar: _Comparison._global,
    Op: _Comparison._op,
    ForeignOp: _Comparison._op,
    Constant: _Comparison._constant,
    Call: _Comparison._call,
    TupleGetItem: _Comparison._projection,
    Let: _Comparison._let,
    Constructor: _Comparison._constructor,
    Match: _Comparison._match,
    Function: _Comparison._function,
}


_HOLES = {kind: IncompleteType(kind) for kind in TypeKind}


def without_holes(ty: Type) -> Type:
    """`ty` with all its holes replaced by the same hole, so that types with holes can be
    compared."""
    if not ty.has_holes:
        return ty
    if isinstance(ty, IncompleteType):
        return _HOLES[ty.kind]
    return with_parts(ty, [without_holes(p) for p in parts_of(ty)])


def counts_sharing(node: Expr) -> bool:
    if isinstance(node, (TupleGetItem, Constant, Op, GlobalVar, Constructor)):
        return False
    return not (isinstance(node, Tuple) and not node.fields)


def _same_bits(x: np.ndarray, y: np.ndarray) -> bool:
    return x is y or x.tobytes() == y.tobytes()


def renamed(value: Any, names: Mapping[Any, Any]) -> Any:
    """An attribute's value with variables replaced."""
    if isinstance(value, (Var, VarId)):
        return names.get(value, value)
    if isinstance(value, dict):
        return {renamed(k, names): renamed(v, names) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(renamed(v, names) for v in value)
    return value


def _attrs_difference(a: Attrs | None, b: Attrs | None) -> str:
    if a is None or b is None or a.type_key != b.type_key:
        kinds = ("no attributes" if x is None else x.type_key for x in (a, b))
        return "attributes: " + " against ".join(kinds)
    for key in {**a, **b}:
        one, other = (repr(x[key]) if key in x else "none" for x in (a, b))
        if key not in a or key not in b or not same_value(a[key], b[key]):
            return f"attribute {key!r}: {one} against {other}"
    return ""


def _excerpt(side: Any) -> str:
    lines = str(side).splitlines() or [""]
    return lines[-1].strip() if len(lines) < 4 else f"{lines[0].strip()} ... ({len(lines)} lines)"
