"""`scene_of`: a picture as plain data for the browser, which folds it, lays it out and draws it.

Ids of boxes and groups are derived from ids of nodes, so like these they persist from stage to
stage.
"""

from __future__ import annotations

import re
import textwrap
import zlib
from functools import lru_cache
from typing import Any

from byoc_lab.errors import counted
from byoc_lab.lab.view.drawing.elements import Box, Picture
from byoc_lab.lab.view.drawing.grouping import Group, Grouping, IdOf, boxes_of, names_of
from byoc_lab.lab.view.drawing.groups import contents, grouped
from byoc_lab.lab.view.messages import Box as BoxSent
from byoc_lab.lab.view.messages import Group as GroupSent
from byoc_lab.lab.view.messages import Scene
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.analysis.costs import call_flops, type_bytes
from byoc_lab.relay.ir.expr import Call, Op

WIDTH = 30  # maximum number of characters per line in a box
LABEL = 48  # maximum number of characters in the name of an open group
MAX_TEXT_LINES = 3  # maximum number of lines for the content of a folded group
COLOURS = {"dnnl": 0, "ccompiler": 1}  # other back ends share the remaining colours
OTHER_COLOURS = 4

Cost = tuple[int | None, int | None]
"""Floating-point operations of an operator, and the bytes of its operands and its result; None if
they are not known."""

# Bidirectional control characters would reorder the characters of a name, so they are escaped.
_TURNING = re.compile("[\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]")


def colour_of(compiler: str | None) -> int | None:
    """The number of a back end's colour, the same in all pictures; None for the host."""
    if compiler is None or compiler == "default":
        return None
    if compiler in COLOURS:
        return COLOURS[compiler]
    return len(COLOURS) + zlib.crc32(compiler.encode("utf-8", "surrogatepass")) % OTHER_COLOURS


def scene_of(picture: Picture, id_of: IdOf, grouping: Grouping | None = None) -> Scene:
    """The scene of a picture. `id_of` returns the id of a node, or None to leave it out; grouping:
    the groups of the picture, computed if they are not given."""
    grouping = grouped(picture) if grouping is None else grouping
    groups = grouping.groups()
    place = {group: n for n, group in enumerate(groups)}
    number = {box: n for n, box in enumerate(grouping.boxes)}
    names = names_of(grouping.boxes, id_of)
    boxes = []
    costs: dict[Any, Cost] = {}
    for box, name in names.items():
        home = grouping.homes[box]
        boxes.append(_box(box, name, place[home] if home is not None else -1, id_of, costs))
    drawn: list[GroupSent] = []
    for group in groups:
        *_, last = boxes_of(group)
        around = grouping.homes[group]
        home_place = place[around] if around is not None else -1
        name = group.name or f"{group.kind}:{names[last]}"
        if group.kind == "section" and not group.name:
            name = f"{drawn[home_place]['id'] if home_place >= 0 else ''}/{group.label}"
        drawn.append(_group(grouping, group, name, home_place, id_of))

    def note(annotation: Box | None) -> str | None:
        return id_of(annotation.exprs[0]) if annotation is not None else None

    arrows = [
        (number[e.source], number[e.target], e.crossing, note(e.begin), note(e.end))
        for e in grouping.edges
    ]
    return {"boxes": boxes, "groups": drawn, "arrows": arrows}


def _box(box: Box, name: str, home: int, id_of: IdOf, costs: dict[Any, Cost]) -> BoxSent:
    detail = ", ".join(filter(None, (box.window, box.detail)))
    flops, size = _cost(box, costs)
    return {
        "id": name,
        "kind": box.kind,
        "lines": _lines(box.title, detail),
        "group": home,
        "ids": tuple(filter(None, dict.fromkeys(map(id_of, box.exprs)))),
        "weights": box.weights,
        "flops": flops,
        "bytes": size,
    }


def _cost(box: Box, known: dict[Any, Cost]) -> Cost:
    """The cost of an operator. known: costs in this picture, by operator, attributes and types."""
    call = box.exprs[0] if box.exprs else None
    if not isinstance(call, Call) or not isinstance(call.op, Op) or is_annotation(call):
        return None, None
    nodes = (*call.args, call)
    if not all(node.is_typed for node in nodes):
        return None, None
    types = (call.op, id(call.attrs), *(node.checked_type for node in nodes))
    if types not in known:
        sizes = [type_bytes(ty) for ty in types[2:]]
        total = None if None in sizes else sum(size for size in sizes if size is not None)
        known[types] = call_flops(call), total
    return known[types]


def _group(grouping: Grouping, group: Group, name: str, home: int, id_of: IdOf) -> GroupSent:
    back_ends = grouping.back_ends(group)
    compiled = sorted(name for name in back_ends if name is not None)
    compiler = compiled[0] if compiled else None
    return {
        "id": name,
        "kind": group.kind,
        "lines": _text_of(group),
        "label": _cut(group.label, LABEL),
        "compiler": compiler,
        "partly": len(back_ends) > 1,
        "colour": colour_of(compiler),
        "group": home,
        "node": id_of(group.expr) if group.expr is not None else None,
        "open": grouping.opened or group.kind == "function",
    }


def _text_of(group: Group) -> tuple[str, ...]:
    """The text of a group that is drawn as one box: its content and its name."""
    if group.kind == "weights":
        count = sum(box.kind == "op" for box in boxes_of(group))
        return counted(count, "operator"), "on weights alone"
    if group.kind == "inputs":
        return (group.label,)
    lines = _wrapped(contents(group)) or (_cut(group.label),)
    last = group.label
    if group.kind == "section":
        count = sum(box.kind == "op" for box in boxes_of(group))
        last = f"{counted(count, 'operator')} · {group.label}"
    if group.kind in ("chain", "block"):  # the shape of its result
        last = [box.detail for box in boxes_of(group)][-1]
    names = last.split(" · ") if len(last) > WIDTH else [last]
    return *lines, *map(_cut, filter(None, names))


@lru_cache(maxsize=4096)
def _wrapped(text: str) -> tuple[str, ...]:
    """A text wrapped to as many lines as a group may have."""
    lines = textwrap.wrap(text, WIDTH)
    if len(lines) > MAX_TEXT_LINES:
        lines = [*lines[: MAX_TEXT_LINES - 1], _ends(" ".join(lines[MAX_TEXT_LINES - 1 :]))]
    return tuple(lines)


def _ends(names: str) -> str:
    """The first names of "add + relu + ..." that fit, and the last name."""
    *others, last = names.split(" + ")
    first: list[str] = []
    while len(" + ".join([*first, *others[:1], "…", last])) <= WIDTH and others:
        first.append(others.pop(0))
    return _cut(" + ".join([*first, "…", last]) if others else names)


@lru_cache(maxsize=4096)
def _lines(*texts: str) -> tuple[str, ...]:
    """The lines of a box; boxes with equal text share them."""
    return tuple(_cut(text) for text in texts if text)


@lru_cache(maxsize=4096)
def _cut(text: str, width: int = WIDTH) -> str:
    """A text shortened in the middle, which is the least informative part of a name."""
    text = _TURNING.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text)
    if len(text) <= width:
        return text
    head = width // 2
    return f"{text[:head]}…{text[head + 1 - width :]}"
