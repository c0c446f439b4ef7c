"""Relax modules and pattern tables drawn at random from a seed."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

from tvm.relax.backend.utils import has_leaking_intermediate_variables
from tvm.relax.dpl import is_const, is_op, is_tuple, is_tuple_get_item, wildcard

from .networks import relax, tensor, tvm

op = relax.op


def drawn_module(draw: random.Random) -> Any:
    """Up to nine steps on matrices, with tuples, constants, unused values and several results;
    sometimes with an unknown batch."""
    size = draw.choice([4, 4, tvm.tirx.Var("n", "int64")])
    params = [relax.Var(f"x{n}", tensor((size, 4))) for n in range(draw.randint(1, 3))]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            values = list(params)
            for _ in range(draw.randint(2, 9)):
                values.append(_step(builder.emit, draw, values))
            results = [values[-1], *draw.sample(values[len(params) :], draw.randint(0, 1))]
            whole = results[0] if len(results) == 1 else relax.Tuple(results)
            out = builder.emit_output(whole)
        builder.emit_func_output(out)
    return builder.get()


def _step(emit: Any, draw: random.Random, values: list[Any]) -> Any:
    a, b = draw.choice(values[-4:]), draw.choice(values)
    weights = relax.const(np.eye(4, dtype="float32"))
    simple = [
        lambda: op.nn.relu(a),
        lambda: op.nn.gelu(a),
        lambda: op.add(a, b),
        lambda: op.add(a, relax.const(1.0)),
        lambda: op.multiply(a, weights),
        lambda: op.matmul(a, weights),
        lambda: op.clip(a, 0, 6),
    ]
    kind = draw.randrange(len(simple) + 2)
    if kind < len(simple):
        return emit(simple[kind]())
    if kind == len(simple):
        parts = emit(op.split(emit(op.concat([a, b], axis=1)), 2, axis=1))
        return emit(parts[draw.randrange(2)])
    parts = emit(op.split(a, 2, axis=1))
    whole = draw.random() < 0.5
    return emit(op.concat(parts if whole else [parts[0], parts[1]], axis=1))


def drawn_table(draw: random.Random) -> list[Any]:
    """Up to six patterns of two back ends, in any order, some with checks."""
    add, split = is_op("relax.add"), is_op("relax.split")(wildcard())
    relu, concat = is_op("relax.nn.relu"), is_op("relax.concat")
    matmul = is_op("relax.matmul")
    some = wildcard
    known = [
        ("a.relu", relu(some())),
        ("a.add", add(some(), some())),
        ("a.bias", add(some(), is_const())),
        ("a.add_relu", relu(add(some(), some()))),
        ("a.add_add", add(add(some(), some()), some())),
        ("a.matmul", matmul(some(), is_const())),
        ("a.matmul_add", add(matmul(some(), some()), some())),
        ("b.act", relu(some()) | is_op("relax.nn.gelu")(some())),
        ("b.clip", is_op("relax.clip")(some(), some(), some())),
        ("b.split", split),
        ("b.item", is_tuple_get_item(split, 0)),
        ("b.concat", concat(some())),
        ("b.halves", concat(split)),
        ("b.pair", concat(is_tuple([some(), some()]))),
        ("b.any", some()),
        ("b.relu_of_item", relu(is_tuple_get_item(some(), 0))),
        ("b.add_of_item", add(is_tuple_get_item(split, 1), some())),
        ("b.multiply", is_op("relax.multiply")(some(), some())),
    ]
    table: list[Any] = []
    for name, pattern in draw.sample(known, draw.randint(1, 6)):
        check = draw.choice([None, None, _on_inputs, _alone])
        table.append((name, pattern, {"root": pattern}, check) if check else (name, pattern))
    return table


def _on_inputs(context: Any) -> bool:
    """Whether the matched call has a parameter as operand, or the match several calls."""
    args = context.matched_expr.args
    names = [str(arg.name) for arg in args if isinstance(arg, relax.Var)]
    return len(context.matched_bindings) > 1 or any(name.startswith("x") for name in names)


def _alone(context: Any) -> bool:
    return not has_leaking_intermediate_variables(context)
