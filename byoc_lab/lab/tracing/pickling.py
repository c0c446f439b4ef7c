"""Traces as bytes: each node, each type and each constant once, whatever shares it.

Stages share nearly all of their nodes, and a node's own pickle holds everything below it. Here the
nodes of all stages come first, operands before users, so that each finds its operands written
already: the size is that of the nodes, and the depth of the graph does not matter.
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
    """All of a trace but what is computed on demand."""
    buffer = io.BytesIO()
    nodes = list(post_order(*_roots(trace.stages)))
    _Pickler(buffer, protocol=5).dump((nodes, trace.stages, trace.title, trace.error))
    return buffer.getvalue()


def from_bytes(cls: type[Trace], data: bytes) -> Trace:
    """The trace that `to_bytes` was given, as a `cls`."""
    _, stages, title, error = pickle.loads(data)
    return cls(stages, title, error)


class _Pickler(pickle.Pickler):
    """Writes a node as its fields, which are written before it, and not as the text below it."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Op):
            return Op.get, (obj.name,)
        if isinstance(obj, (Expr, Clause, Pattern)):
            cls: Any = type(obj)
            fields = {name: getattr(obj, name) for name in all_slots(cls) if hasattr(obj, name)}
            return _made, (cls, fields)
        if isinstance(obj, Type):  # made anew: its hash may be that of an object
            kind: Any = type(obj)
            return _type, (kind, {name: getattr(obj, name) for name in kind.__slots__})
        if isinstance(obj, IRModule):
            # What defines functions when they are asked for is code; those there are defined.
            return _module, (type(obj), {**vars(obj), "_define": None})
        if isinstance(obj, Exception):  # whatever its class takes when it is made
            return _error, (type(obj), obj.args, vars(obj))
        return NotImplemented


def _made(cls: type, fields: dict[str, Any]) -> Any:
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
    """Whatever a trace holds nodes by."""
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
