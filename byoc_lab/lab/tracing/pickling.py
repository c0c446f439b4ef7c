"""Serialization of traces, in which each node, type and constant is stored once.

Stages share nearly all of their nodes, but the pickle of a node contains its operands as text. So
the nodes of all stages are stored first, operands before users: each node refers to operands that
are already stored. The size is linear in the number of nodes, and the depth of the graph does not
matter.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from byoc_lab.relay.ir.adt import Clause, Pattern
from byoc_lab.relay.ir.expr import Expr, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.node import all_slots, set_field
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.ir.visit import post_order

if TYPE_CHECKING:
    from byoc_lab.lab.tracing.stages import Stage, Trace


def to_bytes(trace: Trace) -> bytes:
    """A trace as bytes, without the values that are computed on demand."""
    buffer = io.BytesIO()
    nodes = list(post_order(*_roots(trace.stages)))
    _Pickler(buffer, protocol=5).dump((nodes, trace.stages, trace.title, trace.error))
    return buffer.getvalue()


def from_bytes(data: bytes) -> Trace:
    """The trace that `to_bytes` stored."""
    from byoc_lab.lab.tracing.stages import Trace

    _, stages, title, error = pickle.loads(data)
    return Trace(stages, title, error)


class _Pickler(pickle.Pickler):
    """Stores a node as its fields, which are stored before it."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Op):
            return Op.get, (obj.name,)
        if isinstance(obj, (Expr, Clause, Pattern)):
            cls: Any = type(obj)
            fields = {name: getattr(obj, name) for name in all_slots(cls) if hasattr(obj, name)}
            return _node, (cls, fields)
        if isinstance(obj, Type):  # constructed again, because its hash may depend on an object id
            kind: Any = type(obj)
            return _type, (kind, {name: getattr(obj, name) for name in kind.__slots__})
        if isinstance(obj, IRModule):
            # `_define`, which defines functions on demand, is code. Defined functions are stored.
            return _module, (type(obj), {**vars(obj), "_define": None})
        if isinstance(obj, Exception):  # without calling its constructor
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


def _roots(stages: Iterable[Stage]) -> Iterator[Expr]:
    """The expressions from which all nodes of a trace are reachable."""
    for stage in stages:
        for mod in (stage.before, stage.after):
            if mod is not None:
                yield from (f for f in mod.functions.values() if isinstance(f, Function))
        rounds = {event.round for event in stage.events if event.round is not None}
        for event in stage.events:
            yield from (e for e in (event.before, event.after) if e is not None)
        for found in rounds:
            yield found.root
            yield from (e for pair in found.made.items() for e in pair if isinstance(e, Expr))
        node = getattr(stage.error, "node", None)
        if isinstance(node, Expr):
            yield node
