"""Converts Relax patterns and functions to Relay, so that one partial matcher serves both
languages.

TVM's own matcher decides whether a pattern matches a value (`near_miss`). The conversion keeps the
structure of both and a mapping to TVM's objects. It omits data of constants, attributes and types,
which TVM compares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any

from byoc_lab.relax.ir.calls import OperatorCall, operator_calls
from byoc_lab.relay.ir.expr import Call, Expr, Tuple, TupleGetItem, Var
from byoc_lab.relay.ir.foreign import foreign_op
from byoc_lab.relay.op.framework.from_relax import plain
from byoc_lab.relay.patterns.foreign import AndPattern, ForeignPattern, NotPattern
from byoc_lab.relay.patterns.indexed_graph import IndexedGraph
from byoc_lab.relay.patterns.patterns import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    ExprPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    VarPattern,
    WildcardPattern,
)
from byoc_lab.run.relax_values import name_of
from byoc_lab.run.tvm_runtime import import_tvm


class RelaxPattern:
    """A pattern of `tvm.relax.dpl`.

    root: the pattern converted to Relay; an object that occurs twice is also one object in Relay.
    sources: the Relax pattern for each Relay pattern.
    """

    def __init__(self, pattern: Any):
        self.source = pattern
        self.sources: dict[DFPattern, Any] = {}
        self._made: dict[Any, DFPattern] = {}
        self.root = self.part(pattern)

    def part(self, pattern: Any) -> DFPattern:
        if pattern not in self._made:
            read = _readers().get(type(pattern), _other)
            made = self._made[pattern] = read(self.part, pattern)
            self.sources[made] = pattern
        return self._made[pattern]


Part = Callable[[Any], DFPattern]
_Reader = Callable[[Part, Any], DFPattern]


@cache
def _readers() -> Mapping[type, _Reader]:
    """{class of patterns: function that converts it}"""
    dpl = import_tvm().relax.dpl
    return {
        dpl.AndPattern: lambda part, p: AndPattern(part(p.left), part(p.right)),
        dpl.AttrPattern: lambda part, p: AttrPattern(part(p.pattern), wanted_attributes(p)),
        dpl.CallPattern: lambda part, p: CallPattern(part(p.op), list(map(part, p.args))),
        dpl.ConstantPattern: lambda part, p: ConstantPattern(),
        dpl.DataTypePattern: lambda part, p: DataTypePattern(part(p.pattern), p.dtype),
        dpl.DataflowVarPattern: lambda part, p: VarPattern(str(p.name)),
        dpl.ExprPattern: _expr,
        dpl.NotPattern: lambda part, p: NotPattern(part(p.reject)),
        dpl.OrPattern: lambda part, p: AltPattern(part(p.left), part(p.right)),
        dpl.ShapePattern: lambda part, p: ShapePattern(part(p.pattern), plain(p.shape)),
        dpl.TupleGetItemPattern: lambda part, p: TupleGetItemPattern(part(p.tuple), int(p.index)),
        dpl.TuplePattern: lambda part, p: TuplePattern(list(map(part, p.fields))),
        dpl.VarPattern: lambda part, p: VarPattern(str(p.name)),
        dpl.WildcardPattern: lambda part, p: WildcardPattern(),
    }


def _expr(part: Part, pattern: Any) -> DFPattern:
    if isinstance(pattern.expr, import_tvm().ir.Op):
        return ExprPattern(foreign_op(str(pattern.expr.name)))
    return _other(part, pattern)


def _other(part: Part, pattern: Any) -> DFPattern:
    """Converts a pattern without a similar pattern in Relay."""
    dpl = import_tvm().relax.dpl
    if isinstance(pattern, dpl.UnorderedTuplePattern):
        fields = list(map(part, pattern.fields))
        return ForeignPattern(f"a tuple of {len(fields)} in any order", fields)
    if isinstance(pattern, dpl.PrimArrPattern):
        return ForeignPattern(f"the shape ({', '.join(map(str, pattern.fields))})", [])
    return ForeignPattern(f"what {pattern!s:.60} matches", [])


def wanted_attributes(pattern: Any) -> dict[str, Any]:
    """The attributes that a Relax pattern requires."""
    return {str(name): plain(value) for name, value in pattern.attrs.items()}


class RelaxFunction:
    """The part of a Relax function that matching needs.

    calls: its operator calls. values: the values of its variables. sources: for each node the Relax
    variable bound to its value, or else the value.
    """

    def __init__(self, function: Any):
        self.tvm = import_tvm()
        self.function = function
        self.calls: list[OperatorCall] = list(operator_calls(function))
        self.values = self.tvm.relax.analysis.get_var2val(function)
        self.sources: dict[Expr, Any] = {}
        self._nodes: dict[Any, Expr] = {}

    @cached_property
    def graph(self) -> IndexedGraph:
        """The nodes of all operator calls."""
        # Operands first, to avoid deep recursion in a long chain.
        self.tvm.relax.analysis.post_order_visit(self.function, self.node)
        return IndexedGraph(Tuple([self.node(call.call) for call in self.calls]))

    def node(self, value: Any) -> Expr:
        """The node of a value."""
        if value not in self._nodes:
            node = self._nodes[value] = self._read(value)
            if node not in self.sources or isinstance(value, self.tvm.relax.Var):
                self.sources[node] = value
        return self._nodes[value]

    def _read(self, value: Any) -> Expr:
        tvm, relax = self.tvm, self.tvm.relax
        if isinstance(value, relax.Var):
            return self.node(self.values[value]) if value in self.values else Var(name_of(value))
        if isinstance(value, relax.Call):
            return Call(self.node(value.op), list(map(self.node, value.args)))
        if isinstance(value, relax.Tuple):
            return Tuple(list(map(self.node, value.fields)))
        if isinstance(value, relax.TupleGetItem):
            return TupleGetItem(self.node(value.tuple_value), int(value.index))
        if isinstance(value, tvm.ir.Op):
            return foreign_op(str(value.name))
        return Var(type(value).__name__)  # no parts to convert

    def resolved(self, value: Any) -> Any:
        """The value bound to a variable; other values are unchanged."""
        while isinstance(value, self.tvm.relax.Var) and value in self.values:
            value = self.values[value]
        return value
