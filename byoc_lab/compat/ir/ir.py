"""Names of `tvm.ir` that only TVM scripts use: base classes, named functions, nodes as JSON, and
the old form of `register_op_attr`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from byoc_lab.compat.op.operators import register_op_attr
from byoc_lab.compat.toplevel import get_global_func
from byoc_lab.errors import ArgumentError
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.span import Span
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.text.json.reader import read_node_json
from byoc_lab.relay.text.json.writer import write_node_json

BaseExpr = RelayExpr = Expr
BaseFunc = Function

_TYPE_RELATION = "tvm.relay.type_relation."


@dataclass(frozen=True)
class EnvFunc:
    """A registered function, identified by name: `EnvFunc.get(name)(*args)`. Equal names are equal
    functions."""

    name: str

    @staticmethod
    def get(name: str) -> EnvFunc:
        """The function of that name. Raises UnknownFunctionError.

        Any name of a type relation is accepted: byoc_lab's relations belong to the operators, so a
        TypeRelation is only a record and is never called.
        """
        made = EnvFunc(name)
        if not name.startswith(_TYPE_RELATION):
            made.func  # noqa: B018 (raises)
        return made

    @property
    def func(self) -> Callable[..., Any]:
        return get_global_func(self.name)

    def __call__(self, *args: Any) -> Any:
        return self.func(*args)


def save_json(node: Any) -> str:
    """A module, expression, type, Span or attributes as the JSON that TVM 0.16 writes and reads.

    Raises AttributeValueError for an attribute that this JSON cannot represent, ArgumentError for
    other objects.
    """
    if not isinstance(node, (IRModule, Expr, Type, Span, Attrs)):
        raise ArgumentError(
            f"save_json takes a module, an expression, a type, a Span or attributes, found {node!r}"
        )
    return write_node_json(node)


def load_json(json_str: str) -> Any:
    """The object in JSON text written by `save_json` of TVM 0.6 to 0.16 or of byoc_lab.

    Raises ParseError for other text.
    """
    return read_node_json(json_str)


__all__ = ["BaseExpr", "BaseFunc", "EnvFunc", "RelayExpr", "load_json", "register_op_attr",
           "save_json"]  # fmt: skip
