"""Random annotated modules: dataflow with sharing, tuples, lets and ifs, and several kinds of
annotation."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from byoc_lab import relay
from byoc_lab.lab.linting.edits import Edit, Remove, edited
from byoc_lab.passes import AnnotateTarget, InferType, MergeCompilerRegions
from byoc_lab.relay.analysis.annotations import (
    BEGIN,
    begin,
    compiler_of,
    end,
    is_annotation,
)
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order, rebuild

SHAPE = (2, 4)
UNARY = ("abs", "tanh", "negative", "nn.relu", "exp", "sigmoid")
BINARY = ("add", "subtract", "multiply", "maximum")
TARGETS = ("one", "two")
WAYS = ("annotated", "merged", "without default", "by hand", "by hand, merged")


def random_module(seed: int) -> IRModule:
    """An annotated module drawn from a seed; some are invalid."""
    draw = random.Random(seed)
    mod = InferType()(IRModule.from_expr(_function(draw)))
    way = WAYS[seed % len(WAYS)]
    if way.startswith("by hand"):
        out = mod.copy()
        out["main"] = _by_hand(mod["main"], draw)
        mod = InferType()(out)
        return _joined(mod) if way.endswith("merged") else mod
    operators = {t: draw.sample(UNARY + BINARY, draw.randint(1, 5)) for t in TARGETS}
    with _targets(operators):
        mod = InferType()(AnnotateTarget(list(TARGETS))(mod))
    if way == "merged":
        return MergeCompilerRegions()(mod)
    return _without_default(mod) if way == "without default" else mod


def _function(draw: random.Random) -> Function:
    params = [relay.var(n, shape=SHAPE) for n in "xy"]
    pool: list[Expr] = [*params]
    bindings = []
    for n in range(draw.choice([0, 0, 1, 2])):
        value = _dataflow(draw, pool, 3)
        name = relay.var(f"v{n}", shape=SHAPE)
        bindings.append((name, value))
        pool.append(name)
    body = _dataflow(draw, pool, draw.randint(2, 9))
    if draw.random() < 0.2:
        branch = _dataflow(draw, pool, 2)
        inner = relay.If(relay.const(True), body, branch)
        body = _dataflow(draw, [*pool, inner], 2)
    for name, value in reversed(bindings):
        body = relay.Let(name, value, body)
    return Function(params, body)


def _dataflow(draw: random.Random, leaves: list[Expr], size: int) -> Expr:
    pool = list(leaves)
    for _ in range(size):
        kind = draw.random()
        first = draw.choice(pool[-4:])
        if kind < 0.45:
            pool.append(Call(Op.get(draw.choice(UNARY)), [first]))
        elif kind < 0.8:
            pool.append(Call(Op.get(draw.choice(BINARY)), [first, draw.choice(pool)]))
        elif kind < 0.9:
            constant = relay.const(draw.choice([0.5, 1.25]))
            pool.append(Call(Op.get(draw.choice(BINARY)), [first, constant]))
        else:
            pair = relay.Tuple([first, draw.choice(pool)])
            pool.append(relay.TupleGetItem(pair, draw.randint(0, 1)))
    return pool[-1]


@contextmanager
def _targets(operators: dict[str, list[str]]) -> Iterator[None]:
    """Registers the predicates of TARGETS while the block runs."""
    for target, names in operators.items():
        for name in names:
            Op.get(name).set_attr(f"target.{target}", lambda call: True)
    try:
        yield
    finally:
        for target, names in operators.items():
            for name in names:
                Op.get(name).reset_attr(f"target.{target}")


def _by_hand(func: Function, draw: random.Random) -> Function:
    """Begins and ends around some calls, no annotations around the others."""
    chosen = {
        n: draw.choice(TARGETS)
        for n in post_order(func)
        if isinstance(n, Call) and draw.random() < 0.6
    }
    share = draw.random() < 0.5

    def annotate(pre: Expr, post: Expr) -> Expr:
        if pre not in chosen:
            return post
        assert isinstance(post, Call)
        compiler = chosen[pre]
        first = begin(post.args[0], compiler)
        args = [first if share and a is post.args[0] else begin(a, compiler) for a in post.args]
        return end(Call(post.op, args, post.attrs), compiler)

    result = rebuild(func, annotate)
    assert isinstance(result, Function)
    return result


def _joined(mod: IRModule) -> IRModule:
    """Joins neighbouring regions of one compiler if an end is the direct operand of a begin."""
    edits: list[Edit] = []
    func = mod["main"]
    over: dict[Expr, list[Expr]] = {}
    for node in post_order(func):
        for part in node.parts():
            over.setdefault(part, []).append(node)
    for node in post_order(func):
        if is_annotation(node, BEGIN) and is_annotation(node.args[0]):
            before = node.args[0]
            if compiler_of(before) == compiler_of(node) and len(over[before]) == 1:
                edits += [Remove(node), Remove(before)]
    out = mod.copy()
    out["main"] = edited(func, edits)
    return InferType()(out)


def _without_default(mod: IRModule) -> IRModule:
    func = mod["main"]
    default = (n for n in post_order(func) if is_annotation(n) and compiler_of(n) == "default")
    out = mod.copy()
    out["main"] = edited(func, [Remove(n) for n in default])
    return InferType()(out)
