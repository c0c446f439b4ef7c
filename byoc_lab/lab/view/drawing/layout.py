"""Layout of a picture: positions of boxes, frames and arrows, computed by Graphviz `dot`.

The size of every box is given, so the layout program measures no text and cannot mistake a label
for markup. Coordinates are in points; the origin is at the top left and y grows downwards.
"""

from __future__ import annotations

import importlib.metadata
import json
import pathlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from byoc_lab.containment.children import ChildError, run
from byoc_lab.errors import BuildError, MissingDependencyError
from byoc_lab.lab.view.drawing.elements import Arrow, Box, Picture, PictureFrame

POINTS = 72  # DOT measures widths and heights in inches
CHAR, DETAIL_CHAR = 6.65, 5.65  # width of a monospace character at 11 and 9.4 points
MAX_DEPTH = 12  # boxes of deeper frames are drawn in the ancestor at this depth

Point = tuple[float, float]


@dataclass(frozen=True)
class Rectangle:
    """A rectangle: left, top, width, height."""

    x: float
    y: float
    w: float
    h: float


@dataclass(frozen=True)
class PictureLayout:
    """Width and height of the drawing, a rectangle per box and frame, a curve per arrow.

    A curve is a start point followed by three control points for each cubic piece.
    """

    width: float
    height: float
    boxes: dict[Box, Rectangle]
    frames: dict[PictureFrame, Rectangle]
    curves: dict[Arrow, tuple[Point, ...]]


@cache
def find_dot() -> str | None:
    """The path of the layout program: from graphviz-pure, else the system's `dot`, else None.

    The environment's bin folder is searched, too, because the PATH of a kernel often lacks it.
    """
    try:
        files = importlib.metadata.files("graphviz-pure") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        path = pathlib.Path(str(file.locate())).resolve()
        if path.stem == "graphviz-pure" and path.is_file():
            return str(path)
    return shutil.which("dot")


def size_of(box: Box) -> tuple[float, float]:
    """Width and height of a box, computed from the length of its text."""
    if box.kind in ("begin", "end", "output"):
        return len(box.title) * DETAIL_CHAR + 18, 16.0
    longest = max(len(box.title) * CHAR, len(box.detail) * DETAIL_CHAR)
    return max(44.0, longest + 18), 34.0 if box.detail else 22.0


def dot_source(picture: Picture) -> str:
    """The picture in the DOT language: nodes `b0`, `b1`, ... and clusters `cluster_f0`, ..."""
    try:
        import graphviz
    except ImportError:
        raise MissingDependencyError(
            "drawing graphs needs the graphviz package: pip install graphviz graphviz-pure"
        ) from None
    graph = graphviz.Digraph(
        "picture",
        graph_attr={"rankdir": "TB", "nodesep": "0.22", "ranksep": "0.3", "fontsize": "10"},
        node_attr={"shape": "box", "fixedsize": "true", "label": ""},
        edge_attr={"arrowsize": "0.55"},
    )
    homes = nesting(picture.frames)
    inside: dict[PictureFrame | None, list[Box]] = {}
    for box in picture.boxes:
        inside.setdefault(homes[box.frame] if box.frame else None, []).append(box)
    names = {box: f"b{n}" for n, box in enumerate(picture.boxes)}

    def body_of(frame: PictureFrame | None) -> list[str]:
        lines = []
        for box in inside.get(frame, ()):
            w, h = size_of(box)
            lines.append(f'{names[box]} [width="{w / POINTS:.3f}" height="{h / POINTS:.3f}"]\n')
        return lines

    clusters: dict[
        PictureFrame | None, list[str]
    ] = {}  # contents of a frame, including inner frames
    for n, frame in reversed(list(enumerate(picture.frames))):  # inner frames before outer ones
        if homes[frame] is frame:
            room = " " * len(frame.label)  # space for the label, which `svg` draws
            clusters.setdefault(frame.parent, []).extend(
                (
                    f'subgraph cluster_f{n} {{\nlabel="{room}" fontname=Courier margin=9\n',
                    *body_of(frame),
                    *clusters.pop(frame, ()),
                    "}\n",
                )
            )
    graph.body += body_of(None) + clusters.get(None, [])
    for n, arrow in enumerate(picture.arrows):
        graph.edge(names[arrow.source], names[arrow.target], id=f"a{n}")
    return str(graph.source)


def nesting(frames: Sequence[PictureFrame]) -> dict[PictureFrame, PictureFrame]:
    """Maps each frame to the frame in which its boxes are drawn: the frame itself unless it is
    nested too deep."""
    depth: dict[PictureFrame, int] = {}
    homes: dict[PictureFrame, PictureFrame] = {}
    for frame in frames:  # parents come first
        depth[frame] = depth[frame.parent] + 1 if frame.parent else 0
        deep = frame.parent is not None and depth[frame] > MAX_DEPTH
        homes[frame] = homes[frame.parent] if deep and frame.parent else frame
    return homes


def lay_out(picture: Picture, timeout: float = 60.0) -> PictureLayout:
    """Run the layout program on a picture.

    Raises MissingDependencyError if no layout program is installed, and BuildError if it fails or
    takes longer than `timeout` seconds of processor time.
    """
    exe = find_dot()
    if exe is None:
        raise MissingDependencyError(
            "drawing graphs needs a layout program: pip install graphviz-pure"
        )
    with tempfile.TemporaryFile() as source:
        source.write(dot_source(picture).encode())
        source.seek(0)
        try:
            done = run([exe, "-Tjson"], timeout, stdin=source)
        except ChildError:
            raise BuildError(
                f"{exe} took more than {timeout:g} s for {len(picture.boxes)} boxes; "
                f"show a single function instead: byoc_lab.lab.view.graph(mod['main'])"
            ) from None
    if done.code != 0:
        raise BuildError(f"{exe} could not lay out the graph: {done.errors.strip()}")
    return _read_layout(picture, json.loads(done.output))


def _read_layout(picture: Picture, data: Mapping[str, Any]) -> PictureLayout:
    _, _, width, height = map(float, data["bb"].split(","))
    objects = data.get("objects", [])
    by_name = {o["name"]: o for o in objects}
    boxes, frames = {}, {}
    for n, box in enumerate(picture.boxes):
        x, y = map(float, by_name[f"b{n}"]["pos"].split(","))
        w, h = size_of(box)
        boxes[box] = Rectangle(x - w / 2, height - y - h / 2, w, h)
    for n, frame in enumerate(picture.frames):
        drawn = by_name.get(f"cluster_f{n}")
        if drawn:
            x0, y0, x1, y1 = map(float, drawn["bb"].split(","))
            frames[frame] = Rectangle(x0, height - y1, x1 - x0, y1 - y0)
    drawn_arrows = {edge["id"]: edge for edge in data.get("edges", ())}
    curves = {
        arrow: _curve(drawn_arrows[f"a{n}"]["pos"], height)
        for n, arrow in enumerate(picture.arrows)
    }
    return PictureLayout(width, height, boxes, frames, curves)


def _curve(pos: str, height: float) -> tuple[Point, ...]:
    """The points of `e,x,y x,y ...`; the arrow tip `e` becomes a last, straight piece."""
    tip: list[Point] = []
    points: list[Point] = []
    for part in pos.split():
        *flag, x, y = part.split(",")
        (tip if flag == ["e"] else points).append((float(x), height - float(y)))
    return (*points, *([points[-1], tip[0], tip[0]] if tip else []))
