"""Graphs for AnnotateTarget, with operators of the targets A and B of `tables.py`."""

from __future__ import annotations

SHAPE = (10, 10)


def _inputs(relay, names):
    return [relay.var(name, shape=SHAPE) for name in names]


def _module(tvm, relay, body):
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))


def elementwise(tvm, relay, np):
    """relu and abs for A, exp for B, sqrt for no target, add for both: the first target wins."""
    x, y = _inputs(relay, "xy")
    first = relay.abs(relay.nn.relu(x))
    second = relay.sqrt(relay.exp(y))
    return _module(tvm, relay, relay.multiply(relay.add(first, second), relay.exp(first)))


def projections(tvm, relay, np):
    """split is supported by A; its projections get its target."""
    (x,) = _inputs(relay, "x")
    halves = relay.split(x, 2, axis=1)
    return _module(tvm, relay, relay.add(halves[0], relay.sqrt(halves[1])))


def concatenated_results(tvm, relay, np):
    """A tuple of two values computed by A."""
    x, y = _inputs(relay, "xy")
    return _module(tvm, relay, relay.concatenate((relay.abs(x), relay.nn.relu(y)), axis=0))


def concatenated_mixture(tvm, relay, np):
    """A tuple of a value computed by A and one computed by no target."""
    x, y = _inputs(relay, "xy")
    return _module(tvm, relay, relay.concatenate((relay.abs(x), relay.sqrt(y)), axis=0))


def concatenated_variables(tvm, relay, np):
    """A tuple of plain variables."""
    x, y = _inputs(relay, "xy")
    return _module(tvm, relay, relay.concatenate((x, y), axis=0))


def constant_operand(tvm, relay, np):
    """Constants get a begin as variables do; an operator without arguments gets none."""
    (x,) = _inputs(relay, "x")
    ones = relay.add(x, relay.const(1.0, "float32"))
    return _module(tvm, relay, relay.add(ones, relay.zeros(SHAPE, "float32")))


def tuple_result(tvm, relay, np):
    (x,) = _inputs(relay, "x")
    first = relay.abs(x)
    return _module(tvm, relay, relay.Tuple([first, relay.exp(first)]))


def branches(tvm, relay, np):
    """An If: both branches get an end, and the If itself no begin."""
    x, y = _inputs(relay, "xy")
    condition = relay.var("c", shape=(), dtype="bool")
    body = relay.nn.relu(relay.If(condition, relay.abs(x), relay.exp(y)))
    return _module(tvm, relay, body)


def let(tvm, relay, np):
    """Let values get a begin without an end: the bug in the thread on `let`."""
    (x,) = _inputs(relay, "x")
    a, b = relay.var("a"), relay.var("b")
    body = relay.Let(a, relay.abs(x), relay.Let(b, relay.exp(a), relay.add(a, b)))
    return _module(tvm, relay, body)


def diamond(tvm, relay, np):
    """A, then B and A side by side, then A: merging all regions of A would form a cycle with B."""
    (x,) = _inputs(relay, "x")
    top = relay.abs(x)
    return _module(tvm, relay, relay.add(relay.exp(top), relay.nn.relu(top)))


def two_outputs(tvm, relay, np):
    """Values used inside and outside a region."""
    x, y = _inputs(relay, "xy")
    top = relay.nn.relu(relay.add(x, y))
    bottom = relay.abs(top)
    return _module(tvm, relay, relay.add(relay.sqrt(top), relay.sqrt(bottom)))


def chain_of_four(tvm, relay, np):
    """Alternating targets: A, A, B, A."""
    (x,) = _inputs(relay, "x")
    return _module(tvm, relay, relay.abs(relay.exp(relay.nn.relu(relay.abs(x)))))
