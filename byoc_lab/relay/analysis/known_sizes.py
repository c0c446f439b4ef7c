"""Unknown sizes: those that follow from the sizes of the inputs, and those that depend on values,
such as the number of nonzero elements.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from byoc_lab.relay.analysis.costs import tensor_types
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op, Tuple, TupleGetItem, Var
from byoc_lab.relay.ir.visit import post_order, post_order_new

SHAPES = ("shape_of", "ndarray_size")
"""The operators whose result depends on the shape of their operand, and not on its values."""

_found: WeakKeyDictionary[Expr, tuple[bool, bool]] = WeakKeyDictionary()


def follows_from_inputs(expr: Expr) -> bool:
    """Whether the shape of a typed expression is known once the shapes of its variables are."""
    for node in post_order_new(expr, _found, lambda node: not isinstance(node, Function)):
        _found[node] = _shape_and_value(node)
    return _found[expr][0]


def _shape_and_value(node: Expr) -> tuple[bool, bool]:
    """Whether the shape of a node, and whether its value, is known once the shapes of variables are
    known."""
    if isinstance(node, (Op, Function)) or not node.is_typed:
        return False, False
    value = isinstance(node, Constant)
    if isinstance(node, Call) and isinstance(node.op, Op):
        if node.op.name in SHAPES:
            value = _found[node.args[0]][0]
        else:
            value = bool(node.args) and all(_found[a][1] for a in node.args)
    elif isinstance(node, (Tuple, TupleGetItem)):
        value = bool(node.parts()) and all(_found[p][1] for p in node.parts())
    if all(ty.is_static for ty in tensor_types(node.checked_type)):
        return True, value
    if isinstance(node, Var):
        return True, False
    if isinstance(node, (Tuple, TupleGetItem)):
        return all(_found[p][0] for p in node.parts()), value
    if not isinstance(node, Call) or not isinstance(node.op, (Op, Function)):
        return False, value
    known = all(_found[a][0] for a in node.args)
    return known and all(_found[a][1] for a in _shape_arguments(node)), value


def deciding_variables(expr: Expr) -> set[Expr]:
    """The variables whose values (not only their shapes) determine the shape of an expression."""
    calls = [n for n in post_order(expr) if isinstance(n, Call)]
    return values_read(*(argument for call in calls for argument in _shape_arguments(call)))


def values_read(*exprs: Expr) -> set[Expr]:
    """The variables whose values (not only their shapes) the expressions depend on."""
    seen: dict[Expr, bool] = {}
    for expr in exprs:
        for node in post_order_new(expr, seen, lambda node: not _is_shape(node)):
            seen[node] = isinstance(node, Var)
    return {node for node, variable in seen.items() if variable}


def _shape_arguments(call: Call) -> list[Expr]:
    """The arguments of a call whose values determine the shape of its result."""
    flags = call.op.get_attr("TShapeDataDependent") if isinstance(call.op, Op) else None
    return [a for a, flag in zip(call.args, flags or (), strict=False) if flag]


def _is_shape(node: Expr) -> bool:
    return isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in SHAPES
