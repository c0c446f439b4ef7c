"""Branches and loops, whose bodies are graphs inside a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import UnsupportedOperatorError
from byoc_lab.importers.onnx.converters import converts
from byoc_lab.importers.onnx.graph import GraphConverter
from byoc_lab.importers.onnx.node import Node
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, If, Let, Tuple, TupleGetItem, Var
from byoc_lab.relay.ir.types import FuncType, TensorType, TupleType


def _inner(node: Node, graph: Any, values: dict[str, Expr]) -> list[Expr]:
    """The outputs of a graph inside this one, whose inputs have these values."""
    outer = node.graph
    inner = GraphConverter(outer.opsets, {}, outer.dtypes, True, outer)
    inner.values.update(values)
    outputs = inner.convert(graph)
    if any(isinstance(o, list) for o in outputs):
        node.fail("sequences as results of a branch or loop are not supported")
    if inner.inputs:
        node.fail(f"the inner graph has inputs without values: {', '.join(inner.inputs):.200}")
    return outputs


def _scalar(node: Node, condition: Expr) -> Expr:
    return relay.reshape(condition, ()) if node.rank(condition) else condition


def _branch(node: Node, name: str) -> list[Expr]:
    """The outputs of a branch. An error names the branch, and the condition that chooses it."""
    try:
        return _inner(node, node.attr(name), {})
    except UnsupportedOperatorError as error:
        advice = ""
        if node.value(0) is None:
            condition = node.input_name(0)
            taken = "false" if name == "then_branch" else "true"
            advice = (
                f"; a run-time condition needs both branches. If {condition!r:.80} is always "
                f"{taken}, freeze the inputs it depends on: from_onnx(..., freeze={{...}}), or "
                "--freeze NAME=VALUE on the command line"
            )
        node.fail(f"the {name.replace('_', ' ')} cannot be imported: {error}{advice}")


@converts("If")
def if_(node: Node) -> tuple[Expr, ...]:
    """A constant condition chooses its branch now."""
    condition = node.value(0)
    if condition is not None:
        return tuple(_branch(node, "then_branch" if condition.all() else "else_branch"))
    then, other = (_branch(node, name) for name in ("then_branch", "else_branch"))
    if len(then) != len(other):
        node.fail(f"the branches have {len(then)} and {len(other)} outputs")
    test = _scalar(node, node[0])
    if len(then) == 1:
        return (If(test, then[0], other[0]),)
    both = If(test, Tuple(then), Tuple(other))
    return tuple(TupleGetItem(both, i) for i in range(len(then)))


@converts("Loop")
def loop(node: Node) -> tuple[Expr, ...]:
    """A function that calls itself while its condition holds.

    Values that the body hands on keep their types; each scan output grows by one row a turn.
    """
    body = node.attr("body")
    initial = [node[i] for i in range(2, len(node.inputs))]
    turn = Var("turn", TensorType((), "int64"))
    going = Var("going", TensorType((), "bool"))
    states = [Var(f"state_{i}", node.type_of(x)) for i, x in enumerate(initial)]
    names = [i.name for i in body.input]
    if len(names) != len(states) + 2:
        node.fail(f"its body has {len(names)} inputs, expected {len(states) + 2}")
    typed = [node.typed_var(v) for v in (turn, going, *states)]
    outputs = _inner(node, body, dict(zip(names, typed, strict=True)))
    scanned = outputs[1 + len(states) :]
    rows = [_row_type(node, x) for x in scanned]
    stacks = [node.typed_var(Var(f"scan_{i}", ty)) for i, ty in enumerate(rows)]
    params = [*typed, *stacks]
    result = TupleType([p.checked_type for p in params[2:]])
    again = Var("loop", FuncType([p.checked_type for p in params], result))
    limit = node.optional(0)
    test = typed[1]
    if limit is not None:
        test = relay.logical_and(test, relay.less(typed[0], _scalar(node, limit)))
    grown = [
        relay.concatenate([stack, relay.expand_dims(x, axis=0)], axis=0)
        for stack, x in zip(stacks, scanned, strict=True)
    ]
    following = [
        typed[0] + relay.const(1, "int64"),
        _scalar(node, outputs[0]),
        *outputs[1 : 1 + len(states)],
        *grown,
    ]
    choice = If(test, Call(again, following), Tuple(params[2:]))
    function = Function(params, choice, result)
    start = _scalar(node, node[1]) if node.optional(1) is not None else relay.const(True)
    empty = [Constant(np.zeros((0, *node.shape(x)), node.dtype(x))) for x in scanned]
    whole = Let(again, function, Call(again, [relay.const(0, "int64"), start, *initial, *empty]))
    return tuple(TupleGetItem(whole, i) for i in range(len(params) - 2))


def _row_type(node: Node, x: Expr) -> TensorType:
    return TensorType((relay.Any(), *node.shape(x, "the shape of a scan output")), node.dtype(x))


@converts("Scan")
def scan(node: Node) -> tuple[Expr, ...]:
    """The body, once for each step: how many there are is known from the shapes."""
    if node.opset < 9:
        node.fail("a Scan over batches (before opset 9) is not supported")
    body, count = node.attr("body"), int(node.attr("num_scan_inputs"))
    kept = len(node.inputs) - count
    states = [node[i] for i in range(kept)]
    read = [node[i] for i in range(kept, len(node.inputs))]
    stacked = len(body.output) - kept
    into, out_of = _directions(node, "input", count), _directions(node, "output", stacked)
    axes = [
        node.axis(a, node.rank(x)) for a, x in zip(_axes(node, "input", count), read, strict=True)
    ]
    steps = {node.steps(x, axis) for x, axis in zip(read, axes, strict=True)}
    if len(body.input) != len(node.inputs) or len(steps) != 1:
        node.fail(
            f"its body has {len(body.input)} inputs for {len(node.inputs)} values, and sequences "
            f"of lengths {sorted(steps)}; one length is expected"
        )
    (length,) = steps
    parts = [_steps(x, length, axis) for x, axis in zip(read, axes, strict=True)]
    parts = [p[::-1] if backwards else p for p, backwards in zip(parts, into, strict=True)]
    rows: list[list[Expr]] = [[] for _ in range(stacked)]
    for t in range(length):
        given = [*states, *(part[t] for part in parts)]
        values = {i.name: node.typed(v) for i, v in zip(body.input, given, strict=True)}
        outputs = [node.typed(o) for o in _inner(node, body, values)]
        states = outputs[:kept]
        for row, value in zip(rows, outputs[kept:], strict=True):
            row.append(value)
    whole = [
        relay.stack(row[::-1] if backwards else row, axis=node.axis(axis, node.rank(row[0]) + 1))
        for row, axis, backwards in zip(rows, _axes(node, "output", stacked), out_of, strict=True)
    ]
    return (*states, *whole)


def _axes(node: Node, side: str, count: int) -> list[int]:
    return list(node.attr(f"scan_{side}_axes", [0] * count))


def _directions(node: Node, side: str, count: int) -> list[bool]:
    """Which of the sequences go backwards."""
    return [bool(d) for d in node.attr(f"scan_{side}_directions", [0] * count)]


def _steps(x: Expr, length: int, axis: int) -> list[Expr]:
    """The slices of an axis, without it."""
    whole = relay.split(x, length, axis=axis).astuple()
    return [relay.squeeze(TupleGetItem(whole, n), axis=[axis]) for n in range(length)]
