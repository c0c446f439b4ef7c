"""Names of `tvm.ir` that only scripts of TVM use: base classes, named functions, nodes as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from byoc_lab.compat.toplevel import get_global_func
from byoc_lab.errors import ParseError
from byoc_lab.relay.expr import Expr, Function
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.parser import parse, parse_expr
from byoc_lab.relay.span import SequentialSpan, Span

BaseExpr = RelayExpr = Expr
BaseFunc = Function

_TYPE_RELATION = "tvm.relay.type_relation."


@dataclass(frozen=True)
class EnvFunc:
    """A registered function by its name: `EnvFunc.get(name)(*args)`; equal when the name is."""

    name: str

    @staticmethod
    def get(name: str) -> EnvFunc:
        """The function of that name. Raises UnknownFunctionError.

        Type relations are taken by any name: a TypeRelation is a record, and byoc_lab's relations
        belong to the operators, so that there is nothing to call.
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


_FORMAT = "byoc_lab relay"


def save_json(node: Any) -> str:
    """A module, expression or Span as JSON, for `load_json`. The format is byoc_lab's: modules and
    expressions are Relay's text."""
    if isinstance(node, Span):
        several = node.spans if isinstance(node, SequentialSpan) else None
        places = [_place(s) for s in several or (node,)]
        return json.dumps({"format": _FORMAT, "spans": places, "several": several is not None})
    if not isinstance(node, (IRModule, Expr)):
        raise TypeError(f"save_json takes a module, an expression or a Span, found {node!r}")
    return json.dumps(
        {"format": _FORMAT, "module": isinstance(node, IRModule), "text": node.astext()}
    )


def load_json(json_str: str) -> Any:
    """What `save_json` wrote. Raises ParseError for anything else, TVM's own JSON included."""
    try:
        document = json.loads(json_str)
    except ValueError as error:
        raise ParseError(f"no JSON: {error}", "JSON", 1, 1) from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise ParseError(
            "this JSON was not written by byoc_lab's save_json; TVM's own node JSON is not read, "
            "save the module's text (mod.astext()) instead",
            "JSON",
            1,
            1,
        )
    if "spans" in document:
        spans = [Span(*place) for place in document["spans"]]
        return SequentialSpan(spans) if document["several"] else spans[0]
    return (parse if document["module"] else parse_expr)(document["text"])


def _place(span: Span) -> list[Any]:
    return [span.source_name, span.line, span.end_line, span.column, span.end_column]


__all__ = ["BaseExpr", "BaseFunc", "EnvFunc", "RelayExpr", "load_json", "save_json"]
