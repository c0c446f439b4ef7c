"""`graph(mod)`: the dataflow graph of a module, function or expression, regions in colour.

The graph from which a DNNL region is compiled is drawn in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from byoc_lab.errors import BuildError, MissingDependencyError
from byoc_lab.lab.view.assets import graph_css
from byoc_lab.lab.view.drawing.digraph import digraph_of
from byoc_lab.lab.view.drawing.elements import Box, Picture, PictureFrame, collapse
from byoc_lab.lab.view.drawing.groups import fold
from byoc_lab.lab.view.drawing.layout import dot_source, lay_out
from byoc_lab.lab.view.drawing.picture import picture_of
from byoc_lab.lab.view.drawing.region_picture import region_picture
from byoc_lab.lab.view.drawing.svg import svg_of
from byoc_lab.printing import printable
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.foreign import adopted
from byoc_lab.relay.ir.module import IRModule

if TYPE_CHECKING:
    import graphviz

MAX_BOXES = 700  # above this number, regions, repeated blocks and sections are single boxes


class GraphView:
    """A graph that shows itself: as SVG in a notebook, as indented text in a terminal.

    The graph is laid out on first use. `svg` raises MissingDependencyError if no layout program is
    installed; the display then falls back to the text. `dot` is the source in DOT.
    """

    def __init__(self, obj: IRModule | Expr | Mapping[str, Any], max_boxes: int = MAX_BOXES):
        self.obj = obj
        self.max_boxes = max_boxes

    @cached_property
    def picture(self) -> Picture:
        if isinstance(self.obj, (IRModule, Expr)):
            return picture_of(self.obj)
        return region_picture(self.obj)

    @cached_property
    def drawn(self) -> Picture:
        """The picture, folded if it has more than `max_boxes`."""
        if len(self.picture.boxes) <= self.max_boxes:
            return self.picture
        if any(frame.colour is not None for frame in self.picture.frames):
            collapsed = collapse(self.picture)
            if len(collapsed.boxes) <= self.max_boxes:
                return collapsed
        return fold(self.picture)

    def digraph(self, theme: str = "light") -> graphviz.Digraph:
        """The graph as a `graphviz.Digraph`, in the colours of a theme: "light" or "dark".

        Raises UnknownNameError for another theme, and MissingDependencyError without graphviz.
        """
        return digraph_of(self.drawn, theme)

    @property
    def dot(self) -> str:
        return dot_source(self.drawn)

    @cached_property
    def svg(self) -> str:
        """A self-contained drawing on a light background."""
        return svg_of(self.drawn, lay_out(self.drawn), graph_css())

    @printable
    def __str__(self) -> str:
        """The boxes in evaluation order, indented by the frames that contain them."""
        operands: dict[Box, list[str]] = {}
        names: dict[Box, str] = {}
        for box in self.drawn.boxes:
            names[box] = f"[{len(names)}]"
        for arrow in self.drawn.arrows:
            note = " (crosses a region border)" if arrow.crossing else ""
            operands.setdefault(arrow.target, []).append(names[arrow.source] + note)
        lines: list[str] = []
        open_frames: list[PictureFrame] = []
        for box in self.drawn.boxes:
            path: list[PictureFrame] = []
            frame = box.frame
            while frame is not None:
                path.append(frame)
                frame = frame.parent
            path.reverse()
            shared = 0
            while shared < min(len(path), len(open_frames)) and path[shared] is open_frames[shared]:
                shared += 1
            for depth in range(shared, len(path)):
                lines.append(f"{'  ' * depth}┌ {path[depth].label}")
            open_frames = path
            fed = f"  ← {', '.join(operands[box])}" if box in operands else ""
            detail = f"  {box.detail}" if box.detail else ""
            lines.append(f"{'  ' * len(path)}{names[box]} {box.title}{detail}{fed}")
        return "\n".join(lines)

    def _repr_svg_(self) -> str | None:
        try:
            return self.svg
        except (MissingDependencyError, BuildError):
            return None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        try:
            return {"image/svg+xml": self.svg, "text/plain": str(self)}
        except (MissingDependencyError, BuildError) as problem:
            return {"text/plain": f"{problem}\n\n{self}"}


def graph(obj: IRModule | Expr | Mapping[str, Any]) -> GraphView:
    """The dataflow graph of a module, function, expression or compiled region (`region.graph`).

    Display it, `print` it, or convert it to a `graphviz.Digraph`: `graph(mod).digraph()`.
    """
    return GraphView(adopted(obj))
