"""What parsers and plotters of `relay_viz` are made of, and what is shown of a node by default.

Source of the names and texts: apache/tvm, python/tvm/contrib/relay_viz/interface.py.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from byoc_lab.relay.attrs import Attrs
from byoc_lab.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Op,
    Tuple,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.types import TensorType

UNKNOWN_TYPE = "unknown"


class VizNode:
    """What is shown of a node: an identity of its own, its kind, and details, one in a line."""

    def __init__(self, node_id: str, node_type: str, node_detail: str):
        self.identity, self.type_name, self.detail = node_id, node_type, node_detail

    def __repr__(self) -> str:
        detail = self.detail.replace("\n", ", ")
        return f"VizNode(identity: {self.identity}, type_name: {self.type_name}, detail: {detail}"


@dataclass(frozen=True)
class VizEdge:
    """An edge from the identity of an operand (`start`) to that of what takes it (`end`)."""

    start: str
    end: str


class VizParser(abc.ABC):
    """Says what is shown of each node."""

    @abc.abstractmethod
    def get_node_edges(
        self, node: Expr, relay_param: Mapping[str, Any], node_to_id: Mapping[Expr, str]
    ) -> tuple[VizNode | None, list[VizEdge]]:
        """What is shown of `node` (None: nothing), and its edges.

        relay_param: the parameters by name. node_to_id: the identity of every node of the function.
        """


class VizGraph(abc.ABC):
    """Takes the nodes and edges of one function, operands first."""

    @abc.abstractmethod
    def node(self, viz_node: VizNode) -> None:
        """Add a node."""

    @abc.abstractmethod
    def edge(self, viz_edge: VizEdge) -> None:
        """Add an edge."""


class Plotter(abc.ABC):
    """Shows the graphs of a module."""

    @abc.abstractmethod
    def create_graph(self, name: str) -> VizGraph:
        """An empty graph for the function of that name."""

    @abc.abstractmethod
    def render(self, filename: str | None) -> None:
        """Show the graphs, in a file of that name or elsewhere."""


class DefaultVizParser(VizParser):
    """One node for each node but operators and global variables, with attributes and shapes."""

    def get_node_edges(
        self, node: Expr, relay_param: Mapping[str, Any], node_to_id: Mapping[Expr, str]
    ) -> tuple[VizNode | None, list[VizEdge]]:
        if isinstance(node, (GlobalVar, Op)):
            return None, []
        kind, detail, operands = _shown(node, relay_param)
        own = node_to_id[node]
        return VizNode(own, kind, detail), [VizEdge(node_to_id[o], own) for o in operands]


def _shown(node: Expr, params: Mapping[str, Any]) -> tuple[str, str, list[Expr]]:
    """Kind, details and operands of a node."""
    if isinstance(node, Function):
        return f"Func {node.attrs.get('Composite', '')}", _lines(node.attrs), [node.body]
    if isinstance(node, Call):
        name, detail = _callee(node)
        return f"Call {name}", detail, list(node.args)
    if isinstance(node, Var):
        return f"Var({'Param' if node.name_hint in params else 'Input'})", _variable(node), []
    if isinstance(node, Tuple):
        return "Tuple", "", list(node.fields)
    if isinstance(node, TupleGetItem):
        return "TupleGetItem", f"idx: {node.index}", [node.tuple_value]
    if isinstance(node, Constant):
        return "Const", f"shape: {tuple(node.data.shape)}, dtype: {node.data.dtype}", []
    kind = f"<class 'tvm.relay.expr.{type(node).__name__}'>"
    return UNKNOWN_TYPE, f"don't know how to parse {kind}", []


def _variable(node: Var) -> str:
    name, ty = f"name_hint: {node.name_hint}", node.type_annotation
    if isinstance(ty, TensorType):
        return f"{name}\nshape: {tuple(ty.shape)}\ndtype: {ty.dtype}"
    return name if ty is None else f"{name}\ntype_annotation: {ty}"


def _callee(call: Call) -> tuple[str, str]:
    """The name and the details of what is called."""
    if isinstance(call.op, Op):
        return call.op.name, _lines(call.attrs)
    if isinstance(call.op, Function):
        return call.op.attrs.get("Composite", "Anonymous Func"), _lines(call.op.attrs)
    if isinstance(call.op, GlobalVar):
        return "GlobalVar", f"GlobalVar.name_hint: {call.op.name_hint}"
    return type(call.op).__name__, ""


def _lines(attrs: Attrs | None) -> str:
    return "\n".join(f"{name}: {_text(value)}" for name, value in attrs.items()) if attrs else ""


def _text(value: Any) -> str:
    """An attribute as TVM writes it: lists in brackets, truth as a number."""
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_text, value))}]"
    return str(int(value)) if isinstance(value, bool) else str(value)


__all__ = ["UNKNOWN_TYPE", "DefaultVizParser", "Plotter", "VizEdge", "VizGraph", "VizNode",
           "VizParser"]  # fmt: skip
