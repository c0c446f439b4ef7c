"""`digraph_of`: a picture as a `graphviz.Digraph` with its labels, in the colours of the view.

`graphviz` draws it in a notebook and in files if a layout program is installed; the DOT source
needs none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from byoc_lab.errors import MissingDependencyError, UnknownNameError
from byoc_lab.lab.view.drawing.elements import Box, Picture, PictureFrame
from byoc_lab.lab.view.drawing.layout import nesting
from byoc_lab.lab.view.drawing.scene import colour_of

if TYPE_CHECKING:
    import graphviz

# The same colours as in static/graph/graph.css.
THEMES: dict[str, dict[str, Any]] = {
    "light": {
        "paper": "#ffffff",
        "box": "#ffffff",
        "ink": "#1c2430",
        "stroke": "#8b95a5",
        "bad": "#c2410c",
        "regions": ("#0072b2", "#c27c00", "#00805d", "#b0558a", "#2c8fc4", "#c4520a"),
    },
    "dark": {
        "paper": "#17191e",
        "box": "#24272e",
        "ink": "#e4e7ec",
        "stroke": "#6c7686",
        "bad": "#ff9366",
        "regions": ("#56a8dd", "#f0b43c", "#35c49b", "#e39cc4", "#8ccdf2", "#f58a4b"),
    },
}
STYLES = {"region": "dashed", "external": "bold", "composite": "dotted", "function": "solid"}


def digraph_of(picture: Picture, theme: str = "light") -> graphviz.Digraph:
    """The Digraph of a picture, with frames as clusters. theme: "light" or "dark".

    Raises UnknownNameError for an unknown theme, and MissingDependencyError if the graphviz package
    is not installed.
    """
    try:
        import graphviz
    except ImportError:
        raise MissingDependencyError(
            "graph(mod).digraph() needs the graphviz package: pip install graphviz"
        ) from None
    if theme not in THEMES:
        raise UnknownNameError(
            f"a theme of the graph is one of {', '.join(THEMES)}; found {theme!r}"
        )
    colours = THEMES[theme]
    graph = graphviz.Digraph(
        "byoc_lab",
        graph_attr={"bgcolor": colours["paper"], "fontcolor": colours["ink"]},
        node_attr={
            "shape": "box",
            "style": "filled,rounded",
            "fontname": "monospace",
            "fillcolor": colours["box"],
            "color": colours["stroke"],
            "fontcolor": colours["ink"],
        },
        edge_attr={"color": colours["stroke"]},
    )
    graph.attr("graph", fontname="monospace", rankdir="TB")
    homes = nesting(picture.frames)
    inside: dict[PictureFrame | None, list[Box]] = {}
    for box in picture.boxes:
        inside.setdefault(homes[box.frame] if box.frame else None, []).append(box)
    names = {box: f"b{n}" for n, box in enumerate(picture.boxes)}
    clusters: dict[PictureFrame, graphviz.Digraph] = {}
    for n, frame in reversed(list(enumerate(picture.frames))):  # inner frames before outer ones
        if homes[frame] is not frame:
            continue
        made = clusters.setdefault(frame, graphviz.Digraph())
        made.name = f"cluster_f{n}"
        _frame(made, frame, colours)
        _nodes(made, inside.get(frame, ()), names, colours)
        if frame.parent is not None:
            clusters.setdefault(frame.parent, graphviz.Digraph()).subgraph(made)
    for frame in picture.frames:
        if frame.parent is None:
            graph.subgraph(clusters[frame])
    _nodes(graph, inside.get(None, ()), names, colours)
    for arrow in picture.arrows:
        crossing = {"color": colours["bad"], "style": "dashed"} if arrow.crossing else {}
        graph.edge(names[arrow.source], names[arrow.target], **crossing)
    return graph


def _frame(cluster: graphviz.Digraph, frame: PictureFrame, colours: dict[str, Any]) -> None:
    from graphviz import escape

    cluster.attr(
        label=escape(frame.label),
        style=STYLES.get(frame.kind, "solid"),
        color=_colour(frame, colours),
        fontcolor=colours["ink"],
    )


def _nodes(
    graph: graphviz.Digraph, boxes: Any, names: dict[Box, str], colours: dict[str, Any]
) -> None:
    from graphviz import escape

    for box in boxes:
        label = escape("\n".join(filter(None, (box.title, box.detail))))
        graph.node(names[box], label, color=_colour(box.frame, colours))


def _colour(frame: PictureFrame | None, colours: dict[str, Any]) -> str:
    """The colour of the innermost back end around a box."""
    while frame is not None:
        number = colour_of(frame.compiler)
        if number is not None:
            return str(colours["regions"][number])
        frame = frame.parent
    return str(colours["stroke"])
