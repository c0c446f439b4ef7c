"""`cut`: makes a part of a function a separate function.

One parameter represents the computation before the part, and the result represents the computation
after it.
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

    func: the part as a function. copies: maps each node that was cut out to its node in the part.
    before: the parameter that represents the computation before the part. given: maps each value
    that the part uses from outside to its replacement. regions: maps each such value inside a
    region to a begin annotation of the region. is_end: whether the part contains the result of the
    function. calls: three counts, without annotations: the calls outside the part that precede its
    last call, the calls in the part, and the calls after it.
    """

    func: Function
    copies: Mapping[Expr, Expr]
    before: Var
    given: Mapping[Expr, Expr]
    regions: Mapping[Expr, Call]
    is_end: bool
    calls: tuple[int, int, int]


def not_function(node: Expr) -> bool:
    """Whether to walk into a node. Function literals are cut out whole."""
    return not isinstance(node, Function)


def is_computing(node: Expr) -> bool:
    """Whether a node calls an operator or a function, but is not an annotation."""
    return isinstance(node, Call) and not is_annotation(node)


def cut(
    func: Function,
    wanted: Collection[Expr],
    type_of: Callable[[Expr], Type | None],
    renamed: Mapping[Expr, Expr],
) -> Part | None:
    """The part of `func` that consists of these nodes; None if `func` has none of them, or has
    nested scopes.

    type_of: returns the type of a node that is computed before the part, or None if it is not
    known. renamed: maps names of functions to the names to use instead.
    """
    order = list(post_order(func.body, enter=not_function))
    if any(opens_scope(node) and not_function(node) for node in order):
        return None
    inside = _without_empty_regions([node for node in order if node in wanted])
    if not inside:
        return None
    outer: dict[Expr, None] = {}  # operands that are computed before the part
    results: dict[Expr, None] = {}  # values that are used after the part
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
    """The nodes, except ends of values that are not among them and begins without a user there."""
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
    """The regions of values: a value belongs to the regions of its operands, up to a
    `compiler_end`."""

    def __init__(self) -> None:
        self._outside: set[Expr] = set()  # nodes outside all regions

    def begin(self, value: Expr) -> Call | None:
        """A begin annotation of the region of a value; None outside all regions."""
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
