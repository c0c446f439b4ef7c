"""Finding the matches of a pattern in a whole graph, and moving each into a function.

Candidates are tried from the end of the graph backwards, and the first match claims its nodes. A
match is rejected if one of its nodes is already claimed, or has a user outside the match whose
result does not flow back into the match. Inputs are not part of a match, so a pattern that is only
a wildcard or a variable moves nothing (except operators and functions).

For speed, only calls of operators that can be the root of a match are candidates
(`root_operators`), and users outside are checked in the dominator tree of the graph. So the cost is
one walk over the graph, and one match per candidate.

Source: `PatternGrouper` and `PatternPartitioner` of TVM 0.16 (src/relay/ir/dataflow_matcher.cc).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Op,
    Tuple,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.ir.visit import post_order, rebuild
from byoc_lab.relay.patterns.below import post_order_patterns, root_operators
from byoc_lab.relay.patterns.indexed_graph import IndexedGraph
from byoc_lab.relay.patterns.matcher import Taken, find_match
from byoc_lab.relay.patterns.patterns import (
    CallPattern,
    ConstantPattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    TuplePattern,
)


@dataclass(eq=False)
class Group:
    """One match: its root, its inputs, and the function it becomes.

    nodes: all nodes in the function. body: the nodes that no other match may contain. copied: input
    -> its parameter; node -> its copy in the function.
    """

    root: Expr
    inputs: list[Expr]
    function: Function
    taken: Taken
    nodes: list[Expr]
    body: set[Expr]
    copied: dict[Expr, Expr]


def find_groups(pattern: DFPattern, graph: IndexedGraph) -> list[Group]:
    """The matches of `pattern`, from the end of the graph to its beginning."""
    groups: list[Group] = []
    claimed: set[Expr] = set()
    moved: set[Expr] = set()
    attempts = 0
    for root in _candidates(pattern, graph):
        if root in moved or root in graph.partitioned:
            continue
        taken = find_match(pattern, root, graph)
        if taken is None:
            continue
        group = _extract(pattern, root, taken, attempts)
        attempts += 1  # a rejected match has a number too
        if group.nodes and _may_be_moved(group, graph, claimed):
            claimed |= group.body
            moved.update(group.nodes)
            groups.append(group)
    return groups


def group_at(pattern: DFPattern, root: Expr, graph: IndexedGraph) -> Group | None:
    """The match with root `root`, even if it must not be moved; None without a match."""
    taken = find_match(pattern, root, graph)
    return None if taken is None else _extract(pattern, root, taken, 0)


def _candidates(pattern: DFPattern, graph: IndexedGraph) -> Iterable[Expr]:
    ops = root_operators(pattern)
    if ops is None:
        return reversed(graph.nodes)
    calls = [c for name in ops for c in graph.calls_of.get(name, ())]
    if len(ops) > 1:
        calls.sort(key=graph.index.__getitem__)
    return reversed(calls)


def _may_be_moved(group: Group, graph: IndexedGraph, claimed: set[Expr]) -> bool:
    for node in group.body:
        if node in claimed:
            return False
        if node is group.root:
            continue
        for user in graph.outputs[node]:
            if user not in group.body and not graph.dominates(group.root, user):
                return False
    return True


def _extract(pattern: DFPattern, root: Expr, taken: Taken, number: int) -> Group:
    inputs = _inputs(pattern, taken)
    params = {e: Var(f"FunctionVar_{number}_{k}") for k, e in enumerate(inputs)}
    copied: dict[Expr, Expr] = dict(params)
    nodes: list[Expr] = []

    def copy(pre: Expr, post: Expr) -> Expr:
        nodes.append(pre)
        return post

    result = rebuild(root, copy, memo=copied)
    attrs = {"PartitionedFromPattern": "".join(map(_name, nodes))}
    function = Function(list(params.values()), result, attrs=attrs)
    body = {node for node in nodes if not isinstance(node, (Op, Function, Constant))}
    return Group(root, inputs, function, taken, nodes, body, copied)


def _name(node: Expr) -> str:
    if isinstance(node, Call):
        return f"{node.op.name}_" if isinstance(node.op, Op) else "Call_"
    if isinstance(node, TupleGetItem):
        return f"TupleGetItem{node.index}_"
    if isinstance(node, Function):
        return "Function"
    return {Tuple: "Tuple_", Let: "Let_", If: "If_"}.get(type(node), "")


def _inputs(pattern: DFPattern, taken: Taken) -> list[Expr]:
    """The inputs of the match, in the order in which the pattern mentions them."""
    patterns = [p for p in post_order_patterns(pattern) if p in taken]
    inside = _embedded_constants(pattern, taken)
    for p in patterns:
        if isinstance(p, FunctionPattern):
            inside.update(post_order(*taken[p]))
        elif isinstance(p, DominatorPattern):
            inside.update(taken[p.parent], taken.get(p.path, ()))
    found: dict[Expr, None] = {}
    for p in patterns:
        for expr in taken[p]:
            for leaf in _leaves(p, expr):
                if not isinstance(leaf, (Op, Function)) and leaf not in inside:
                    found[leaf] = None
    return list(found)


def _leaves(pattern: DFPattern, expr: Expr) -> Sequence[Expr]:
    """The expressions that `pattern` matched without its sub-patterns."""
    if isinstance(pattern, TuplePattern) and pattern.fields is None:
        return expr.parts()
    if isinstance(pattern, CallPattern) and pattern.args is None and isinstance(expr, Call):
        return expr.args
    return () if pattern.children() else (expr,)


def _embedded_constants(pattern: DFPattern, taken: Taken) -> set[Expr]:
    """Constants that constant patterns matched; they are put into the function."""
    found: set[Expr] = set()
    todo = [pattern]
    seen: set[DFPattern] = set()
    while todo:
        p = todo.pop()
        if p not in taken or p in seen:
            continue
        seen.add(p)
        if isinstance(p, (ConstantPattern, ExprPattern)):
            found.update(e for e in taken[p] if isinstance(e, Constant))
        todo += p.children()
    return found


def partition(
    pattern: DFPattern,
    expr: Expr,
    attrs: Mapping[str, Any] | None = None,
    check: Callable[[Expr], bool] = lambda expr: True,
    *,
    graph: IndexedGraph | None = None,
    on_match: Callable[[Expr, Expr, Group], None] | None = None,
    memo: dict[Expr, Expr] | None = None,
) -> Expr:
    """`expr` with every match that `check` accepts replaced by a call of a function literal.

    The function has the attribute `PartitionedFromPattern` (its operators) and `attrs`. `graph` may
    be an existing index of `expr`; `on_match(before, after, group)` is called for each replacement,
    and `memo` receives the result for each node.
    """
    groups = {g.root: g for g in find_groups(pattern, graph or IndexedGraph(expr))}
    if not groups:
        return expr
    memo = {} if memo is None else memo

    def rewrite(pre: Expr, post: Expr) -> Expr:
        group = groups.get(pre)
        if group is None or not check(pre):
            return post
        function = group.function.with_attr(dict(attrs or {}))
        call = Call(function, [memo[i] for i in group.inputs], span=pre.span)
        if on_match:
            on_match(pre, call, group)
        return call

    return rebuild(expr, rewrite, memo=memo)
