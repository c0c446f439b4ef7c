"""Boxes, frames and arrows of a picture; folding weights and collapsing regions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from byoc_lab.errors import counted
from byoc_lab.relay.ir.expr import Call, Expr

# Operands with these names are trained weights; drawing them would hide the network.
WEIGHTS = frozenset(
    ("weight", "kernel", "bias", "gamma", "beta", "mean", "var", "moving_mean", "moving_var")
)


@dataclass(eq=False)
class PictureFrame:
    """A border around boxes.

    `kind`: "region" (between annotations), "external" (a function for a compiler), "composite", or
    "function". `number`: the number of a region. `colour`: a number for each frame of a compiler,
    None for other frames.
    """

    kind: str
    label: str
    compiler: str | None = None
    parent: PictureFrame | None = None
    expr: Expr | None = None
    colour: int | None = None
    merged_into: PictureFrame | None = None
    number: int | None = None

    def resolve(self) -> PictureFrame:
        """The frame that this one was merged into, directly or indirectly; usually itself."""
        root = self
        while root.merged_into is not None:
            root = root.merged_into
        if root is not self:
            self.merged_into = root
        return root


@dataclass(eq=False)
class Box:
    """One box of the picture. `exprs`: the expressions that it represents, the main one first.

    `kind`: "op", "input", "constant", "begin", "end", "call", "if", "output" or "frame" (a frame
    that was collapsed).
    """

    kind: str
    title: str
    detail: str = ""
    exprs: list[Expr] = field(default_factory=list)
    frame: PictureFrame | None = None
    weights: int = 0  # number of constants and weights that were folded into it
    operators: int = 1  # number of operators of the network that it computes, if it is an operator

    @cached_property
    def window(self) -> str:
        """The window of an operator as a short text: "3x3", "3x3 depthwise"; "" if it has none."""
        call = self.exprs[0] if self.exprs else None
        attrs = call.attrs if isinstance(call, Call) else None
        if attrs is None:
            return ""
        size = getattr(attrs, "kernel_size", None) or getattr(attrs, "pool_size", None)
        if isinstance(size, int):  # nn.correlation: a square window
            size = (size, size)
        groups = getattr(attrs, "groups", 1) or 1
        words = "\N{MULTIPLICATION SIGN}".join(map(str, size)) if size else ""
        if groups == 1:
            return words
        depthwise = groups == getattr(attrs, "channels", None)
        return f"{words} depthwise" if depthwise else f"{words} in {groups} groups"

    @cached_property
    def short(self) -> str:
        """The name of an operator without its namespace, after "depthwise" if its window is
        depthwise."""
        name = self.title.rsplit(".", 1)[-1]
        return f"depthwise {name}" if self.window.endswith("depthwise") else name


@dataclass(eq=False)
class Arrow:
    """`source` is an operand of `target`; `role` is the operator's name for that operand."""

    source: Box
    target: Box
    role: str = ""
    crossing: bool = False


@dataclass(eq=False)
class Picture:
    """Boxes in evaluation order, frames with the outermost first, arrows in operand order.

    regions: the number of regions and external functions, including regions that are not drawn.
    """

    boxes: list[Box]
    frames: list[PictureFrame]
    arrows: list[Arrow]
    regions: int = 0

    def stats(self) -> dict[str, int]:
        """The numbers of operators inside regions and external functions, of operators outside
        them, and of regions."""
        offloaded = total = 0
        for box in self.boxes:
            if box.kind == "op":
                total += box.operators
                offloaded += box.operators * _compiled(box.frame)
        return {"offloaded": offloaded, "host": total - offloaded, "regions": self.regions}


def _compiled(frame: PictureFrame | None) -> bool:
    while frame is not None:
        if frame.colour is not None:
            return True
        frame = frame.parent
    return False


def fold_weights(boxes: list[Box], arrows: list[Arrow]) -> set[Box]:
    """Fold constants, weight inputs, and their `compiler_begin`s into the boxes that use them."""
    users: dict[Box, list[Arrow]] = {}
    operands: dict[Box, list[Box]] = {}
    for arrow in arrows:
        users.setdefault(arrow.source, []).append(arrow)
        operands.setdefault(arrow.target, []).append(arrow.source)
    only_weight: dict[Box, bool] = {}
    for box in reversed(boxes):  # users come after their operands
        uses = users.get(box, ())
        only_weight[box] = bool(uses) and all(
            only_weight[a.target] if a.target.kind == "begin" else a.role in WEIGHTS for a in uses
        )
    folded: set[Box] = set()
    for box in boxes:
        fed_by = operands.get(box, ())
        constant = box.kind == "constant" and bool(users.get(box))
        weight = box.kind == "input" and only_weight[box]
        begin = box.kind == "begin" and bool(fed_by) and all(b in folded for b in fed_by)
        if constant or weight or (begin and bool(users.get(box))):
            folded.add(box)
    for box in boxes:
        if box in folded:
            user = users[box][0].target
            user.exprs += box.exprs
            user.weights += box.weights + (box.kind != "begin")
    return folded


def used_frames(boxes: list[Box]) -> list[PictureFrame]:
    """The frames that contain boxes, in order of first use, each after its parent."""
    found: dict[PictureFrame, None] = {}
    for box in boxes:
        path = []
        frame = box.frame
        while frame is not None and frame not in found:
            path.append(frame)
            frame.parent = frame.parent.resolve() if frame.parent else None
            frame = frame.parent
        found.update(dict.fromkeys(reversed(path)))
    return list(found)


def collapse(picture: Picture) -> Picture:
    """The picture with each outermost frame as one box."""
    stand_in: dict[PictureFrame, Box] = {}
    moved: dict[Box, Box] = {}
    boxes: list[Box] = []
    for box in picture.boxes:
        frame = box.frame
        while frame is not None and frame.parent is not None:
            frame = frame.parent
        if frame is None:
            boxes.append(box)
            moved[box] = box
            continue
        if frame not in stand_in:
            stand_in[frame] = Box("frame", frame.label, "", [], None)
            boxes.append(stand_in[frame])
        stand_in[frame].exprs += box.exprs
        moved[box] = stand_in[frame]
    for frame, box in stand_in.items():
        box.frame, frame.parent = frame, None
        box.detail = counted(sum(isinstance(e, Call) for e in box.exprs), "call")
    arrows: dict[tuple[Box, Box], Arrow] = {}
    for a in picture.arrows:
        ends = moved[a.source], moved[a.target]
        if ends[0] is not ends[1]:
            arrows.setdefault(ends, Arrow(*ends, a.role, a.crossing))
    return Picture(boxes, list(stand_in), list(arrows.values()), picture.regions)
