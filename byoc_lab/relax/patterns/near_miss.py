"""The nearest match of a Relax pattern, and the part of it that fails there.

TVM's matcher says whether a pattern matches an expression, and no more. Asked of each part of the
pattern in turn (`DFPattern.match`), it also says which part does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from byoc_lab.errors import counted
from byoc_lab.printing import printable
from byoc_lab.relax.ir.calls import OperatorCall, operator_calls
from byoc_lab.relax.ir.types import is_tensor, type_and_sizes
from byoc_lab.relay.op.framework.from_relax import plain
from byoc_lab.relay.patterns.matcher import COMMUTATIVE
from byoc_lab.run.relax_values import name_of
from byoc_lab.run.tvm_runtime import import_tvm

CONSTANT = "constant"  # the kind of a miss if a constant is expected
OPERATOR = "operator"  # if the call of another operator is found


@dataclass(frozen=True)
class Miss:
    """The part of a pattern that fails at one call.

    call, variable: where the pattern's root was tried. path: from the root to the part,
    ".args[0].args[1]". wanted, found: in words. kind: of the part: "operator", "constant",
    "attribute", "operands" or "other". value: of the module, what was found. fitting: how many
    operators of the pattern fit.
    """

    path: str
    wanted: str
    found: str
    kind: str
    value: Any
    fitting: int = 0
    call: Any = None
    variable: str = ""

    @printable
    def __str__(self) -> str:
        if not self.fitting and not self.path and self.kind == OPERATOR:
            return f"the function has no {self.wanted.removeprefix('a ')}"
        at = f"operand {self.path}" if self.path else "the call"
        return f"at %{self.variable}, {at} must be {self.wanted}, found {self.found}"


def nearest_miss(pattern: Any, function: Any) -> Miss | None:
    """The call of a Relax function that is nearest to matching a pattern; None if one matches
    it."""
    values = import_tvm().relax.analysis.get_var2val(function)
    found: Miss | None = None
    for each in operator_calls(function):
        miss = _Matcher(values).miss(pattern, each.call, "")
        if miss is None:
            return None
        if found is None or miss.fitting > found.fitting:
            found = replace(miss, call=each.call, variable=each.variable)
    return found


def matching_calls(pattern: Any, function: Any) -> Iterator[OperatorCall]:
    """The calls that a pattern matches."""
    values = import_tvm().relax.analysis.get_var2val(function)
    return (c for c in operator_calls(function) if pattern.match(c.call, values))


def operators_of(pattern: Any) -> list[str]:
    """The operators that a pattern names."""
    found: dict[str, None] = {}
    todo = [pattern]
    while todo:
        part = todo.pop()
        name = str(getattr(getattr(part, "expr", None), "name", ""))
        if type(part).__name__ == "ExprPattern" and name:
            found[name] = None
        todo += reversed(list(_parts(part)))
    return list(found)


def needed_operators(pattern: Any) -> set[str]:
    """The operators that every match of a pattern has, such as "nn.conv2d"."""
    kind = type(pattern).__name__
    if kind == "NotPattern":
        return set()
    if kind == "OrPattern":
        return needed_operators(pattern.left) & needed_operators(pattern.right)
    if kind == "ExprPattern":
        return {name.removeprefix("relax.") for name in operators_of(pattern)}
    return set().union(*map(needed_operators, _parts(pattern)))


class _Matcher:
    """Descends into a pattern and an expression side by side. values: of variables."""

    def __init__(self, values: Any):
        self.values = values
        self.relax = import_tvm().relax

    def miss(self, pattern: Any, expr: Any, path: str) -> Miss | None:
        """The part that fails, or None if the pattern matches."""
        if pattern.match(expr, self.values):
            return None
        descend = getattr(self, f"_{type(pattern).__name__}", None)
        inner = descend(pattern, self.value(expr), path) if descend is not None else None
        return inner or Miss(path, described(pattern), self.shown(expr), "other", expr)

    def value(self, expr: Any) -> Any:
        while isinstance(expr, self.relax.Var) and expr in self.values:
            expr = self.values[expr]
        return expr

    def shown(self, expr: Any) -> str:
        """An expression in words."""
        value = self.value(expr)
        if isinstance(value, self.relax.Call):
            name = str(getattr(value.op, "name", "") or name_of(value.op))
            return f"a call of {name.removeprefix('relax.')}"
        if isinstance(value, self.relax.Var):
            return f"the parameter %{name_of(value)}"
        if isinstance(value, self.relax.Tuple):
            return f"a tuple of {len(value.fields)}"
        if isinstance(value, self.relax.TupleGetItem):
            return f"field {value.index} of {self.shown(value.tuple_value)}"
        return {"GenericConst": "a constant", "Constant": "a constant"}.get(
            type(value).__name__, f"{type(value).__name__} {value!s:.60}"
        )

    def _CallPattern(self, pattern: Any, call: Any, path: str) -> Miss | None:
        wanted = operators_of(pattern.op)
        name = str(getattr(getattr(call, "op", None), "name", ""))
        if not isinstance(call, self.relax.Call) or (wanted and name not in wanted):
            return Miss(path, described(pattern), self.shown(call), OPERATOR, call)
        args = list(call.args)
        count = Miss(
            path, f"one of {counted(len(pattern.args), 'operand')}", f"one of {len(args)}",
            "operands", call, 1,
        )  # fmt: skip
        if len(pattern.args) > len(args):
            return count
        orders = (
            [args, args[::-1]]
            if name.removeprefix("relax.") in COMMUTATIVE and len(args) == 2
            else [args]
        )
        missed = max(
            (m for m in (self._operands(pattern, order, path) for order in orders) if m),
            key=lambda m: m.fitting,
            default=None,
        )
        if missed is not None:
            return missed
        return count if len(pattern.args) < len(args) else self._reused(pattern, call, path)

    def _operands(self, pattern: Any, args: list[Any], path: str) -> Miss | None:
        fitting = 1
        first: Miss | None = None
        for n, (part, arg) in enumerate(zip(pattern.args, args, strict=False)):
            miss = self.miss(part, arg, f"{path}.args[{n}]")
            if miss is None:
                fitting += _calls(part)
            else:
                first = first or miss
                fitting += miss.fitting
        return first and replace(first, fitting=fitting)

    def _reused(self, pattern: Any, expr: Any, path: str) -> Miss:
        """The miss of a pattern that does not match although each of its parts does."""
        wanted = "one with the same value in each place of a pattern object that is used again"
        return Miss(path, wanted, "different values", "other", expr, _calls(pattern))

    def _OrPattern(self, pattern: Any, expr: Any, path: str) -> Miss | None:
        sides = (self.miss(side, expr, path) for side in (pattern.left, pattern.right))
        found = sorted((m for m in sides if m), key=lambda m: -m.fitting)
        if len(found) < 2 or (found[0].path, found[0].fitting) != (found[1].path, found[1].fitting):
            return next(iter(found), None)
        first, second = found
        if second.wanted == first.wanted:
            return first
        also = second.wanted.removeprefix("a call of ") if first.kind == OPERATOR else second.wanted
        return replace(first, wanted=f"{first.wanted} or {also}")

    def _AndPattern(self, pattern: Any, expr: Any, path: str) -> Miss | None:
        sides = [(side, self.miss(side, expr, path)) for side in (pattern.left, pattern.right)]
        fitting = sum(m.fitting if m else _calls(side) for side, m in sides)
        return next((replace(m, fitting=fitting) for _, m in sides if m), None)

    def _AttrPattern(self, pattern: Any, expr: Any, path: str) -> Miss | None:
        inner = self.miss(pattern.pattern, expr, path)
        if inner is not None:
            return inner
        wanted, attrs = plain_attrs(pattern), getattr(expr, "attrs", None)
        there = {name: plain(getattr(attrs, name, None)) for name in wanted}
        off = [name for name in wanted if there[name] != wanted[name]] or list(wanted)
        words, found = (_named({name: of[name] for name in off}) for of in (wanted, there))
        fitting = _calls(pattern.pattern)
        return Miss(path, f"a call with {words}", found, "attribute", expr, fitting)

    def _wrapped(self, pattern: Any, expr: Any, path: str) -> Miss | None:
        inner = self.miss(pattern.pattern, expr, path)
        if inner is not None:
            return inner
        ty, sizes = type_and_sizes(expr)
        kind, found = type(pattern).__name__, f"one of type {ty}"
        if kind == "DataTypePattern" and is_tensor(expr):
            found = f"one of dtype {ty.dtype}"
        elif kind == "ShapePattern" and sizes is not None:
            found = f"one of shape [{', '.join(map(str, plain(sizes)))}]"
        return Miss(path, condition(pattern), found, "type", expr, _calls(pattern.pattern))

    _ShapePattern = _DataTypePattern = _TypePattern = _StructInfoPattern = _wrapped

    def _TuplePattern(self, pattern: Any, expr: Any, path: str) -> Miss | None:
        fields = list(getattr(expr, "fields", ()))
        if len(fields) != len(pattern.fields):
            return None
        pairs = enumerate(zip(pattern.fields, fields, strict=True))
        missed = (m for n, (p, f) in pairs if (m := self.miss(p, f, f"{path}[{n}]")))
        return next(missed, None) or self._reused(pattern, expr, path)

    def _TupleGetItemPattern(self, pattern: Any, expr: Any, path: str) -> Miss | None:
        if not isinstance(expr, self.relax.TupleGetItem):
            return None
        return self.miss(pattern.tuple, expr.tuple_value, f"{path}.tuple_value")

    def _ConstantPattern(self, pattern: Any, expr: Any, path: str) -> Miss | None:
        return Miss(path, "a constant", self.shown(expr), CONSTANT, expr)


def described(pattern: Any) -> str:
    """The values that a pattern accepts at its root, in words."""
    kind = type(pattern).__name__
    if kind == "CallPattern":
        return f"a call of {described(pattern.op)}"
    if kind == "ExprPattern":
        return str(getattr(pattern.expr, "name", pattern.expr)).removeprefix("relax.")
    if kind in ("OrPattern", "AndPattern"):
        word = "or" if kind == "OrPattern" else "and"
        return f" {word} ".join(map(described, (pattern.left, pattern.right)))
    if kind == "NotPattern":
        return f"anything but {described(pattern.reject)}"
    if kind == "AttrPattern":
        return f"{described(pattern.pattern)} with {_named(plain_attrs(pattern))}"
    if kind in ("ShapePattern", "DataTypePattern", "TypePattern"):
        return f"{described(pattern.pattern)} {condition(pattern)}"
    if kind in ("TuplePattern", "UnorderedTuplePattern"):
        return f"a tuple of {len(pattern.fields)}"
    if kind == "TupleGetItemPattern":
        field = "any field" if pattern.index < 0 else f"field {pattern.index}"
        return f"{field} of {described(pattern.tuple)}"
    if kind in ("VarPattern", "DataflowVarPattern"):
        return f"the variable %{pattern.name}" if pattern.name else "a variable"
    words = {"WildcardPattern": "anything", "ConstantPattern": "a constant"}
    return words.get(kind) or f"what {pattern!s:.60} matches"


def condition(pattern: Any) -> str:
    """What a pattern asks of the type of a value, in words."""
    kind = type(pattern).__name__
    if kind == "ShapePattern":
        return f"of shape {plain(pattern.shape)}"
    return f"of dtype {pattern.dtype}" if kind == "DataTypePattern" else f"of type {pattern.ty}"


def plain_attrs(pattern: Any) -> dict[str, Any]:
    """The attributes that a pattern asks for."""
    return {str(name): plain(value) for name, value in pattern.attrs.items()}


def _named(attrs: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in attrs.items())


def root_kinds(pattern: Any) -> set[str]:
    """The classes of the values that a pattern may match at its root."""
    kind = type(pattern).__name__
    if kind in ("OrPattern", "AndPattern"):
        return root_kinds(pattern.left) | root_kinds(pattern.right)
    inner = getattr(pattern, "pattern", None)
    return {kind} if inner is None else root_kinds(inner)


def _parts(pattern: Any) -> Iterator[Any]:
    """The sub-patterns of a pattern."""
    for name in ("op", "left", "right", "pattern", "reject", "tuple"):
        part = getattr(pattern, name, None)
        if part is not None and type(part).__name__.endswith("Pattern"):
            yield part
    for name in ("args", "fields"):
        yield from (
            p for p in getattr(pattern, name, None) or () if type(p).__name__.endswith("Pattern")
        )


def _calls(pattern: Any) -> int:
    """The number of calls in a pattern."""
    here = type(pattern).__name__ == "CallPattern"
    return here + sum(map(_calls, _parts(pattern)))
