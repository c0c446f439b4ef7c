"""Random modules and pattern tables, to test the statements of `explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.backends import Refused
from byoc_lab.passes import (
    AnnotateTarget,
    CanonicalizeOps,
    FoldConstant,
    InferType,
    MergeCompilerRegions,
    MergeComposite,
    PartitionGraph,
    SimplifyInference,
)
from byoc_lab.passes.byoc.inline_regions import InlineRegions
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function
from byoc_lab.relay.ir.visit import post_order, rebuild
from byoc_lab.relay.patterns import DFPattern, is_constant, is_op, is_var, wildcard

TARGET = "random_of_tests"
OTHER = "other_of_tests"
SHAPE = (2, 3)
UNARY = ("tanh", "exp", "nn.relu", "sigmoid", "nn.softmax")
BINARY = ("add", "multiply", "subtract", "nn.bias_add")
OPERATORS = UNARY + BINARY


@dataclass
class Drawn:
    """A module, a back end and a partitioning pipeline.

    The back end has a pattern table and predicates; the pipeline has targets, additional passes
    before and after, and omitted passes.
    """

    mod: IRModule
    table: list[tuple[Any, ...]]
    supports: dict[str, Any]
    targets: list[str] = field(default_factory=lambda: [TARGET])
    first: list[Pass] = field(default_factory=list)
    last: list[Pass] = field(default_factory=list)
    left_out: str = ""
    opt_level: int = 2
    disabled: list[str] = field(default_factory=list)

    def passes(self, table: Sequence[tuple[Any, ...]] | None = None) -> list[Pass]:
        every = [
            InferType(), *self.first, MergeComposite(self.table if table is None else list(table)),
            AnnotateTarget(self.targets), MergeCompilerRegions(), PartitionGraph(), *self.last,
        ]  # fmt: skip
        return [p for p in every if p.name != self.left_out]

    @property
    def context(self) -> PassContext:
        return PassContext(opt_level=self.opt_level, disabled_pass=self.disabled)

    def said(self, sentence: object) -> str:
        """A sentence with its subject, for the message of a failed test."""
        names = [p.name for p in self.passes()]
        level = f"opt_level={self.opt_level}, disabled_pass={self.disabled}"
        return f"{self.mod}\n{self.table}\n{names} on {self.targets}, {level}\n{sentence}"


def drawn(seed: int) -> Drawn:
    random = Random(seed)
    mod = InferType()(IRModule.from_expr(_body(random)))
    calls = [n for n in post_order(mod["main"]) if isinstance(n, Call)][-3:]
    table = [
        (
            f"{TARGET}.{n}",
            _pattern(random, random.randint(1, 3), random.choice(calls)),
            _check(random),
        )
        for n in range(random.randint(1, 4))
    ]
    supports = {name: _predicate(random) for name in OPERATORS if random.random() < 0.1}
    return Drawn(mod, table, supports)


def between_lets(seed: int) -> Drawn:
    """The case of a seed with some calls bound by lets.

    The patterns were drawn for the module without lets; a module that has lets already is
    unchanged.
    """
    random = Random(f"{seed} between lets")
    case = drawn(seed)
    nodes = list(post_order(case.mod["main"].body))
    if any(isinstance(n, relay.Let) for n in nodes):
        return case
    chosen = {n for n in nodes if isinstance(n, Call) and random.random() < 0.3}
    lets: list[tuple[relay.Var, Expr]] = []

    def bound(pre: Expr, post: Expr) -> Expr:
        if pre not in chosen:
            return post
        lets.append((relay.Var(f"bound{len(lets)}"), post))
        return lets[-1][0]

    out: Expr = rebuild(case.mod["main"].body, bound)
    for variable, value in reversed(lets):
        out = relay.Let(variable, value, out)
    case.mod = InferType()(IRModule.from_expr(out))
    return case


def otherwise_partitioned(seed: int) -> Drawn:
    """The case of a seed with an unusual pipeline, on a module that passes can simplify.

    Tests the causes that are faults of the pipeline.
    """
    random = Random(f"{seed} otherwise")
    case = drawn(seed)
    if random.random() < 0.5:
        case.mod = InferType()(_with_dead_weight(case.mod, random))
    kind = random.randrange(6)
    if kind == 0:
        least = random.randint(2, 4)
        case.last = [InlineRegions(TARGET, partial(_why_small, least=least))]
    elif kind == 1:
        names = random.choice(([OTHER], [OTHER, TARGET], [TARGET, OTHER]))
        case.targets = names
    elif kind == 2:
        prefix = random.choice(("", "odd.", f"{OTHER}."))
        case.table = [(f"{prefix}{n.rpartition('.')[2]}", p, c) for n, p, c in case.table]
    elif kind == 3:
        case.left_out = random.choice(("AnnotateTarget", "PartitionGraph", "MergeCompilerRegions"))
    elif kind == 4:
        case.first = [CanonicalizeOps(), SimplifyInference(), FoldConstant()]
        case.opt_level = random.choice((0, 1, 2, 3))
    else:
        case.first = random.choice(([FoldConstant()], [SimplifyInference(), FoldConstant()]))
        case.disabled = random.choice(([], ["FoldConstant"], ["SimplifyInference"]))
    return _around_the_host(random) if random.random() < 0.1 else case


def _around_the_host(random: Random) -> Drawn:
    """Two regions with a direct edge and a path through the host: merged, they would form a cycle.

    A later pass returns small regions to the host.
    """
    host, *others = random.sample(UNARY, 3)
    value: Expr = relay.var("x", shape=SHAPE)
    for _ in range(random.randint(1, 2)):
        value = unary(random.choice(others), value)
    around = value
    for _ in range(random.randint(1, 2)):
        around = unary(host, around)
    last = getattr(relay, random.choice(("add", "multiply", "subtract")))
    out = last(value, around) if random.random() < 0.5 else last(around, value)
    if random.random() < 0.5:
        out = unary(random.choice(others), out)
    mod = InferType()(IRModule.from_expr(out))
    supports = {name: lambda call: True for name in (*others, *BINARY)}
    least = random.randint(2, 4)
    small = InlineRegions(TARGET, partial(_why_small, least=least))
    return Drawn(mod, [(f"{TARGET}.never", is_op("erf")(wildcard()), None)], supports, last=[small])


def unary(name: str, value: Expr) -> Expr:
    home = nn if name.startswith("nn.") else relay
    return getattr(home, name.removeprefix("nn."))(value)


def _with_dead_weight(mod: IRModule, random: Random) -> IRModule:
    """The module with a dropout on the result of one random call, and 1 added to each constant."""
    calls = [n for n in post_order(mod["main"].body) if isinstance(n, Call)]
    chosen = random.choice(calls)

    def simplifiable(pre: Expr, post: Expr) -> Expr:
        if isinstance(pre, Constant):
            return relay.add(post, relay.const(np.float32(1)))
        return nn.dropout(post) if pre is chosen else post

    return IRModule.from_expr(rebuild(mod["main"], simplifiable).body)


def _why_small(function: Function, least: int) -> str | None:
    calls = sum(isinstance(n, Call) and bool(n.op_name) for n in post_order(function.body))
    return f"has {calls} operators" if calls < least else None


# Modules ------------------------------------------------------------------------------------------


def _body(random: Random) -> Expr:
    value = relay.var("x", shape=SHAPE)
    values: list[Expr] = [value]
    lets: list[tuple[relay.Var, Expr]] = []
    for number in range(random.randint(2, 7)):
        node = _call(random, values)
        if random.random() < 0.1:
            variable = relay.var(f"v{number}")
            lets.append((variable, node))
            node = variable
        values.append(node)
    last = values[-random.randint(1, 2) :]
    out: Expr = relay.Tuple(last) if len(last) > 1 else last[0]
    for variable, bound in reversed(lets):
        out = relay.Let(variable, bound, out)
    return out


def _call(random: Random, values: list[Expr]) -> Expr:
    recent = values[-1] if random.random() < 0.6 else random.choice(values)
    name = random.choice(OPERATORS)
    if name == "nn.softmax":
        return nn.softmax(recent, axis=random.choice((0, 1, -1)))
    if name == "nn.bias_add":
        return nn.bias_add(recent, _constant((3,)))
    op = getattr(relay, name) if "." not in name else nn.relu
    if name in UNARY:
        return op(recent)
    other = random.choice([*values, _constant(SHAPE), relay.var("w", shape=SHAPE)])
    return op(recent, other) if random.random() < 0.7 else op(other, recent)


def _constant(shape: tuple[int, ...]) -> Expr:
    return relay.const(np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape).astype("float32"))


# Patterns -----------------------------------------------------------------------------------------


def _pattern(random: Random, depth: int, like: Expr | None = None) -> DFPattern:
    """A pattern that mostly matches `like`, with some changes."""
    there = like if isinstance(like, Call) and random.random() < 0.93 else None
    name = there.op_name if there is not None else random.choice(OPERATORS)
    args = [there.args[0] if there is not None else None, there.args[-1] if there else None]
    callee = _callee(random, name)
    operands = [_operand(random, depth - 1, args[0])]
    if name in BINARY:
        operands.append(_operand(random, min(depth - 1, 1), args[1]))
    found: DFPattern = callee(*operands)
    kind = random.random()
    if kind < 0.1 and depth > 1:
        path = _callee(random, random.choice(UNARY))(wildcard())
        end = _callee(random, name)(*[wildcard() for _ in operands])
        found = end.dominates(_pattern(random, depth - 1, args[0]), path)
    elif kind < 0.2 and depth > 1:
        found = found | _pattern(random, depth - 1, like)
    elif kind < 0.25:
        found = found.has_dtype(random.choice(("float32", "float32", "float16")))
    elif kind < 0.3 and name in ("nn.softmax", "nn.bias_add"):
        found = found.has_attr({"axis": random.choice((0, -1))})
    return found


def _callee(random: Random, name: str) -> DFPattern:
    first = is_op(name)
    others = [n for n in (UNARY if name in UNARY else BINARY) if n != name]
    kind = random.random()
    if kind < 0.2:
        return is_op(random.choice(others)) | first
    if kind < 0.3:
        return (is_op(random.choice(others)) | first) | is_op(random.choice(others))
    if kind < 0.35:
        return first.has_attr({"TOpPattern": 0})
    if kind < 0.37:
        return wildcard()
    return first


def _operand(random: Random, depth: int, like: Expr | None) -> DFPattern:
    if depth <= 0 or random.random() < 0.2 or not isinstance(like, Call):
        leaf = random.choice((is_constant, is_var)) if random.random() < 0.2 else wildcard
        return leaf()
    inner = _pattern(random, depth, like)
    if random.random() < 0.3:
        name = random.choice(UNARY)
        return inner.optional(lambda value: is_op(name)(value))
    return inner


# Verification -----------------------------------------------------------------------------------


def _check(random: Random) -> Any:
    name = random.choice(OPERATORS)
    return random.choice((
        None, None, None, lambda root: True, lambda root: False, lambda root: Refused("no"),
        lambda root: [False], lambda root: root.op_name != name,
        lambda root: any(isinstance(a, Call) and a.op_name == name for a in root.args),
        lambda root: root.op.name != name,
    ))  # fmt: skip


def _predicate(random: Random) -> Any:
    return random.choice((lambda call: True, lambda call: Refused("not this one")))
