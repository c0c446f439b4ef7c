"""The classes of the pattern language (`short_forms.py` has the functions that create them).

Source: `tvm.relay.dataflow_pattern` of TVM 0.16 (names, sugar and meaning).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from byoc_lab.errors import ArgumentError, kind_of
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.attrs import same_value
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Op,
    Tuple,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.ir.node_code import NODE_CODE
from byoc_lab.relay.ir.types import TensorType, Type


class Matching(Protocol):
    """The interface through which patterns match their parts; `Matcher` implements it."""

    def match(self, pattern: DFPattern, expr: Expr) -> bool: ...

    def match_all(self, patterns: Sequence[DFPattern], exprs: Sequence[Expr]) -> bool: ...

    def match_call(self, pattern: CallPattern, call: Call) -> bool: ...

    def match_dominated(self, pattern: DominatorPattern, expr: Expr) -> bool: ...

    def type_of(self, expr: Expr) -> Type | None: ...


class DFPattern(ABC):
    """Base of all patterns. Patterns compare by identity: a pattern used twice matches one value.

    A subclass defines its sub-patterns (`children`, in matching order) and whether it matches an
    expression (`fits`, which calls the matcher for its children).
    """

    def children(self) -> Sequence[DFPattern]:
        return ()

    @abstractmethod
    def fits(self, matcher: Matching, expr: Expr) -> bool: ...

    def same_root(self) -> Sequence[DFPattern]:
        """Sub-patterns that apply to the same expression as this pattern; one of them must
        match."""
        return ()

    def root_ops(self) -> frozenset[str] | None:
        """The operators that a matching call can call; None if this class does not restrict
        them."""
        return None

    def __repr__(self) -> str:
        return NODE_CODE().pattern_text(self)

    def __call__(self, *args: Any) -> CallPattern:
        return CallPattern(self, None if args == (None,) else args)

    def __or__(self, other: DFPattern) -> AltPattern:
        return AltPattern(self, other)

    def __add__(self, other: DFPattern) -> CallPattern:
        return _operator("add", self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return _operator("subtract", self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return _operator("multiply", self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return _operator("divide", self, other)

    def has_attr(self, attrs: Mapping[str, Any]) -> AttrPattern:
        """This pattern, restricted to operators, calls or functions with these attributes."""
        return AttrPattern(self, attrs)

    def has_type(self, ttype: Type) -> TypePattern:
        return TypePattern(self, ttype)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[Any]) -> ShapePattern:
        return ShapePattern(self, shape)

    def optional(self, option: Callable[[DFPattern], DFPattern]) -> AltPattern:
        """This pattern, optionally followed by `option`."""
        return self | option(self)

    def dominates(self, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern:
        """This pattern, with all operands from one `parent` through nodes that match `path`."""
        return DominatorPattern(parent, WildcardPattern() if path is None else path, self)

    def match(self, expr: Expr) -> bool:
        """Whether `expr` as a whole matches this pattern. Raises PassError if nested too deeply."""
        return NODE_CODE().matches(self, expr)

    def partition(
        self,
        expr: Expr,
        attrs: Mapping[str, Any] | None = None,
        check: Callable[[Expr], bool] = lambda expr: True,
    ) -> Expr:
        """`expr` with every match that `check` accepts moved into a separate function."""
        return NODE_CODE().partition(self, expr, attrs, check)


def _operator(name: str, lhs: DFPattern, rhs: DFPattern) -> CallPattern:
    return ExprPattern(Op.get(name))(lhs, rhs)


class ExprPattern(DFPattern):
    """Exactly this expression (an operator: that operator; a constant: that value)."""

    def __init__(self, expr: Expr):
        self.expr = expr

    def fits(self, matcher: Matching, expr: Expr) -> bool:
        return expr is self.expr or (
            type(expr) is type(self.expr)
            and not isinstance(expr, Op)
            and structural_equal(self.expr, expr)
        )

    def root_ops(self) -> frozenset[str] | None:
        call = self.expr
        if isinstance(call, Call) and isinstance(call.op, Op):
            return frozenset({call.op.name})
        return None


class VarPattern(DFPattern):
    """A variable; of that name, when a name is given."""

    def __init__(self, name_hint: str = ""):
        self.name = name_hint

    def fits(self, matcher: Matching, expr: Expr) -> bool:
        return isinstance(expr, Var) and self.name in ("", expr.name_hint)


class ConstantPattern(DFPattern):
    """Any constant."""

    def fits(self, matcher: Matching, expr: Expr) -> bool:
        return isinstance(expr, Constant)


class WildcardPattern(DFPattern):
    """Matches anything; after `redirect_to(p)`, the matches of `p` (so that patterns can be
    recursive)."""

    def __init__(self) -> None:
        self.pattern: DFPattern | None = None

    def redirect_to(self, pat: DFPattern) -> None:
        self.pattern = pat

    def children(self) -> Sequence[DFPattern]:
        return (self.pattern,) if self.pattern else ()

    same_root = children

    def fits(self, matcher: Matching, expr: Expr) -> bool:
        return self.pattern is None or matcher.match(self.pattern, expr)


class CallPattern(DFPattern):
    """A call; `args=None` accepts any arguments."""

    def __init__(self, op: DFPattern, args: Sequence[DFPattern] | None = None):
        for arg in args or ():
            if not isinstance(arg, DFPattern):
                raise ArgumentError(
                    f"{op} expects patterns as arguments, such as wildcard() or is_constant(), "
                    f"found {kind_of(arg)} {arg!r:.80}"
                )
        self.op = op
        self.args = None if args is None else tuple(args)

    def children(self) -> Sequence[DFPattern]:
        return (self.op, *(self.args or ()))

    def fits(self, matcher: Matching, expr: Expr) -> bool:
        return isinstance(expr, Call) and matcher.match_call(self, expr)

    def op_name(self) -> str | None:
        """The operator that this pattern names, or None."""
        inner = self.op
        while isinstance(inner, AttrPattern):
            inner = inner.pattern
        named = inner.expr if isinstance(inner, ExprPattern) else None
        return named.name if isinstance(named, Op) else None

    def root_ops(self) -> frozenset[str] | None:
        name = self.op_name()
        if name is None:
            return None
        # Products and quotients are re-associated: each can match the other.
        return frozenset({"multiply", "divide"} if name in ("multiply", "divide") else {name})


class FunctionPattern(DFPattern):
    """A function literal; `params=None` accepts any parameters."""

    def __init__(self, params: Sequence[DFPattern] | None, body: DFPattern):
        self.params = None if params is None else tuple(params)
        self.body = body

    def children(self) -> Sequence[DFPattern]:
        return (*(self.params or ()), self.body)

    def fits(self, matcher: Matching, expr: Expr) -> bool:
        if not isinstance(expr, Function):
            return False
        if self.params is not None and not matcher.match_all(self.params, expr.params):
            return False
        return matcher.match(self.body, expr.body)


class TuplePattern(DFPattern):
    """A tuple; `fields=None` accepts any fields."""

    def __init__(self, fields: Sequence[DFPattern] | None):
        self.fields = None if fields is None else tuple(fields)

    def children(self) -> Sequence[DFPattern]:
        return self.fields or ()

    def __getitem__(self, index: int) -> TupleGetItemPattern:
        return TupleGetItemPattern(self, index)

    def __len__(self) -> int:
        return len(self.fields or ())

    def fits(self, matcher: Matching, expr: Expr) -> bool:
        return isinstance(expr, Tuple) and (
            self.fields is None or matcher.match_all(self.fields, expr.fields)
        )


class TupleGetItemPattern(DFPattern):
    """A projection; an index of None accepts any index."""

    def __init__(self, tuple_value: DFPattern, index: int | None = None):
        self.tuple = tuple_value
        self.index = None if index == -1 else index

    def children(self) -> Sequence[DFPattern]:
        return (self.tuple,)

    def fits(self, matcher: Matching, expr: Expr) -> bool:
        return (
            isinstance(expr, TupleGetItem)
            and self.index in (None, expr.index)
            and matcher.match(self.tuple, expr.tuple_value)
        )


class IfPattern(DFPattern):
    """An if."""

    def __init__(self, cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern):
        self.cond, self.true_branch, self.false_branch = cond, true_branch, false_branch
        self.parts = (cond, true_branch, false_branch)

    def children(self) -> Sequence[DFPattern]:
        return self.parts

    def fits(self, matcher: Matching, expr: Expr) -> bool:
        return isinstance(expr, If) and matcher.match_all(self.parts, expr.parts())


class LetPattern(DFPattern):
    """A let."""

    def __init__(self, var: DFPattern, value: DFPattern, body: DFPattern):
        self.var, self.value, self.body = var, value, body
        self.parts = (var, value, body)

    def children(self) -> Sequence[DFPattern]:
        return self.parts

    def fits(self, matcher: Matching, expr: Expr) -> bool:
        return isinstance(expr, Let) and matcher.match_all(
            self.parts, (expr.var, expr.value, expr.body)
        )


class AltPattern(DFPattern):
    """The left pattern, else the right one."""

    def __init__(self, left: DFPattern, right: DFPattern):
        self.left, self.right = left, right

    def children(self) -> Sequence[DFPattern]:
        return (self.left, self.right)

    same_root = children

    def fits(self, matcher: Matching, expr: Expr) -> bool:
        return matcher.match(self.left, expr) or matcher.match(self.right, expr)


class DominatorPattern(DFPattern):
    """Matches `child` if every path back from its operands ends at one node that matches `parent`,
    and all nodes in between match `path` and have no users outside these paths."""

    def __init__(self, parent: DFPattern, path: DFPattern, child: DFPattern):
        self.parent, self.path, self.child = parent, path, child

    def children(self) -> Sequence[DFPattern]:
        return (self.parent, self.path, self.child)

    def same_root(self) -> Sequence[DFPattern]:
        return (self.child,)

    def fits(self, matcher: Matching, expr: Expr) -> bool:
        return matcher.match_dominated(self, expr)


class _Refined(DFPattern):
    """A pattern with an additional condition."""

    def __init__(self, pattern: DFPattern):
        self.pattern = pattern

    def children(self) -> Sequence[DFPattern]:
        return (self.pattern,)

    same_root = children

    def fits(self, matcher: Matching, expr: Expr) -> bool:
        return matcher.match(self.pattern, expr) and self.holds(matcher, expr)

    @abstractmethod
    def holds(self, matcher: Matching, expr: Expr) -> bool: ...


class AttrPattern(_Refined):
    """A pattern whose operator, call or function has certain attributes."""

    def __init__(self, pattern: DFPattern, attrs: Mapping[str, Any]):
        super().__init__(pattern)
        self.attrs = dict(attrs)

    def holds(self, matcher: Matching, expr: Expr) -> bool:
        if isinstance(expr, Op):
            wanted = self.attrs.items()
            return all(expr.has_attr(k) and _same(expr.get_attr(k), v) for k, v in wanted)
        if not isinstance(expr, (Call, Function)):
            return False
        have = expr.attrs
        if have is None:
            return not self.attrs
        return all(k in have and _same(have[k], v) for k, v in self.attrs.items())


def _same(found: Any, wanted: Any) -> bool:
    if isinstance(found, bool) and isinstance(wanted, (bool, int)):
        # As in TVM, the type of the field determines the comparison.
        return bool(found) == bool(wanted)
    return same_value(found, wanted)


class TypePattern(_Refined):
    """A pattern whose value has a certain type; types of untyped candidates are inferred if
    needed."""

    def __init__(self, pattern: DFPattern, ttype: Type):
        super().__init__(pattern)
        self.type = ttype

    def holds(self, matcher: Matching, expr: Expr) -> bool:
        return matcher.type_of(expr) == self.type


class DataTypePattern(_Refined):
    """A pattern whose value is a tensor of a certain dtype."""

    def __init__(self, pattern: DFPattern, dtype: str):
        super().__init__(pattern)
        self.dtype = str(dtype)

    def holds(self, matcher: Matching, expr: Expr) -> bool:
        ty = matcher.type_of(expr)
        return isinstance(ty, TensorType) and ty.dtype == self.dtype


class ShapePattern(_Refined):
    """A pattern whose value is a tensor of a certain shape."""

    def __init__(self, pattern: DFPattern, shape: Sequence[Any]):
        super().__init__(pattern)
        self.shape = tuple(shape)

    def holds(self, matcher: Matching, expr: Expr) -> bool:
        ty = matcher.type_of(expr)
        return isinstance(ty, TensorType) and ty.shape == self.shape
