"""A module as a tree of text, what takes a value above what it takes.

Source of the form: apache/tvm, python/tvm/contrib/relay_viz/terminal.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from byoc_lab.compat.relay_viz.interface import (
    DefaultVizParser,
    Plotter,
    VizEdge,
    VizGraph,
    VizNode,
    VizParser,
)
from byoc_lab.relay.expr import Call, Expr, Function, GlobalVar, If, Let, Op


class TermVizParser(VizParser):
    """As the default, but operators are nodes, and attributes are not shown."""

    def __init__(self) -> None:
        self._default_parser = DefaultVizParser()

    def get_node_edges(
        self, node: Expr, relay_param: Mapping[str, Any], node_to_id: Mapping[Expr, str]
    ) -> tuple[VizNode | None, list[VizEdge]]:
        shown = _shown(node)
        if shown is None:
            return self._default_parser.get_node_edges(node, relay_param, node_to_id)
        kind, detail, operands = shown
        own = node_to_id[node]
        return VizNode(own, kind, detail), [VizEdge(node_to_id[o], own) for o in operands]


def _shown(node: Expr) -> tuple[str, str, list[Expr]] | None:
    """Kind, details and operands of a node; None for what is shown as by default."""
    if isinstance(node, Call):
        return "Call", "", [node.op, *node.args]
    if isinstance(node, Let):
        return "Let", "(var, val, body)", [node.var, node.value, node.body]
    if isinstance(node, GlobalVar):
        return "GlobalVar", node.name_hint, []
    if isinstance(node, If):
        return "If", "(cond, true, false)", [node.cond, node.true_branch, node.false_branch]
    if isinstance(node, Op):
        return node.name, "", []
    if isinstance(node, Function):
        return "Func", str(list(node.params)), [node.body]
    return None


class TermGraph(VizGraph):
    """The tree of one function; `render` gives its text."""

    def __init__(self, name: str):
        self._name = name
        self._operands: dict[str, list[str]] = {}
        self._lines: dict[str, str] = {}
        self._root: VizNode | None = None  # operands come first, so it is the last

    def node(self, viz_node: VizNode) -> None:
        self._root = viz_node
        self._operands.setdefault(viz_node.identity, [])
        self._lines[viz_node.identity] = f"{viz_node.type_name} {_in_a_line(viz_node)}"

    def edge(self, viz_edge: VizEdge) -> None:
        self._operands.setdefault(viz_edge.end, []).append(viz_edge.start)

    def render(self) -> str:
        """The text. What is under a node is written once for each depth it is met at."""
        if self._root is None:
            return ""
        lines = [f"@{self._name}({_in_a_line(self._root)})"]
        written = {("", self._root.identity)}
        todo = [("", self._operands[self._root.identity], 0)]
        while todo:
            indent, operands, at = todo.pop()
            if at == len(operands):
                continue
            todo.append((indent, operands, at + 1))
            one, last = operands[at], at + 1 == len(operands)
            lines.append(f"{indent}{'`--' if last else '|--'}{self._lines[one]}")
            deeper = indent + ("   " if last else "|  ")
            if (deeper, one) not in written:
                written.add((deeper, one))
                todo.append((deeper, self._operands[one], 0))
        return "\n".join(lines)


def _in_a_line(node: VizNode) -> str:
    return node.detail.replace("\n", ", ")


class TermPlotter(Plotter):
    """Writes the trees one below the other."""

    def __init__(self) -> None:
        self._name_to_graph: dict[str, TermGraph] = {}

    def create_graph(self, name: str) -> TermGraph:
        self._name_to_graph[name] = TermGraph(name)
        return self._name_to_graph[name]

    def render(self, filename: str | None) -> None:
        """Print the trees, or write them into a file."""
        text = "\n".join(graph.render() for graph in self._name_to_graph.values())
        if filename is None:
            print(text)
        else:
            Path(filename).write_text(text, encoding="utf-8")


__all__ = ["TermGraph", "TermPlotter", "TermVizParser"]
