"""Operators computed more than once: by a region, and again by the host or another region."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from byoc_lab.relay.analysis.annotations import is_annotation
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
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


@dataclass(frozen=True, eq=False)
class Recomputed:
    """A value that is computed in several places, one of them a region or composite.

    calls: one call for each place, in the order of computation. places: their names, such as
    "@main", "@region", "dnnl.conv2d" or "dnnl.conv2d in @region". function: the name of the host's
    function whose every call computes the value again.
    """

    calls: tuple[Call, ...]
    places: tuple[str, ...]
    function: str


def recomputed(mod: IRModule) -> list[Recomputed]:
    """The calls of an annotated or partitioned module that compute one value in several places.

    A match whose last call dominates the other calls copies operators that are also used outside
    the match. Duplicates of the network itself do not count: equal calls in one place, and regions
    or composites with equal results. Calls on constants do not count either, because folding
    removes them.
    """
    values = _Values.of(mod, {})
    found = []
    for number, at in values.computed.items():
        by_result = {values.results.get(place): calls[0] for place, calls in at.items()}
        if len(by_result) > 1:  # the host counts once, so one of two places is a region
            calls, places = zip(*by_result.values(), strict=True)
            found.append(Recomputed(calls, places, values.functions[number]))
    return found


@dataclass(frozen=True, eq=False)
class Doubled:
    """A value that a partitioned module computes more often than the module before partitioning.

    calls: all calls that compute it. more: the number of additional calls.
    """

    calls: tuple[Call, ...]
    more: int


def doubled(mod: IRModule, before: IRModule) -> Iterator[Doubled]:
    """The values that an annotated or partitioned module computes more often than `before`, the
    module before partitioning.

    A value that `before` lacks, because a pass rewrote operators, counts as in `recomputed`.
    """
    numbers: dict[tuple[Any, ...], int] = {}
    given, values = _Values.of(before, numbers), _Values.of(mod, numbers)
    for number, at in values.computed.items():
        calls = tuple(call for there in at.values() for call, _ in there)
        count = sum(map(len, given.computed.get(number, {}).values()))
        more = len(calls) - count if count else len({values.results.get(p) for p in at}) - 1
        if more > 0:
            yield Doubled(calls, more)


def operators_again(mod: IRModule) -> int:
    """The number of operators that are computed more often than needed, according to
    `recomputed`."""
    return sum(len(r.calls) - 1 for r in recomputed(mod))


def call_sites(mod: IRModule) -> Counter[str]:
    """The number of calls of each global function in a module, by name."""
    return Counter(
        node.op.name_hint
        for func in mod.functions.values()
        for node in post_order(func)
        if isinstance(node, Call) and isinstance(node.op, GlobalVar)
    )


def in_each_call(function: str, sites: int) -> str:
    """The end of a statement about work in a function: that each call of it does that work; empty
    for a function with one call or none."""
    return f", in each call of @{function}, which is called at {sites} places" * (sites > 1)


DEPTH = 8  # maximum nesting of followed calls of regions and composites
Place = Call | None  # the call of a region or composite; None for functions of the host


class _Values:
    """Numbers the values of a module: calls with equal operator, attributes and operands are one
    value, also across the boundaries of regions.

    computed: for each value and place, the calls that compute it, each with the name of the place.
    functions: for each of these values, the name of the host's function that computes it, itself or
    in a region.
    numbers: the numbers of the values; two modules may share this dict.
    """

    def __init__(self, mod: IRModule, numbers: dict[tuple[Any, ...], int]):
        self.mod = mod
        self.computed: dict[int, dict[Place, list[tuple[Call, str]]]] = {}
        self.functions: dict[int, str] = {}
        self.results: dict[Place, tuple[int, Any]] = {}  # with its nesting depth
        self._function = ""
        self._constants: set[Any] = set()
        self._numbers = numbers
        self._others: dict[Expr, int] = {}
        self._kinds: Counter[str] = Counter()
        self._fields: dict[int, Sequence[Any]] = {}
        self._open: list[Function] = []  # the regions and composites being visited

    @classmethod
    def of(cls, mod: IRModule, numbers: dict[tuple[Any, ...], int]) -> _Values:
        """Compute the values of the host's functions, and of the regions that they call."""
        values = cls(mod, numbers)
        for gv, func in mod.functions.items():
            if isinstance(func, Function) and "Compiler" not in func.attrs:
                values._function = gv.name_hint
                name = f"@{gv.name_hint}"
                args = [values._number(name, n) for n in range(len(func.params))]
                values.of_function(func, args, name)
        return values

    def of_function(
        self, func: Function, args: Sequence[Any], name: str, place: Place = None
    ) -> Any:
        """The value of a function's result for given values of its parameters."""
        known: dict[Expr, Any] = dict(zip(func.params, args, strict=True))
        todo: list[Expr] = [func.body]
        while todo:
            node = todo[-1]
            if node in known:
                todo.pop()
                continue
            if isinstance(node, Let) and node.value in known:
                known.setdefault(node.var, known[node.value])
            needed = [p for p in _needs(node) if p not in known]
            if isinstance(node, Let) and node.value in needed:
                needed = [node.value]  # the body is visited after the let variable has a value
            if needed:
                todo += reversed(needed)
            else:
                known[node] = self._value(node, known, name, place)
        return known[func.body]

    def _value(self, node: Expr, known: dict[Expr, Any], name: str, place: Place) -> Any:
        if isinstance(node, Constant):
            number = self._number(*_constant(node))
            self._constants.add(number)
            return number
        if isinstance(node, Let):
            return known[node.body]
        if isinstance(node, Tuple):
            fields = [known[f] for f in node.fields]
            number = self._number("tuple", *fields)
            self._fields[number] = fields
            return number
        if isinstance(node, TupleGetItem):
            of = known[node.tuple_value]
            parts = self._fields.get(of, ())
            if 0 <= node.index < len(parts):
                return parts[node.index]
            return self._number("field", of, node.index)
        if isinstance(node, Call):
            return self._call(node, [known[a] for a in node.args], name, place)
        return self._other(node)

    def _call(self, call: Call, args: list[Any], name: str, place: Place) -> Any:
        if is_annotation(call) and args:
            return args[0]
        inner = self.mod.functions.get(call.op) if isinstance(call.op, GlobalVar) else call.op
        if isinstance(inner, Function) and self._can_enter(inner, args):
            if "Compiler" in inner.attrs:
                symbol = call.op.name_hint if isinstance(call.op, GlobalVar) else "a region"
                return self._region(inner, args, f"@{symbol}", call)
            if "Composite" in inner.attrs:
                composite = str(inner.attrs["Composite"])
                where = composite if place is None else f"{composite} in {name}"
                return self._region(inner, args, where, call)
        if not isinstance(call.op, Op) or call.op.get_attr("TOpIsStateful"):
            return self._other(call)
        number = self._number(call.op, call.attrs, *args)
        if args and self._constants.issuperset(args):
            self._constants.add(number)
        else:
            self.computed.setdefault(number, {}).setdefault(place, []).append((call, name))
            self.functions.setdefault(number, self._function)
        return number

    def _other(self, node: Expr) -> int:
        """The number of a node of another kind; each such node is a separate value."""
        if node not in self._others:
            kind = type(node).__name__
            self._kinds[kind] += 1
            self._others[node] = self._number(kind, self._kinds[kind])
        return self._others[node]

    def _can_enter(self, func: Function, args: Sequence[Any]) -> bool:
        """Whether a call can be followed: in a malformed module it may lack arguments or be
        recursive."""
        return len(func.params) == len(args) and func not in self._open and len(self._open) < DEPTH

    def _region(self, func: Function, args: Sequence[Any], name: str, call: Call) -> Any:
        self._open.append(func)
        value = self.of_function(func, args, name, call)
        self._open.pop()
        self.results[call] = len(self._open), value
        return value

    def _number(self, *parts: Any) -> int:
        """The number of a value, by the operator and the values that it is computed from."""
        return self._numbers.setdefault(parts, len(self._numbers))


def _needs(node: Expr) -> Sequence[Expr]:
    if isinstance(node, Call):
        return node.args
    if isinstance(node, Let):
        return (node.value, node.body)
    return node.parts() if isinstance(node, (Tuple, TupleGetItem)) else ()


def _constant(node: Constant) -> tuple[Any, ...]:
    if node.data.shape:
        return ("constant", id(node.data))
    return ("constant", node.data.dtype, node.numpy().tobytes())
