"""A module as a graph in the DOT language, drawn by Graphviz.

Source of the form: apache/tvm, python/tvm/contrib/relay_viz/dot.py.
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

from byoc_lab.compat.relay_viz.interface import (
    DefaultVizParser,
    Plotter,
    VizEdge,
    VizGraph,
    VizNode,
)
from byoc_lab.errors import BuildError, MissingDependencyError
from byoc_lab.view.layout import find_dot

DotVizParser = DefaultVizParser
Attributes = Mapping[str, str]


class DotGraph(VizGraph):
    """The graph of one function; `digraph` is the object of the graphviz package.

    get_node_attr: the DOT attributes of a node; by default variables are ellipses, others boxes.
    """

    def __init__(
        self,
        name: str,
        graph_attr: Attributes | None = None,
        node_attr: Attributes | None = None,
        edge_attr: Attributes | None = None,
        get_node_attr: Callable[[VizNode], Attributes] | None = None,
    ):
        # DOT draws a frame around a subgraph whose name begins with "cluster".
        self.digraph = _package().Digraph(
            f"cluster_{name}", graph_attr=graph_attr, node_attr=node_attr, edge_attr=edge_attr
        )
        self.digraph.attr(label=name)
        self._attributes = get_node_attr or _shape

    def node(self, viz_node: VizNode) -> None:
        label = f"{viz_node.type_name}\n{viz_node.detail}"
        self.digraph.node(viz_node.identity, label, **self._attributes(viz_node))

    def edge(self, viz_edge: VizEdge) -> None:
        self.digraph.edge(viz_edge.start, viz_edge.end)


def _shape(node: VizNode) -> Attributes:
    return {"shape": "ellipse" if "Var" in node.type_name else "box"}


class DotPlotter(Plotter):
    """Draws the graphs into one file.

    graph_attr, node_attr, edge_attr, get_node_attr: those of each `DotGraph`.
    render_kwargs: what graphviz's `Digraph.render` takes: filename, format, cleanup, view, ...
    """

    def __init__(
        self,
        graph_attr: Attributes | None = None,
        node_attr: Attributes | None = None,
        edge_attr: Attributes | None = None,
        get_node_attr: Callable[[VizNode], Attributes] | None = None,
        render_kwargs: Mapping[str, Any] | None = None,
    ):
        self._of_graphs = (graph_attr, node_attr, edge_attr, get_node_attr)
        self._render_kwargs = {"cleanup": True, **(render_kwargs or {})}
        self._name_to_graph: dict[str, DotGraph] = {}

    def create_graph(self, name: str) -> DotGraph:
        self._name_to_graph[name] = DotGraph(name, *self._of_graphs)
        return self._name_to_graph[name]

    def render(self, filename: str | None = None) -> None:
        """Draw `<filename>.<format>`: "pdf" by default, with byoc_lab's own layout program "svg".

        Raises MissingDependencyError without a layout program, BuildError when it fails.
        """
        whole = _package().Digraph()
        for graph in self._name_to_graph.values():
            whole.subgraph(graph.digraph)
        options = dict(self._render_kwargs)
        if filename is not None:
            options["filename"] = filename
        if shutil.which("dot"):
            whole.render(**options)
        else:
            _render(whole, **options)


def _render(
    whole: Any, filename: str | None = None, directory: str | None = None,
    format: str = "svg", engine: str = "dot", cleanup: bool = True, **others: Any,
) -> None:  # fmt: skip
    """As graphviz's `render`, which knows a program called `dot` alone."""
    program = find_dot()
    if program is None:
        raise MissingDependencyError("drawing needs a layout program: pip install graphviz-pure")
    if others:
        raise BuildError(f"{program} draws with filename, directory, format, engine and cleanup; "
                         f"{', '.join(others)} need Graphviz's own dot")  # fmt: skip
    source = pathlib.Path(whole.save(filename, directory=directory))
    made = pathlib.Path(f"{source}.{format}")
    made.unlink(missing_ok=True)  # an older one would pass for this one
    command = [program, f"-K{engine}", f"-T{format}", f"-o{made}", str(source)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode or not made.is_file():  # for a format it does not know, the code is 0
        raise BuildError(f"{program} did not draw {made}: {run.stderr.strip()}")
    if cleanup:
        source.unlink()


def _package() -> Any:
    try:
        import graphviz
    except ImportError:
        raise MissingDependencyError(
            "DOT needs the graphviz package: pip install graphviz graphviz-pure"
        ) from None
    return graphviz


__all__ = ["DotGraph", "DotPlotter", "DotVizParser"]
