"""Branches and loops, whose bodies are inner graphs."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import UnknownValueError, UnsupportedOperatorError
from byoc_lab.importers.onnx.conditions import value_that_gives
from byoc_lab.importers.onnx.converters import converts
from byoc_lab.importers.onnx.node import EMPTY, MAX_STEPS, Node
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, If, Let, Tuple, TupleGetItem, Var
from byoc_lab.relay.ir.types import FuncType, TensorType, TupleType
from byoc_lab.relay.op.framework.relations import differ


def _inner(node: Node, graph: Any, values: dict[str, Any]) -> list[Any]:
    """The outputs of an inner graph for the given input values."""
    outputs, without = node.graph.inner(graph, values)
    if without:
        node.fail(f"the inner graph has inputs without values: {', '.join(without):.200}")
    return outputs


def _are_tensors(values: list[Any]) -> bool:
    return all(isinstance(v, Expr) for v in values)


def _need_iterations(node: Node, why: str) -> NoReturn:
    """Raise the error for a loop whose number of iterations must be known but is not."""
    for index, what in ((0, "the number of iterations"), (1, "the first condition")):
        if node.optional(index) is not None:
            node.known(index, f"{what} of a loop {why}")
    node.fail(
        f"the number of iterations of a loop {why} must be known; its body computes the condition"
    )


def _scalar(node: Node, condition: Expr) -> Expr:
    return relay.reshape(condition, ()) if node.rank(condition) else condition


BRANCHES = {True: "then_branch", False: "else_branch"}  # {condition: attribute}


def _branch(node: Node, taken: bool) -> list[Any]:
    """The outputs of a branch; errors name the branch."""
    name = BRANCHES[taken]
    try:
        return _inner(node, node.attr(name), {})
    except UnsupportedOperatorError as error:
        node.fail(f"the {name.replace('_', ' ')} cannot be imported: {error}")


def _both_branches(node: Node) -> tuple[list[Any], list[Any]]:
    """The outputs of both branches, for a condition that is known at run time only. If only one
    branch can be imported, the error says which input value selects it.
    """
    found: dict[bool, list[Any]] = {}
    errors: dict[bool, UnsupportedOperatorError] = {}
    for taken in BRANCHES:
        try:
            found[taken] = _branch(node, taken)
        except UnsupportedOperatorError as error:
            errors[taken] = error
    if not errors:
        return found[True], found[False]
    first = next(iter(errors.values()))
    if not found:
        raise first
    reason = f"{first}; a run-time condition needs both branches"
    raise _unknown_condition(node, True in found, reason) from first


def _check_types(node: Node, then: list[Any], other: list[Any]) -> None:
    """Raise an error unless both branches have the same types, as a run-time condition requires."""
    for one, two in zip(then, other, strict=True):
        left, right = node.type_of(one), node.type_of(two)
        same = (left.dtype, len(left.shape)) == (right.dtype, len(right.shape))
        if not same or any(map(differ, left.shape, right.shape)):
            reason = (
                f"{node.place}: the then branch returns {left}, the else branch {right}; a "
                "run-time "
                f"condition needs one type"
            )
            raise _unknown_condition(node, True, reason)


def _unknown_condition(node: Node, fits: bool, reason: str) -> UnsupportedOperatorError:
    """The error if not both branches can be used: it proposes to freeze the condition to `fits`."""
    condition = node[0]
    inputs = node.graph.deciding_inputs(condition)
    if not inputs:
        return UnsupportedOperatorError(reason)
    values: dict[str, Any] = {}
    if len(inputs) == 1:
        (name,) = inputs
        value = value_that_gives(fits, condition, inputs[name], node.graph.normalizer)
        values = {} if value is None else {name: value}
    flags = " ".join(f"--freeze {name}={values.get(name, 'VALUE')}" for name in inputs)
    return UnknownValueError(
        f"{reason}. If {node.input_name(0)!r:.80} is always {str(fits).lower()}, freeze the inputs "
        f"it depends on ({', '.join(inputs):.200}): from_onnx(..., freeze={values or '{...}'}), or "
        f"{flags:.400} on the command line",
        inputs,
        values,
    )


@converts("If")
def if_(node: Node) -> tuple[Any, ...]:
    """A constant condition selects its branch at import time."""
    condition = node.value(0)
    if condition is not None:
        found = _branch(node, bool(condition.all()))
        return tuple(EMPTY if o is None else o for o in found)
    then, other = _both_branches(node)
    if not _are_tensors(then + other):
        node.known(0, "the condition of branches that give sequences or optionals")
    if len(then) != len(other):
        node.fail(f"the branches have {len(then)} and {len(other)} outputs")
    _check_types(node, then, other)
    test = _scalar(node, node[0])
    if len(then) == 1:
        return (If(test, then[0], other[0]),)
    both = If(test, Tuple(then), Tuple(other))
    return tuple(TupleGetItem(both, i) for i in range(len(then)))


@converts("Loop")
def loop(node: Node) -> tuple[Any, ...]:
    """Unroll the body if the number of iterations is known; else create a recursive function."""
    body = node.attr("body")
    if len(body.input) != len(node.inputs):
        node.fail(f"its body has {len(body.input)} inputs, expected {len(node.inputs)}")
    return _unrolled(node, body) or _repeated(node, body)


def _unrolled(node: Node, body: Any) -> tuple[Any, ...] | None:
    """The unrolled body. None if the number of iterations is unknown or large."""
    stated, first = (node.optional(i) is not None for i in (0, 1))
    limit = node.value(0) if stated else np.array(2**63 - 1)
    going = node.value(1) if first else np.array(True)
    if limit is None or going is None:
        return None
    names = [i.name for i in body.input]
    states = [node.any_input(i) for i in range(2, len(node.inputs))]

    def turn(number: int) -> list[Any]:
        given = [relay.const(number, "int64"), relay.const(True), *states]
        typed = [node.typed(v) if isinstance(v, Expr) else v for v in given]
        return _inner(node, body, dict(zip(names, typed, strict=True)))

    rows: list[list[Expr]] = []
    done = 0
    while done < int(limit.item()) and going.all():
        if done == MAX_STEPS:
            return None
        outputs = turn(done)
        done += 1
        if not isinstance(outputs[0], Constant):
            return None
        going, states = outputs[0].numpy(), outputs[1 : 1 + len(states)]
        rows.append(outputs[1 + len(states) :])
    if not rows:
        shapes = turn(0)[1 + len(states) :]
        stacks = [Constant(np.zeros((0, *node.shape(x)), node.dtype(x))) for x in shapes]
        return (*states, *stacks)
    return (*states, *(relay.stack(list(row), axis=0) for row in zip(*rows, strict=True)))


def _repeated(node: Node, body: Any) -> tuple[Expr, ...]:
    """The loop as a recursive function. Loop-carried values keep their types; each scan output
    grows by one row per iteration."""
    if not _are_tensors(node.inputs[2:]):
        _need_iterations(node, "over sequences or optionals")
    initial = [node[i] for i in range(2, len(node.inputs))]
    names = [i.name for i in body.input]
    kinds = TensorType((), "int64"), TensorType((), "bool"), *map(node.type_of, initial)
    turn, going, *states = (Var(name or "state", ty) for name, ty in zip(names, kinds, strict=True))
    typed = [node.typed_var(v) for v in (turn, going, *states)]
    outputs = _inner(node, body, dict(zip(names, typed, strict=True)))
    if not _are_tensors(outputs):
        _need_iterations(node, "that gives sequences or optionals")
    for state, after in zip(typed[2:], outputs[1:], strict=False):
        old, new = node.type_of(state), node.type_of(after)
        same = (old.dtype, len(old.shape)) == (new.dtype, len(new.shape))
        if not same or any(map(differ, old.shape, new.shape)):
            types = f"{old} before an iteration and {new} after it"
            _need_iterations(node, f"whose state {state.name_hint!r:.80} is {types}")
    scanned = outputs[1 + len(states) :]
    if not all(node.type_of(x).is_static for x in scanned):
        _need_iterations(node, "that stacks rows of unknown shape")
    rows = [TensorType((relay.Any(), *node.shape(x)), node.dtype(x)) for x in scanned]
    stacked = [o.name for o in body.output][1 + len(states) :]
    stacks = [node.typed_var(Var(x, ty)) for x, ty in zip(stacked, rows, strict=True)]
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


@converts("Scan")
def scan(node: Node) -> tuple[Expr, ...]:
    """The body, once per step; the shapes determine the number of steps."""
    body, count = node.attr("body"), int(node.attr("num_scan_inputs"))
    if node.opset < 9:
        return _scan_of_batches(node, body, count)
    given = [node[i] for i in range(len(node.inputs))]
    directions = _directions(node, "scan_input_directions", count)
    return _scanned(node, body, count, given, directions)


def _scan_of_batches(node: Node, body: Any, count: int) -> tuple[Expr, ...]:
    """One scan per batch element. The first input, the sequence lengths, is not supported."""
    if node.optional(0) is not None:
        node.fail("sequences of several lengths (input 0) are not supported")
    given = [node[i] for i in range(1, len(node.inputs))]
    parts = [_steps(x, node.steps(x, 0), 0) for x in given]
    directions = _directions(node, "directions", count)
    found = [
        _scanned(node, body, count, [node.typed(x) for x in one], directions)
        for one in zip(*parts, strict=True)
    ]
    return tuple(relay.stack(list(x), axis=0) for x in zip(*found, strict=True))


def _scanned(
    node: Node, body: Any, count: int, given: list[Expr], directions: list[bool]
) -> tuple[Expr, ...]:
    """The final states and the stacked outputs; `given` are the states, then `count` sequences."""
    kept = len(given) - count
    states, read = given[:kept], given[kept:]
    stacked = len(body.output) - kept
    axes = [
        node.axis(a, node.rank(x)) for a, x in zip(_axes(node, "input", count), read, strict=True)
    ]
    steps = {node.steps(x, axis) for x, axis in zip(read, axes, strict=True)}
    if len(body.input) != len(given) or len(steps) != 1:
        node.fail(
            f"its body has {len(body.input)} inputs for {len(given)} values, and sequences "
            f"of lengths {sorted(steps)}; one length is expected"
        )
    (length,) = steps
    parts = [_steps(x, length, axis) for x, axis in zip(read, axes, strict=True)]
    parts = [p[::-1] if backwards else p for p, backwards in zip(parts, directions, strict=True)]
    rows: list[list[Expr]] = [[] for _ in range(stacked)]
    for t in range(length):
        now = [*states, *(part[t] for part in parts)]
        values = {i.name: node.typed(v) for i, v in zip(body.input, now, strict=True)}
        outputs = [node.typed(o) for o in _inner(node, body, values)]
        states = outputs[:kept]
        for row, value in zip(rows, outputs[kept:], strict=True):
            row.append(value)
    out_of = _directions(node, "scan_output_directions", stacked)
    whole = [
        relay.stack(row[::-1] if backwards else row, axis=node.axis(axis, node.rank(row[0]) + 1))
        for row, axis, backwards in zip(rows, _axes(node, "output", stacked), out_of, strict=True)
    ]
    return (*states, *whole)


def _axes(node: Node, side: str, count: int) -> list[int]:
    return list(node.attr(f"scan_{side}_axes", [0] * count))


def _directions(node: Node, attribute: str, count: int) -> list[bool]:
    """For each of the sequences: whether it is scanned backwards."""
    return [bool(d) for d in node.attr(attribute, [0] * count)]


def _steps(x: Expr, length: int, axis: int) -> list[Expr]:
    """The slices along an axis, with the axis removed."""
    whole = relay.split(x, length, axis=axis).astuple()
    return [relay.squeeze(TupleGetItem(whole, n), axis=[axis]) for n in range(length)]


@converts("SequenceMap")
def sequence_map(node: Node) -> tuple[list[Expr], ...]:
    """The body, once per element of the sequences; tensor inputs are the same for all elements."""
    body, first = node.attr("body"), node.sequence(0)
    names = [i.name for i in body.input]
    given = [node.any_input(i) for i in range(len(node.inputs))]
    found = []
    for i in range(len(first)):
        now = [x[i] if isinstance(x, list) else x for x in given]
        found.append(_inner(node, body, dict(zip(names, now, strict=True))))
    return tuple([row[n] for row in found] for n in range(len(body.output)))
