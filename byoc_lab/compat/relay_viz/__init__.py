"""TVM's `tvm.contrib.relay_viz`: a module as a tree in a terminal, or as a graph in DOT.

    from tvm.contrib import relay_viz
    relay_viz.RelayVisualizer(mod).render()
    relay_viz.RelayVisualizer(
        mod, plotter=relay_viz.DotPlotter(), parser=relay_viz.DotVizParser()
    ).render("network")

What is shown of a node is the parser's, how it is shown the plotter's; `interface` has what both
are to derive from. `byoc_lab.view` draws modules too, with regions and in a notebook.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byoc_lab.compat.relay_viz.dot import DotPlotter, DotVizParser
from byoc_lab.compat.relay_viz.interface import Plotter, VizGraph, VizParser
from byoc_lab.compat.relay_viz.terminal import TermPlotter, TermVizParser
from byoc_lab.relay.expr import Expr
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.visit import post_order


class RelayVisualizer:
    """Shows `relay_mod`, one graph for each function, @main first.

    relay_param: what variables are parameters, by name; other variables are inputs.
    plotter, parser: by default those of a terminal.
    """

    def __init__(
        self,
        relay_mod: IRModule,
        relay_param: Mapping[str, Any] | None = None,
        plotter: Plotter | None = None,
        parser: VizParser | None = None,
    ):
        self._plotter = TermPlotter() if plotter is None else plotter
        parser = TermVizParser() if parser is None else parser
        names = [gv.name_hint for gv in relay_mod.get_global_vars()]
        names.sort(key=lambda name: name != "main")  # else as they are
        count = 0  # no two nodes have the same number, whatever function they are in
        for name in names:
            numbers: dict[Expr, str] = {}
            for node in post_order(relay_mod[name]):
                numbers[node] = str(count)
                count += 1
            graph = self._plotter.create_graph(name)
            for node in numbers:
                shown, edges = parser.get_node_edges(node, dict(relay_param or {}), numbers)
                if shown is not None:
                    graph.node(shown)
                for edge in edges:
                    graph.edge(edge)

    def render(self, filename: str | None = None) -> None:
        """Let the plotter show what it has; where to, says the plotter's own `render`."""
        self._plotter.render(filename=filename)


__all__ = ["DotPlotter", "DotVizParser", "Plotter", "RelayVisualizer", "TermPlotter",
           "TermVizParser", "VizGraph", "VizParser"]  # fmt: skip
