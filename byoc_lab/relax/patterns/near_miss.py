"""The nearest partial match of a Relax pattern, and its first mismatch.

The partial matcher of Relay (`relay.patterns.near_miss`) compares the Relay forms of pattern and
function that `reading` creates. TVM's matcher decides whether each part of the pattern matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from byoc_lab.printing import printable
from byoc_lab.relax.ir.calls import OperatorCall
from byoc_lab.relax.ir.types import is_tensor, type_and_sizes
from byoc_lab.relax.patterns.reading import RelaxFunction, RelaxPattern
from byoc_lab.relay.ir.expr import Call, Expr
from byoc_lab.relay.op.framework.from_relax import plain
from byoc_lab.relay.patterns.below import size_of
from byoc_lab.relay.patterns.near_miss import NearMatcher
from byoc_lab.relay.patterns.partial_match import Condition, Mismatch, PartialMatch
from byoc_lab.relay.patterns.patterns import (
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    ShapePattern,
    WildcardPattern,
)
from byoc_lab.run.relax_values import name_of, tensor_of
from byoc_lab.run.tvm_runtime import import_tvm


@dataclass(frozen=True)
class NearMiss:
    """The part of a pattern that fails at one call.

    call: the call that the pattern's root was compared with. fit: the partial match. value: the
    value of the module at the mismatch. found: `value` in words.
    """

    call: OperatorCall
    fit: PartialMatch
    value: Any
    found: str

    @property
    def stop(self) -> Mismatch:
        return self.fit.stops[0]

    @property
    def wanted(self) -> str:
        """The mismatched part of the pattern, in words."""
        expected = self.stop.expected
        called = isinstance(self.stop.pattern, CallPattern) and not self.stop.reused
        return f"a call of {expected}" if called and not expected.startswith("a call") else expected

    @property
    def unbound(self) -> bool:
        """Whether a constant is expected, and a parameter is found."""
        variable = isinstance(self.value, import_tvm().relax.Var)
        return variable and isinstance(self.stop.pattern, ConstantPattern)

    @printable
    def __str__(self) -> str:
        called = isinstance(self.stop.pattern, CallPattern)
        if called and not self.fit.matched and not self.stop.path:
            return f"the function has no {self.wanted.removeprefix('a ')}"
        at = f"operand {self.stop.path}" if self.stop.path else "the call"
        return f"at %{self.call.variable}, {at} must be {self.wanted}, found {self.found}"


class NearMisses:
    """The partial matches of a pattern at each call of a function."""

    def __init__(self, pattern: RelaxPattern, function: RelaxFunction):
        self.function = function
        self.matcher = _Matcher(pattern, function)

    @cached_property
    def fits(self) -> list[tuple[PartialMatch, OperatorCall]]:
        return [(self.matcher.fit(self.function.node(c.call)), c) for c in self.function.calls]

    @property
    def match(self) -> OperatorCall | None:
        """The first call at which the pattern matches."""
        return next((call for fit, call in self.fits if not fit.stops), None)

    def nearest(self) -> NearMiss | None:
        """The nearest partial match; None if the pattern matches, or if there are no calls."""
        if self.match is not None:
            return None
        return self._miss(max(self.fits, key=lambda found: found[0].rank, default=None))

    def nearest_to(self, call: OperatorCall) -> NearMiss | None:
        """The nearest partial match that contains `call` or stops at it; None if none does."""
        node = self.function.node(call.call)

        def reaches(fit: PartialMatch) -> bool:
            stops = fit.matched and any(stop.found is node for stop in fit.stops)
            return bool(stops) or node in fit.covered

        near = [found for found in self.fits if found[0].stops and reaches(found[0])]
        return self._miss(max(near, key=lambda found: found[0].rank, default=None))

    def _miss(self, found: tuple[PartialMatch, OperatorCall] | None) -> NearMiss | None:
        if found is None:
            return None
        fit, call = found
        return NearMiss(call, fit, *self.matcher.found(fit.stops[0]))


class _Matcher(NearMatcher):
    """Finds partial matches of a Relax pattern with the calls of a function."""

    def __init__(self, pattern: RelaxPattern, function: RelaxFunction):
        super().__init__(pattern.root, function.graph)
        self.patterns, self.function = pattern.sources, function

    def fit(self, root: Expr) -> PartialMatch:
        return self.part(self.pattern, root)

    def matches(self, pattern: DFPattern, expr: Expr) -> bool:
        source = self.function.sources[expr]
        return bool(self.patterns[pattern].match(source, self.function.values))

    def holds(self, pattern: Condition, expr: Expr) -> bool:
        return False  # `_walk` has already checked this part with its condition

    def operands(self, pattern: CallPattern, call: Call) -> Sequence[DFPattern] | None:
        """A pattern may have fewer operands than the call; they match the first operands."""
        args = pattern.args or ()
        more = len(call.args) - len(args)
        return None if more < 0 else [*args, *(WildcardPattern() for _ in range(more))]

    def _walk(self, pattern: DFPattern, expr: Expr, depth: int) -> PartialMatch:
        found = super()._walk(pattern, expr, depth)
        if self.matches(pattern, expr):
            size = size_of(pattern)
            return PartialMatch(size, size, (), found.covered | {expr}, values=found.values)
        if found.stops:
            return found
        # Each part matches, but the whole pattern does not.
        fewer = isinstance(pattern, CallPattern) and len(pattern.children()) < len(expr.parts())
        stop = Mismatch(pattern, expr) if fewer else self._shared(expr, found)
        return replace(found, stops=(stop,))

    def found(self, stop: Mismatch) -> tuple[Any, str]:
        """The value at a mismatch, and its description."""
        source = self.function.sources[stop.found]
        value = self.function.resolved(source)
        if stop.reused:
            return value, "different values"
        if isinstance(stop.pattern, AttrPattern):
            return value, _attributes(stop.pattern.attrs, getattr(value, "attrs", None))
        if isinstance(stop.pattern, Condition):
            return value, _typed(stop.pattern, value)
        return value, self.shown(value) + self._numbers(stop, value)

    def _numbers(self, stop: Mismatch, call: Any) -> str:
        """A hint for a pattern that omits numbers or shapes among the operands of a call."""
        left_out = call.args[stop.operands[0] :] if stop.operands is not None else ()
        if not any(map(self._is_number, left_out)):
            return ""
        return "; in Relax numbers and shapes are operands, too: write wildcard() for each"

    def _is_number(self, operand: Any) -> bool:
        """Whether an operand is a number, a shape or a tuple of numbers."""
        relax = self.function.tvm.relax
        if isinstance(operand, relax.Tuple):
            return all(map(self._is_number, operand.fields))
        return not isinstance(operand, relax.Var) and not is_tensor(operand)

    def shown(self, expr: Any) -> str:
        """The description of a value."""
        relax = self.function.tvm.relax
        value = self.function.resolved(expr)
        if isinstance(value, relax.Call):
            name = str(getattr(value.op, "name", "") or name_of(value.op))
            return f"a call of {name.removeprefix('relax.')}"
        if isinstance(value, relax.Var):
            return f"the parameter %{name_of(value)}"
        if isinstance(value, relax.Tuple):
            return f"a tuple of {len(value.fields)}"
        if isinstance(value, relax.TupleGetItem):
            return f"field {value.index} of {self.shown(value.tuple_value)}"
        if tensor_of(value) is not None:
            return "a constant"
        return f"{type(value).__name__} {value!s:.60}"


def _attributes(wanted: dict[str, Any], attrs: Any) -> str:
    """The attributes of a call that differ from those in a pattern."""
    there = {name: plain(getattr(attrs, name, None)) for name in wanted}
    off = [name for name in wanted if there[name] != wanted[name]] or list(wanted)
    return ", ".join(f"{name}={there[name]!r}" for name in off)


def _typed(condition: DFPattern, value: Any) -> str:
    """The property of a value (dtype, shape or type) that a pattern constrains."""
    ty, sizes = type_and_sizes(value)
    if isinstance(condition, DataTypePattern) and is_tensor(value):
        return f"one of dtype {ty.dtype}"
    if isinstance(condition, ShapePattern) and sizes is not None:
        return f"one of shape ({', '.join(map(str, plain(sizes)))})"
    return f"one of type {value.ty}"
