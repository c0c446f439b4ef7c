"""Serialization of nodes, types and modules, for `pickle` and `copy.deepcopy`.

Python's pickle recurses into operands and fails on deep graphs. Here all nodes are written in a
flat sequence, operands before users: sharing is kept, types and constants are written once, and the
depth of the graph does not matter.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable
from typing import Any

from byoc_lab.relay.ir.adt import Clause, Pattern
from byoc_lab.relay.ir.expr import Expr, Function, Op
from byoc_lab.relay.ir.foreign import ForeignModule, ForeignOp, foreign_op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.node import all_slots, set_field
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.ir.unparsed import UnparsedModule
from byoc_lab.relay.ir.visit import post_order


def dump(obj: Any, roots: Iterable[Expr]) -> bytes:
    """`obj` as bytes. roots: expressions that include, with the nodes below them, every node in
    `obj`."""
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=5).dump((list(post_order(*roots)), obj))
    return buffer.getvalue()


def load(data: bytes) -> Any:
    """The object that `dump` wrote. As with any pickle, load only trusted data."""
    return pickle.loads(data)[1]


def reduce(obj: Expr | Type | IRModule) -> tuple[Any, ...]:
    """The `__reduce__` of nodes, types and modules."""
    return load, (dump(obj, roots_of(obj)),)


def roots_of(obj: Expr | Type | IRModule) -> list[Expr]:
    """The expressions that an object holds directly."""
    if isinstance(obj, UnparsedModule):
        return []
    if isinstance(obj, IRModule):
        return [f for f in obj.functions.values() if isinstance(f, Function)]
    return [obj] if isinstance(obj, Expr) else []


class _Pickler(pickle.Pickler):
    """Writes a node as its class and fields."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, ForeignOp):
            return foreign_op, (obj.full_name,)
        if isinstance(obj, Op):
            return Op.get, (obj.name,)
        if isinstance(obj, (Expr, Clause, Pattern)):
            cls: Any = type(obj)
            fields = {name: getattr(obj, name) for name in all_slots(cls) if hasattr(obj, name)}
            return _node, (cls, fields)
        # Recreated by its class, since hashes may depend on object identity.
        if isinstance(obj, Type):
            kind: Any = type(obj)
            return _type, (kind, {name: getattr(obj, name) for name in kind.__slots__})
        if isinstance(obj, ForeignModule):
            return _module, (ForeignModule, vars(obj.plain()))
        if isinstance(obj, IRModule):
            return _module, (type(obj), vars(obj))
        # The class's constructor may take other arguments than the stored fields.
        if isinstance(obj, Exception):
            return _error, (type(obj), obj.args, vars(obj))
        return NotImplemented


def _node(cls: type, fields: dict[str, Any]) -> Any:
    node: Any = object.__new__(cls)
    for name, value in fields.items():
        set_field(node, name, value)
    return node


def _type(cls: type[Type], fields: dict[str, Any]) -> Type:
    return cls(**fields)


def _module(cls: type[IRModule], state: dict[str, Any]) -> IRModule:
    mod = object.__new__(cls)
    vars(mod).update(state)
    return mod


def _error(cls: type[Exception], args: tuple[Any, ...], state: dict[str, Any]) -> Exception:
    error = cls.__new__(cls, *args)
    vars(error).update(state)
    return error
