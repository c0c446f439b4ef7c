"""Groups of operators that run as one kernel: FuseOps creates a function for each group.

A value is fused with its post-dominator, the first node on all paths from the value to the result,
if all nodes on these paths may be fused (so both arms of a diamond are fused, or neither). The
`OpPattern` of an operator determines how it may be fused; an operator whose result shape depends on
the values of an argument is not fused. Three phases: convolutions and similar operators with the
element-wise operators after them; then injective operators with each other; then the operands of
tuples that were fused.

Source: src/relay/analysis/graph_partitioner.cc and src/relay/transforms/fuse_ops.cc of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op, Tuple, TupleGetItem
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.op.framework.registry import OpPattern

ELEMWISE, BROADCAST, INJECTIVE = OpPattern.ELEMWISE, OpPattern.BROADCAST, OpPattern.INJECTIVE
REDUCE, ANCHOR, TUPLE = OpPattern.COMM_REDUCE, OpPattern.OUT_ELEMWISE_FUSABLE, OpPattern.TUPLE
OPAQUE = OpPattern.OPAQUE
# Scalars of these dtypes are written into the code of the fused function.
_INLINE_DTYPES = ("int32", "int64", "float32", "float64", "bool")


@dataclass(eq=False)
class Node:
    """A value, its users, and the state of its fusion.

    escapes: the value is also used where nothing is fused (a result, a branch, a let). users: each
    with the pattern of the edge. dominator: the immediate post-dominator; depth: its distance from
    the end; over_path: the least fusable pattern on the paths to it. parent: the node into whose
    group this node's group was merged, None for the representative of a group. The pattern, size
    and anchored (whether it contains a convolution or similar operator) of a representative
    describe the whole group.
    """

    expr: Expr
    pattern: OpPattern = OPAQUE
    escapes: bool = False
    users: list[tuple[Node, OpPattern]] = field(default_factory=list)
    dominator: Node | None = None
    depth: int = 1
    over_path: OpPattern = OPAQUE
    parent: Node | None = None
    size: int = 1
    anchored: bool = False

    @property
    def group(self) -> Node:
        """The representative of the group: the last node, whose value is the group's result."""
        last = self
        while last.parent is not None:
            last = last.parent
        node = self
        while node.parent is not None:  # path compression: later lookups take one step
            node.parent, node = last, node.parent
        return last


def fusion_groups(func: Function, opt_level: int, max_depth: int) -> dict[Expr, Node]:
    """A Node for each value in `func`; nodes of one group have the same `node.group`.

    opt_level: level 0 disables fusion. max_depth: the maximum number of nodes per group.
    """
    nodes = _graph(func)
    if opt_level > 0:
        for node in reversed(nodes.values()):
            _find_dominator(node)
        for phase in range(3):
            for node in nodes.values():
                _fuse(node, phase, max_depth)
    return nodes


# The graph ---------------------------------------------------------------------------------------


def _graph(func: Function) -> dict[Expr, Node]:
    """The values of `func`, operands first, each with its users."""
    order = list(post_order(func, enter=lambda n: not _is_external(n)))
    nodes = {n: Node(n) for n in order if not isinstance(n, (Function, Op))}
    for expr in order:
        node = nodes.get(expr)
        if node is None:
            _let_escape(nodes, () if _is_external(expr) else expr.parts())
        elif isinstance(expr, Constant):
            inline = not expr.data.shape and expr.data.dtype in _INLINE_DTYPES
            node.pattern = ELEMWISE if inline else OPAQUE
        elif isinstance(expr, Call):
            _add_call(nodes, node, expr)
        elif isinstance(expr, Tuple):
            node.pattern = TUPLE
            for f in expr.fields:
                if f in nodes and isinstance(f.checked_type, TensorType):
                    nodes[f].users.append((node, INJECTIVE))
                else:
                    _let_escape(nodes, [f])
        elif isinstance(expr, TupleGetItem) and _holds_tensors(expr.tuple_value):
            node.pattern = INJECTIVE
            nodes[expr.tuple_value].users.append((node, INJECTIVE))
        else:
            _let_escape(nodes, expr.parts())
    for node in nodes.values():
        node.anchored = node.pattern == ANCHOR
    return nodes


def _is_external(expr: Expr) -> bool:
    return isinstance(expr, Function) and "Compiler" in expr.attrs


def _let_escape(nodes: dict[Expr, Node], parts: Iterable[Expr]) -> None:
    for part in parts:
        if part in nodes:
            nodes[part].escapes = True


def _holds_tensors(value: Expr) -> bool:
    ty = value.checked_type
    return isinstance(ty, TupleType) and all(isinstance(f, TensorType) for f in ty.fields)


def _add_call(nodes: dict[Expr, Node], node: Node, call: Call) -> None:
    if isinstance(call.op, Op):
        opaque = call.op.get_attr("TShapeDataDependent") and _is_dynamic(call.checked_type)
        node.pattern = OPAQUE if opaque else OpPattern(call.op.definition.pattern)
    else:
        _let_escape(nodes, [call.op])
    result = call.checked_type
    for arg in call.args:
        edge = node.pattern
        ty = arg.checked_type
        # For an argument with the shape of the result, a broadcast operator is element-wise.
        if edge == BROADCAST and isinstance(ty, TensorType) and isinstance(result, TensorType):
            edge = ELEMWISE if ty.shape == result.shape else edge
        if arg in nodes:
            nodes[arg].users.append((node, edge))


def _is_dynamic(ty: Type) -> bool:
    """Whether the shape of a tensor, or of a tensor in a tuple, is unknown."""
    if isinstance(ty, TupleType):
        return any(map(_is_dynamic, ty.fields))
    return isinstance(ty, TensorType) and not ty.is_static


# Post-dominators ---------------------------------------------------------------------------------


def _find_dominator(node: Node) -> None:
    """Find the node on all paths from `node`; the dominators of its users are known."""
    if node.escapes or not node.users:
        return
    (dominator, worst), *others = node.users
    worst = max(ELEMWISE, worst)
    common: Node | None = dominator
    for user, edge in others:
        common, on_the_way = _meet(common, user)
        worst = max(worst, on_the_way, edge)
    node.dominator, node.over_path = common, worst
    node.depth = common.depth + 1 if common else 1


def _meet(a: Node | None, b: Node | None) -> tuple[Node | None, OpPattern]:
    """The first common post-dominator of two nodes, or None, and the least fusable pattern on the
    paths to it."""
    worst = ELEMWISE
    while a is not b:
        if a is None or b is None:
            return None, worst
        deeper_a, deeper_b = a.depth >= b.depth, b.depth >= a.depth
        if deeper_a:
            worst, a = max(worst, a.over_path), a.dominator
        if deeper_b:
            worst, b = max(worst, b.over_path), b.dominator
    return a, worst


# Fusing ------------------------------------------------------------------------------------------


def _fuse(node: Node, phase: int, max_depth: int) -> None:
    """Merge `node`, and all nodes on the paths to its dominator, if this is the phase for it."""
    sink, own = node.dominator, node.pattern
    if own == OPAQUE or sink is None or _too_many(node, sink, max_depth):
        return
    if phase == 2:
        # The operands of a tuple that was fused into an injective operator are fused with that
        # operator.
        inside = sink.pattern == TUPLE and sink.group.pattern <= INJECTIVE
        if own <= INJECTIVE and inside and _all_on_the_way(node, sink, _is_injective):
            _join(node, sink)
        return
    if node.group is sink.group or sink.pattern == TUPLE:
        return
    if own == ANCHOR:
        if phase == 0 and node.over_path == ELEMWISE and _all_on_the_way(node, sink, _is_simple):
            _join(node, sink)
    elif own <= BROADCAST:
        along = node.over_path <= INJECTIVE or node.over_path == REDUCE
        if along and _all_on_the_way(node, sink, _takes_simple):
            _join(node, sink)
    elif own in (INJECTIVE, TUPLE) and phase == 1 and _all_on_the_way(node, sink, _is_injective):
        _join(node, sink)


def _is_simple(pattern: OpPattern, at_end: bool) -> bool:
    return pattern <= BROADCAST


def _is_injective(pattern: OpPattern, at_end: bool) -> bool:
    return pattern <= INJECTIVE


def _takes_simple(pattern: OpPattern, at_end: bool) -> bool:
    """An element-wise operator may also end in a reduction or in a group with a convolution."""
    return pattern <= INJECTIVE or (at_end and pattern in (REDUCE, ANCHOR))


def _all_on_the_way(source: Node, sink: Node, fits: Callable[[OpPattern, bool], bool]) -> bool:
    """Whether the groups of all nodes between `source` and `sink`, and the group of `sink`, satisfy
    `fits`."""
    seen: set[Node] = set()
    todo = [user for user, _ in source.users]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        if not fits(node.group.pattern, node is sink):
            return False
        if node is not sink:
            todo += [user for user, _ in node.users]
    return True


def _too_many(source: Node, sink: Node, max_depth: int) -> bool:
    """Whether merging the paths to `sink` into its group would exceed the maximum number of nodes.

    As in TVM, each node on a path counts with the size of its group when it was last the
    representative.
    """
    count = sink.group.size
    seen: set[Node] = set()
    todo = [source]
    while todo and count <= max_depth:
        node = todo.pop()
        if node is not sink and node not in seen:
            seen.add(node)
            count += node.size
            todo += [user for user, _ in node.users]
    return count > max_depth


def _join(source: Node, sink: Node) -> None:
    """Merge `source`, `sink` and all nodes between them into one group."""
    seen: set[Node] = set()
    todo = [source]
    while todo:
        node = todo.pop()
        if node is sink or node in seen:
            continue
        seen.add(node)
        child, target = node.group, sink.group
        if child is not target:
            target.size += child.size
            child.parent = target
            if child.anchored:
                target.anchored = True
                target.pattern = max(child.pattern, target.pattern)
        todo += [user for user, _ in node.users]
