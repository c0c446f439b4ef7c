"""Operators that only move data, between operators of DNNL."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import evaluate

ROWS = (4, 6)
random = np.random.default_rng(0)


def dense(x: Expr, units: int, width: int) -> Expr:
    weight = relay.const(random.standard_normal((units, width)).astype("float32"))
    return nn.dense(x, weight)


def module(expr: Expr) -> IRModule:
    return infer_module(IRModule.from_expr(expr))


def on_host(mod: IRModule) -> set[str]:
    """The operators that a partitioned module leaves in @main."""
    return {n.name for n in post_order(mod["main"].body) if isinstance(n, Op)}


def regions(mod: IRModule) -> list[Function]:
    return [f for f in mod.functions.values() if "Compiler" in f.attrs]


def check(mod: IRModule, cut: IRModule) -> None:
    """Asserts that both modules give equal results, in NumPy and compiled."""
    shapes = [p.checked_type.concrete_shape for p in mod["main"].params]
    inputs = [random.standard_normal(shape).astype("float32") for shape in shapes]
    (wanted,), (found,) = (evaluate(m, inputs).outputs for m in (mod, cut))
    np.testing.assert_array_equal(found, wanted)
    if dnnl.native.available():
        assert byoc_lab.validate(mod, cut)


# Data movements of a 4 by 6 matrix; each gives a matrix.
MOVES: dict[str, Callable[[Expr], Expr]] = {
    "reshape": lambda x: relay.reshape(x, (-1, 6)),
    "expand_dims": lambda x: relay.reshape(relay.expand_dims(x, axis=1), (4, 6)),
    "squeeze": lambda x: relay.squeeze(relay.expand_dims(x, axis=-1), axis=[-1]),
    "batch_flatten": lambda x: nn.batch_flatten(relay.reshape(x, (4, 2, 3))),
    "transpose": lambda x: relay.reshape(relay.transpose(x), (4, 6)),
    "strided_slice": lambda x: relay.strided_slice(x, [1, 0], [4, 6], [2, 1]),
    "parts of equal size": lambda x: relay.split(x, 2)[1],
    "parts by indices": lambda x: relay.split(x, (1, 3))[1],
    "first part by indices": lambda x: relay.split(x, (3,))[0],
    "parts along the last axis": lambda x: relay.reshape(relay.split(x, 3, axis=-1)[2], (-1, 4)),
    "reverse": lambda x: relay.reverse(x, axis=1),
    "reverse along the first axis": lambda x: relay.reverse(x, axis=0),
    "take": lambda x: relay.reshape(relay.take(x, relay.const(2), axis=-2), (1, 6)),
    "stack": lambda x: relay.reshape(relay.stack([x, relay.tanh(x)], axis=1), (-1, 6)),
    "stack along the last axis": lambda x: relay.reshape(relay.stack([x, x], axis=-1), (-1, 6)),
    "concatenate": lambda x: relay.concatenate(list(relay.split(x, 2))[::-1], 0),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_data_movement_between_operators_of_dnnl_is_inside_the_region(
    move: Callable[[Expr], Expr],
) -> None:
    moved = move(dense(relay.var("x", shape=ROWS), 6, 6))
    width = module(moved)["main"].checked_type.ret_type.shape[-1]
    mod = module(dense(moved, 3, width))
    cut = dnnl.partition_for_dnnl(mod)
    assert on_host(cut) == set()
    assert len(regions(cut)) == 1
    check(mod, cut)


def step(gates: Expr, cell: Expr) -> tuple[Expr, Expr]:
    """The state and cell of an LSTM, from its four gates side by side."""
    first, out, forget, new = relay.split(gates, 4, axis=1)
    cell = relay.sigmoid(forget) * cell + relay.sigmoid(first) * relay.tanh(new)
    return relay.sigmoid(out) * relay.tanh(cell), cell


def lstm(steps: int, batch: int, width: int) -> Expr:
    """An LSTM, unrolled as the ONNX importer does."""
    data = dense(relay.var("x", shape=(steps * batch, 5)), 4 * width, 5)
    parts = relay.split(relay.reshape(data, (steps, batch, 4 * width)), steps)
    cell = relay.const(random.standard_normal((batch, width)).astype("float32"))
    weight = relay.const(random.standard_normal((4 * width, width)).astype("float32"))
    state, states = cell, []
    for part in parts:
        gates = relay.reshape(part, (batch, 4 * width)) + nn.dense(state, weight)
        state, cell = step(gates, cell)
        states.append(state)
    return relay.stack(states, axis=0)


@pytest.mark.parametrize("batch", [1, 3])
def test_unrolled_lstm_is_one_region(batch: int) -> None:
    mod = module(lstm(4, batch, 8))
    cut = dnnl.partition_for_dnnl(mod)
    assert on_host(cut) == set()
    assert len(regions(cut)) == 1
    check(mod, cut)


x = relay.var("x", shape=ROWS)
index = relay.var("index", shape=(), dtype="int64")
LEFT: dict[str, tuple[Expr, str]] = {
    "only read by DNNL": (dense(relay.reverse(x, axis=1), 3, 6), "reverse"),
    "only computed by DNNL": (relay.reverse(dense(x, 3, 6), axis=1), "reverse"),
    "between DNNL and the host": (
        relay.argmax(relay.reverse(relay.transpose(dense(x, 3, 6)), axis=0)),
        "reverse",
    ),
    "an index from run time": (
        dense(relay.expand_dims(relay.take(dense(x, 3, 6), index, axis=0), axis=0), 2, 3),
        "take",
    ),
    "several elements": (
        dense(relay.take(dense(x, 3, 6), relay.const([0, 2]), axis=0), 2, 3),
        "take",
    ),
    "an element out of range": (
        dense(relay.reshape(relay.take(dense(x, 3, 6), relay.const(9), axis=0), (1, 3)), 2, 3),
        "take",
    ),
}


@pytest.mark.parametrize(("expr", "left"), LEFT.values(), ids=LEFT)
def test_other_data_movement_stays_on_the_host(expr: Expr, left: str) -> None:
    cut = dnnl.partition_for_dnnl(module(expr))
    assert left in on_host(cut)
    assert regions(cut)


def test_only_the_parts_of_a_split_that_dnnl_reads_are_cut_in_its_region() -> None:
    first, second = relay.split(dense(x, 4, 6), 2, axis=1)
    mod = module(relay.Tuple([dense(first, 3, 2), relay.argmax(second, axis=1)]))
    cut = dnnl.partition_for_dnnl(mod)
    assert on_host(cut) == {"split", "argmax"}
    (composite,) = {
        n for f in regions(cut) for n in post_order(f.body)
        if isinstance(n, Function) and n.attrs["Composite"] == "dnnl.split"
    }  # fmt: skip
    assert isinstance(composite.body, Call)
    assert composite.body.is_op("strided_slice")


def test_tvm_leaves_data_movement_on_the_host() -> None:
    cut = dnnl.partition_for_dnnl(module(lstm(2, 1, 8)), beyond_tvm=False)
    assert {"split", "reshape", "stack"} <= on_host(cut)


def test_explain_proposes_the_pass_where_it_helps_and_names_its_condition_elsewhere() -> None:
    given = relay.reshape(relay.var("x", shape=(2, 12)), ROWS)
    mod = module(dense(relay.reshape(dense(given, 8, 6), (8, 4)), 3, 4))
    first, second = byoc_lab.explain(mod, "dnnl").of("reshape")
    assert (first.cause, second.cause) == ("no-pattern", "needs-pass")
    assert str(second.change) == "run OffloadDataMovement before AnnotateTarget"
    condition = "only if DNNL computes one of its operands and one of its users"
    full = byoc_lab.explain(mod, "dnnl", pipeline="partition_for_dnnl")
    left, moved = full.of("reshape")
    assert moved.offloaded
    assert all(condition in each.reason for each in (first, second, left))
    assert "supports neither" not in f"{byoc_lab.explain(mod, 'dnnl')}{full}"


def test_explain_of_what_tvm_offloads_does_not_name_the_pass() -> None:
    mod = module(dense(relay.reshape(dense(x, 8, 6), (8, 4)), 3, 4))
    passes = dnnl.full_pipeline(beyond_tvm=False)
    assert "OffloadDataMovement" not in str(byoc_lab.explain(mod, "dnnl", pipeline=passes))
