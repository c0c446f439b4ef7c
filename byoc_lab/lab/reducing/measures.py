"""Measures of modules: size, and the distance of two modules."""

from __future__ import annotations

from collections import Counter

from byoc_lab.errors import UntypedError
from byoc_lab.lab.reducing.edits import COMPOSITE
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op, TupleGetItem, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.ir.visit import post_order

Size = tuple[int, ...]


def operator_calls(mod: IRModule) -> int:
    """The number of operator calls of a module."""
    return sum(
        isinstance(n, Call) and isinstance(n.op, Op)
        for func in mod.functions.values()
        for n in post_order(func.body)
    )


def size_of(mod: IRModule) -> Size:
    """The size of a module, as a tuple; a smaller tuple means a smaller module.

    In order: operator calls, other nodes, functions and leaves, tensor constants, the elements of
    parameters and constants, and last the attributes and values that could be simpler.
    """
    calls = nodes = leaves = tensors = elements = attributes = values = 0
    for func in mod.functions.values():
        leaves += len(func.params)
        elements += sum(_elements(p) for p in func.params)
        attributes += len(func.attrs)
        for node in post_order(func.body):
            if isinstance(node, Constant):
                leaves += 1
                tensors += bool(node.data.shape)
                elements += _elements(node)
                values += _complexity(node)
            elif isinstance(node, Function):
                nodes += 1
                attributes += len(node.attrs)
            elif isinstance(node, COMPOSITE):
                if isinstance(node, Call) and isinstance(node.op, Op):
                    calls += 1
                    attributes += len(chosen_attributes(node))
                else:
                    nodes += 1
    functions = len(mod.functions) + len(mod.type_definitions)
    attributes += len(mod.attrs)
    return calls, nodes, functions, leaves, tensors, elements, attributes, values


def chosen_attributes(call: Call) -> list[str]:
    """The attributes of a call that differ from their defaults."""
    if call.attrs is None or call.attrs.schema is None:
        return []
    fields = call.attrs.schema.by_name
    return [
        name
        for name, value in call.attrs.items()
        if not _is_required(fields[name].default) and value != fields[name].default
    ]


def _is_required(default: object) -> bool:
    return type(default).__name__ == "Required"


def extents(ty: Type | None) -> list[int]:
    """The fixed dimension sizes in a tensor type or a tuple of them."""
    if isinstance(ty, TensorType):
        return [int(n) for n in ty.shape if isinstance(n, int)]
    if isinstance(ty, TupleType):
        return [n for field in ty.fields for n in extents(field)]
    return []


def _elements(leaf: Expr) -> int:
    """The sum of the dimension sizes; in a product, a small change of one size would be
    invisible."""
    if isinstance(leaf, Constant):
        return sum(leaf.data.shape)
    assert isinstance(leaf, Var)
    return sum(extents(leaf.type_annotation))


def _complexity(constant: Constant) -> int:
    """0 for zeros, 1 for ones, 2 for other values."""
    array = constant.numpy()
    if not array.any():
        return 0
    return 1 if (array == 1).all() else 2


def distance(a: IRModule, b: IRModule) -> int:
    """The number of nodes (with types and attributes) and of edges between operators that only one
    of two modules has."""
    one, two = _labels(a), _labels(b)
    return (one - two).total() + (two - one).total()


def _labels(mod: IRModule) -> Counter[tuple[object, ...]]:
    found: Counter[tuple[object, ...]] = Counter()
    for gv, func in mod.functions.items():
        found["function", gv.name_hint, repr(func.attrs)] += 1
        for node in post_order(func):
            found[_label(node)] += 1
            for position, part in enumerate(node.parts()):
                found["edge", position, _name(node), _name(part)] += 1
    return found


def _name(node: Expr) -> str:
    return getattr(node, "op_name", "") or type(node).__name__


def _label(node: Expr) -> tuple[object, ...]:
    kind = type(node).__name__
    if isinstance(node, Op):
        return kind, node.name
    if isinstance(node, Function):
        return kind, repr(node.attrs)
    if isinstance(node, Constant):
        return kind, node.data.shape, str(node.data.dtype), _complexity(node)
    try:
        ty = str(node.checked_type)
    except UntypedError:
        ty = ""
    if isinstance(node, Call):
        return kind, node.op_name, repr(node.attrs), ty
    return kind, node.index if isinstance(node, TupleGetItem) else "", ty
