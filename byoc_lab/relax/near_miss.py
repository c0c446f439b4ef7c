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
from byoc_lab.relax.calls import OperatorCall, operator_calls
from byoc_lab.relax.types import name_of, type_of
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.patterns.matcher import COMMUTATIVE
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
        return {"GenericConst": "a constant", "Constant": "a constant"}.get(
            type(value).__name__, f"{type(value).__name__} {value!s:.60}"
        )

    def _CallPattern(self, pattern: Any, call: Any, path: str) -> Miss | None:
        wanted = operators_of(pattern.op)
        name = str(getattr(getattr(call, "op", None), "name", ""))
        if not isinstance(call, self.relax.Call) or (wanted and name not in wanted):
            what = described(pattern.op)
            return Miss(path, f"a call of {what}", self.shown(call), OPERATOR, call)
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
        return count if missed is None and len(pattern.args) < len(args) else missed

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

    def _OrPattern(self, pattern: Any, expr: Any, path: str) -> Miss | None:
        sides = (self.miss(side, expr, path) for side in (pattern.left, pattern.right))
        return max((m for m in sides if m), key=lambda m: m.fitting, default=None)

    def _AndPattern(self, pattern: Any, expr: Any, path: str) -> Miss | None:
        sides = [(side, self.miss(side, expr, path)) for side in (pattern.left, pattern.right)]
        fitting = sum(m.fitting if m else _calls(side) for side, m in sides)
        return next((replace(m, fitting=fitting) for _, m in sides if m), None)

    def _AttrPattern(self, pattern: Any, expr: Any, path: str) -> Miss | None:
        inner = self.miss(pattern.pattern, expr, path)
        if inner is not None:
            return inner
        wanted = {str(k): v for k, v in pattern.attrs.items()}
        attrs = getattr(expr, "attrs", None)
        off = {k: v for k, v in wanted.items() if str(getattr(attrs, k, None)) != str(v)}
        words = ", ".join(f"{k}={v}" for k, v in (off or wanted).items())
        found = ", ".join(f"{k}={getattr(attrs, k, None)}" for k in off or wanted)
        fitting = _calls(pattern.pattern)
        return Miss(path, f"a call with {words}", found, "attribute", expr, fitting)

    def _wrapped(self, pattern: Any, expr: Any, path: str) -> Miss | None:
        inner = self.miss(pattern.pattern, expr, path)
        if inner is not None:
            return inner
        fitting, type_ = _calls(pattern.pattern), type_of(expr)
        if not isinstance(type_, TensorType):
            return Miss(path, described(pattern), f"{type_}", "type", expr, fitting)
        found = {
            "DataTypePattern": f"one of dtype {type_.dtype}",
            "ShapePattern": f"one of shape {list(type_.shape)}",
        }.get(type(pattern).__name__, f"one of type {type_}")
        return Miss(path, described(pattern), found, "type", expr, fitting)

    _ShapePattern = _DataTypePattern = _TypePattern = _StructInfoPattern = _wrapped

    def _TuplePattern(self, pattern: Any, expr: Any, path: str) -> Miss | None:
        fields = list(getattr(expr, "fields", ()))
        if len(fields) != len(pattern.fields):
            return None
        pairs = enumerate(zip(pattern.fields, fields, strict=True))
        return next((m for n, (p, f) in pairs if (m := self.miss(p, f, f"{path}[{n}]"))), None)

    def _TupleGetItemPattern(self, pattern: Any, expr: Any, path: str) -> Miss | None:
        if not isinstance(expr, self.relax.TupleGetItem):
            return None
        return self.miss(pattern.tuple, expr.tuple_value, f"{path}.tuple_value")

    def _ConstantPattern(self, pattern: Any, expr: Any, path: str) -> Miss | None:
        return Miss(path, "a constant", self.shown(expr), CONSTANT, expr)


def described(pattern: Any) -> str:
    """A pattern in words: its operators, or its kind."""
    names = [name.removeprefix("relax.") for name in operators_of(pattern)]
    kind = type(pattern).__name__
    if kind == "ShapePattern":
        return f"of shape {list(pattern.shape)}"
    if kind == "DataTypePattern":
        return f"of dtype {pattern.dtype}"
    return " of ".join(names) or f"what {pattern!s:.60} matches"


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
