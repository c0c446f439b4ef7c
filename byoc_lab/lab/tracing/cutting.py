"""`cut`: a part of a function as a separate function.

One parameter stands for what is computed before the part, and the result for what is computed later
with its values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from byoc_lab.relay.analysis.annotations import BEGIN, END, is_annotation
from byoc_lab.relay.ir.expr import Call, Expr, Function, Tuple, TupleGetItem, Var
from byoc_lab.relay.ir.types import TupleType, Type
from byoc_lab.relay.ir.variables import free_vars
from byoc_lab.relay.ir.visit import is_dataflow, opens_scope, post_order, rebuild


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a function.

    func: the part. copies: the node of it for each node that was cut out. before: the parameter
    that stands for what is computed before. given: for each such node that the part uses, what
    stands for it. regions: for those of them that are in regions, a begin of the region. is_end:
    whether the part has the result of the function. calls: how many the function has before the
    last one of the part, without those of the part; in the part; and after it. Annotations do not
    count.
    """

    func: Function
    copies: Mapping[Expr, Expr]
    before: Var
    given: Mapping[Expr, Expr]
    regions: Mapping[Expr, Call]
    is_end: bool
    calls: tuple[int, int, int]


def not_function(node: Expr) -> bool:
    """Whether to walk into a node: function literals are cut out whole."""
    return not isinstance(node, Function)


def is_computing(node: Expr) -> bool:
    """Whether a node calls an operator or a function, annotations aside."""
    return isinstance(node, Call) and not is_annotation(node)


def cut(
    func: Function,
    wanted: Collection[Expr],
    type_of: Callable[[Expr], Type | None],
    renamed: Mapping[Expr, Expr],
) -> Part | None:
    """The part of `func` that has these of its nodes; None if it has none of them, or has nested
    scopes.

    type_of: the type of a node that is computed before the part, or
    None if it is not known. renamed: names of functions, and those to use instead.
    """
    order = list(post_order(func.body, enter=not_function))
    if any(opens_scope(node) and not_function(node) for node in order):
        return None
    inside = _without_empty_regions([node for node in order if node in wanted])
    if not inside:
        return None
    outer: dict[Expr, None] = {}  # operands that are computed before
    results: dict[Expr, None] = {}  # values that are used later
    for node in filter(not_function, order):
        for part in node.parts():
            if (part in inside) is not (node in inside) and is_dataflow(part):
                (outer if node in inside else results)[part] = None
    types = [ty for value in outer if (ty := type_of(value)) is not None]
    known = TupleType(types) if len(types) == len(outer) else None
    before = Var("computed_before", known)
    given: dict[Expr, Expr] = {value: TupleGetItem(before, n) for n, value in enumerate(outer)}
    search = _Regions()
    regions = {v: found for v in outer if (found := search.begin(v)) is not None}
    copies = {**renamed, **given}
    is_end = func.body in inside
    values = [func.body] if is_end else list(results)
    ends = [rebuild(value, lambda pre, post: post, memo=copies) for value in values]
    body = ends[0] if is_end else Tuple(ends)
    for node in (*renamed, *given):
        del copies[node]
    last = max(n for n, node in enumerate(order) if node in inside)
    within, total = sum(map(is_computing, inside)), sum(map(is_computing, order))
    after = sum(map(is_computing, order[last + 1 :]))
    calls = total - within - after, within, after
    func = Function(free_vars(body), body)
    return Part(func, copies, before, given, regions, is_end, calls)


def _without_empty_regions(nodes: list[Expr]) -> dict[Expr, None]:
    """The nodes without annotations whose region is outside."""
    inside = dict.fromkeys(nodes)
    for node in nodes:
        if is_annotation(node, END) and node.args[0] not in inside:
            del inside[node]
    used = {part for node in inside for part in node.parts()}
    for node in nodes:
        if is_annotation(node, BEGIN) and node not in used:
            inside.pop(node, None)
    return inside


class _Regions:
    """The regions that values are in: a value is in the regions of its operands, up to a
    `compiler_end`."""

    def __init__(self) -> None:
        self._outside: set[Expr] = set()  # nodes that are in no region

    def begin(self, value: Expr) -> Call | None:
        """A begin of the region that a value is in; None outside all regions."""
        seen: set[Expr] = set()
        todo = [value]
        while todo:
            node = todo.pop()
            if node in seen or node in self._outside or is_annotation(node, END):
                continue
            if is_annotation(node, BEGIN):
                return node
            seen.add(node)
            if is_dataflow(node):
                todo += node.parts()
        self._outside |= seen
        return None
