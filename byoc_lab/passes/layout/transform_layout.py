"""Common parts of AlterOpLayout and ConvertLayout: change layouts of operators and their users.

A value may be computed in a new layout. The layout rule of each user (`relay/op/layout_rules.py`)
determines whether the user accepts the new layout. If so, the new layout propagates through the
user; otherwise a `layout_transform` restores the original layout before it. In the end, transforms
are needed only around the operators for which a new layout was requested.

Source: src/relay/transforms/transform_layout.h and forward_rewrite.cc of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import is_

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.passes.framework.hook import keeps_in, report
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op, Tuple, TupleGetItem
from byoc_lab.relay.ir.layout import Layout
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.op.framework.layout_rules import InferCorrectLayoutOutput, Layouts
from byoc_lab.relay.op.tensor.relayout import pads_blocks

Choice = Callable[[Call, Sequence[Expr]], "Call | None"]
"""(call, its rewritten arguments) -> the call in the desired layout, or None."""


@dataclass(frozen=True, eq=False)
class _Moved:
    """`value` has layout `new`; it replaces a node of layout `old`."""

    value: Expr
    old: Layout | None
    new: Layout | None


@dataclass(frozen=True, eq=False)
class _Fields:
    """A tuple with some fields in new layouts; `plain` is the tuple in the old layouts."""

    fields: Sequence[Expr | _Moved | _Fields]
    plain: Expr


_Result = Expr | _Moved | _Fields
REQUESTED = "as requested"
_Change = tuple["Layout | None", "Layout | None"]


class LayoutRewriter:
    """Rewrites one function; `choose` determines the operators that get a new layout."""

    def __init__(self, func: Function, choose: Choice):
        self.func, self.choose = func, choose
        self.results: dict[Expr, _Result] = {}
        # For each node, its result; for a _Moved result, the result's value.
        self.made: dict[Expr, Expr] = {}
        self.transforms: dict[tuple[Expr, Layout | None, Layout | None], Expr] = {}

    def run(self) -> Function:
        keeps_in(self.made)
        for node in post_order(self.func):
            result = self._visit(node)
            self.results[node] = result
            if not isinstance(result, _Fields):
                self.made[node] = result.value if isinstance(result, _Moved) else result
        func = self._plain(self.func)
        assert isinstance(func, Function)
        return func

    # Nodes ---------------------------------------------------------------------------------------

    def _visit(self, node: Expr) -> _Result:
        if isinstance(node, Tuple):
            return self._tuple(node)
        if isinstance(node, TupleGetItem):
            found = self.results[node.tuple_value]
            if isinstance(found, (_Fields, Tuple)):
                field = found.fields[node.index]
                if isinstance(node.tuple_value, Tuple):
                    reason = "a field of a literal tuple is that field"
                    report("pick field", reason, node, self._as_is(field))
                return field
        elif isinstance(node, Call) and isinstance(node.op, Op):
            if not node.op.get_attr("FInferCorrectLayout"):
                return self._by_itself(node)
            result = self._followed(node)
            if result is not None:
                return result
        return self._restored(node)

    def _by_itself(self, call: Call) -> Expr:
        """Rewrite a call of an operator without layout rule: layouts do not propagate through
        it."""
        new = self.choose(call, [self._plain(arg) for arg in call.args])
        if new is None:
            return self._restored(call)
        report("choose layout", REQUESTED, call, new)
        return new

    def _tuple(self, node: Tuple) -> _Result:
        fields = [self.results[f] for f in node.fields]
        if _same(fields, node.fields):
            return node
        plain = node.with_parts([self._back(f) for f in fields])
        return plain if all(isinstance(f, Expr) for f in fields) else _Fields(fields, plain)

    def _restored(self, node: Expr) -> Expr:
        """The node rebuilt from parts in their original layouts."""
        parts = node.parts()
        new = [self._plain(part) for part in parts]
        if _same(parts, new):
            return node
        result = node.with_parts(new)
        if any(self.made.get(part) is not p for part, p in zip(parts, new, strict=True)):
            reason = "it reads its operands in their original layout"
            report("restore layout", reason, node, result)
        return result

    def _plain(self, node: Expr) -> Expr:
        """The result for a node, converted back to the node's layout."""
        return self._back(self.results[node])

    def _back(self, result: _Result) -> Expr:
        if isinstance(result, _Moved):
            return self._transform(result.value, result.new, result.old)
        return result.plain if isinstance(result, _Fields) else result

    def _as_is(self, result: _Result) -> Expr:
        return result.value if isinstance(result, _Moved) else self._back(result)

    # Calls ---------------------------------------------------------------------------------------

    def _followed(self, call: Call) -> _Result | None:
        """The call in the layout that `choose` requests, or in the new layout of its operands; None
        if the layouts are unknown."""
        operands, lengths = self._operands(call)
        types = [arg.checked_type for arg in call.args]
        before = _infer(call, None, [o.old for o in operands], types, len(operands))
        made = call.checked_type
        results = len(made.fields) if isinstance(made, TupleType) else 1
        if before is None or len(before.output_layouts) != results:
            return None  # layout rules apply to tensors, not to tuples passed through annotations
        reads = before.input_layouts
        args = _unflattened([o.value for o in operands], lengths)
        chosen = self.choose(call, args)
        wanted = chosen if chosen is not None else Call(call.op, args, before.new_attrs)
        # An operand of unknown layout is assumed to be in the layout that the call reads.
        with_reads = list(zip(operands, reads, strict=True))
        new = [read if o.new is None else o.new for o, read in with_reads]
        old = [read if o.old is None else o.old for o, read in with_reads]
        after = _infer(wanted, new, old, types, len(operands))
        if after is None:
            return None
        values = _flattened(wanted.args, lengths)
        given = zip(operands, values, reads, after.input_layouts, strict=True)
        flat = _flat_types(types, lengths)
        for ty, read, wants in zip(flat, reads, after.input_layouts, strict=True):
            _check_blocks(call, ty, read, wants)
        args = _unflattened([self._relaid(*each) for each in given], lengths)
        value = self._called(call, wanted.op, args, after.new_attrs)
        changes = list(zip(before.output_layouts, after.output_layouts, strict=True))
        if value is not call:
            _report(call, value, chosen is not None, changes)
        return self._results(call, value, changes)

    def _operands(self, call: Call) -> tuple[list[_Moved], list[int | None]]:
        """The arguments with tuples flattened, and for each argument the number of its fields (None
        if it is not a tuple). Nested tuples are not supported."""
        flat: list[_Result] = []
        lengths: list[int | None] = []
        for arg in call.args:
            found = self.results[arg]
            if isinstance(found, (_Fields, Tuple)):
                flat += found.fields
                lengths.append(len(found.fields))
            else:
                flat.append(found)
                lengths.append(None)
        moved = [f if isinstance(f, _Moved) else _Moved(self._back(f), None, None) for f in flat]
        return moved, lengths

    def _relaid(
        self, operand: _Moved, value: Expr, read: Layout | None, wants: Layout | None
    ) -> Expr:
        """`value`, transformed from layout `read`, which an operator read before, to layout
        `wants`, which it reads now."""
        scalar = operand.old is None and _is_scalar(operand.value)
        if operand.old is None:
            return self._transform(value, read, wants, scalar)
        if operand.old == read:
            return self._transform(value, operand.new, wants, scalar)
        # The user names the axes differently than the producer.
        back = self._transform(value, operand.new, operand.old)
        return self._transform(back, read, wants)

    def _results(self, call: Call, value: Call, layouts: Sequence[_Change]) -> _Result:
        if not isinstance(call.checked_type, TupleType):
            return _Moved(value, *layouts[0])
        fields = [_Moved(TupleGetItem(value, n), *each) for n, each in enumerate(layouts)]
        same = value is call and all(old == new for old, new in layouts)
        return _Fields(fields, call if same else Tuple([self._back(f) for f in fields]))

    def _called(self, call: Call, op: Expr, args: Sequence[Expr], attrs) -> Call:
        """A call of `op`; `call` itself if nothing changed."""
        kept: list[Expr] = []
        for new, arg in zip(args, call.args, strict=True):
            # A tuple with unchanged fields stays the same object.
            kept.append(arg if isinstance(new, Tuple) and _same(new.parts(), arg.parts()) else new)
        if op is call.op and _same(kept, call.args) and attrs == call.attrs:
            return call
        return Call(op, kept, attrs, call.type_args, span=call.span)

    # Transforms ----------------------------------------------------------------------------------

    def _transform(
        self, value: Expr, source: Layout | None, target: Layout | None, scalar: bool = False
    ) -> Expr:
        """`value` transformed from layout `source` to `target`; missing axes are added in front.
        Equal requests return the same node."""
        if source == target or source is None or target is None:
            return value
        key = (value, source, target)
        if key not in self.transforms:
            self.transforms[key] = _transformed(value, source, target, scalar)
        return self.transforms[key]


def _transformed(value: Expr, source: Layout, target: Layout, scalar: bool) -> Expr:
    if source.rank < target.rank:
        if scalar:  # a scalar broadcasts in any layout
            return value
        value = relay.expand_dims(value, axis=0, num_newaxis=target.rank - source.rank)
        source = source.widened(target)
        if source == target:
            return value
    if sorted(source.plain.axes) != sorted(target.plain.axes):
        raise PassError(
            f"a value laid out as {source} cannot be laid out as {target}: the layouts must have "
            f"the same axes"
        )
    return relay.layout_transform(value, src_layout=source.name, dst_layout=target.name)


def _flat_types(types: Sequence[Type], lengths: Sequence[int | None]) -> list[Type]:
    """The types of the operands that `_operands` returns."""
    flat: list[Type] = []
    for ty, length in zip(types, lengths, strict=True):
        flat += ty.fields if isinstance(ty, TupleType) and length is not None else [ty]
    return flat


def _check_blocks(call: Call, ty: Type, read: Layout | None, wants: Layout | None) -> None:
    """Raises PassError if blocks need padding: the padding zeros would count in a mean, and would
    remain when the blocked layout is converted back."""
    if read is None or wants is None or wants == wants.plain or read.rank != wants.rank:
        return
    if not isinstance(ty, TensorType) or len(ty.shape) != len(read):
        return
    if pads_blocks(ty.shape, read.name, wants.name):
        raise PassError(
            f"{call.op} would read {ty}, laid out as {read}, in the layout {wants}, whose blocks "
            f"it does not fill; choose blocks that divide the axis"
        )


def _report(call: Call, value: Call, chosen: bool, layouts: Sequence[_Change]) -> None:
    change = ", ".join(f"{old} becomes {new}" for old, new in dict.fromkeys(layouts) if old != new)
    if chosen:
        report("choose layout", change or REQUESTED, call, value)
    else:
        reason = f"it follows its operands: {change}" if change else "its operands changed"
        report("follow layout", reason, call, value)


def _infer(
    call: Call, new: Layouts | None, old: Layouts, types: Sequence[Type], operands: int
) -> InferCorrectLayoutOutput | None:
    """The layouts that the operator's rule infers; None if it has no rule or a layout is
    unknown."""
    rule = call.op.get_attr("FInferCorrectLayout") if isinstance(call.op, Op) else None
    answer = rule(call.attrs, new, old, types) if rule is not None else None
    if answer is None or None in (*answer.input_layouts, *answer.output_layouts):
        return None
    if len(answer.input_layouts) != operands:
        raise PassError(
            f"the FInferCorrectLayout of {call.op_name} must give a layout for each of "
            f"{operands} arguments, found {len(answer.input_layouts)}"
        )
    return answer


def _is_scalar(expr: Expr) -> bool:
    """Whether a tensor has exactly one element, with any rank."""
    ty = expr.checked_type if expr.is_typed else None
    return isinstance(ty, TensorType) and all(length == 1 for length in ty.shape)


def _unflattened(values: Sequence[Expr], lengths: Sequence[int | None]) -> list[Expr]:
    rest = iter(values)
    return [next(rest) if n is None else Tuple([next(rest) for _ in range(n)]) for n in lengths]


def _flattened(args: Sequence[Expr], lengths: Sequence[int | None]) -> list[Expr]:
    flat: list[Expr] = []
    for arg, count in zip(args, lengths, strict=True):
        flat += [arg] if count is None or not isinstance(arg, Tuple) else arg.fields
    return flat


def _same(some: Sequence[object], others: Sequence[object]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))
