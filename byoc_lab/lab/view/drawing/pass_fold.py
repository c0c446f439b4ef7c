"""`PassFold`: the groups of all states of a pass, found once for its first and last state together.

The boxes of both states form one graph, in which boxes with the same name are identified. The
groups found in it are used in every state, so a box stays in the same groups before and after each
rewrite. Regions and functions are found per state; they divide the groups that they cross. The cost
per state is proportional to its boxes and edges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from byoc_lab.errors import counted
from byoc_lab.lab.view.drawing.elements import Box, Picture, PictureFrame
from byoc_lab.lab.view.drawing.grouping import (
    Edge,
    Group,
    Grouping,
    Homes,
    IdOf,
    boxes_of,
    collect,
    group_of,
    names_of,
)
from byoc_lab.lab.view.drawing.groups import MAX_LOOSE, find_groups, without_annotations

FRAMES = ("region", "external", "composite", "function")
Around = Mapping[str, Sequence[Hashable]]  # box name -> the groups around the box, outermost first


class _Piece(NamedTuple):
    """A group, or its part inside the frames that the group crosses."""

    group: Any
    frames: tuple[Hashable, ...]


Path = tuple[Hashable, ...]  # keys of frames, and pieces of groups, outermost first


class PassFold:
    """The groups found in the first and the last state of a pass. `id_of`: returns the ids of the
    nodes of all states."""

    def __init__(self, first: Picture, last: Picture, id_of: IdOf):
        self._id_of = id_of
        self._around: dict[str, list[Group]] = {}  # box name -> the groups around the box
        self._stand_ins: set[Hashable] = (
            set()
        )  # groups that are not drawn if a frame has the same boxes
        found, names = _joined(_State(first, id_of), _State(last, id_of))
        self._opened = found.opened
        drawn: set[Group] = set()
        for group in found.groups():
            if group.kind in FRAMES and not self._stand_in(group, found):
                continue
            drawn.add(group)
            *_, end = boxes_of(group)
            group.name = f"{group.kind}:{names[end]}"
            if group.kind == "section":
                outer = found.homes[group]
                group.name = f"{outer.name if outer else ''}/{group.label}"
        for box, name in names.items():
            path = _outwards(box, found.homes)
            self._around[name] = [group for group in reversed(path) if group in drawn]

    def _stand_in(self, group: Group, found: Grouping) -> bool:
        """Whether a frame that only one of the two states has is drawn as a group in the other
        state."""
        outer = found.homes[group]
        repeat = outer if outer and outer.kind == "repeat" else None
        if len(list(boxes_of(group))) < 2:
            return False
        if repeat is not None:
            place = repeat.members.index(group) + 1
            group.kind, group.label = "copy", f"block {place} of {len(repeat.members)}"
        elif group.kind == "composite" and len(found.boxes) > MAX_LOOSE:
            group.kind, group.label = "chain", ""
        else:
            return False
        self._stand_ins.add(group)
        return True

    def grouping(self, picture: Picture) -> Grouping:
        """The groups of the picture of one state."""
        state = _State(picture, self._id_of)
        groups = {name: self._groups_of(name, state) for name in state.around}
        paths = _nested(state.around, groups, self._stand_ins)
        made: dict[Path, Group] = {}
        homes: Homes = {}
        blocks: dict[Group, set[Hashable]] = {}
        for name, path in paths.items():
            for n, last in enumerate(path, 1):
                if path[:n] not in made:
                    made[path[:n]] = _made(last, state)
                    homes[made[path[:n]]] = made.get(path[: n - 1])
                if isinstance(last, _Piece) and last.group.kind == "repeat":
                    inside = groups[name][groups[name].index(last.group) + 1 :]
                    blocks.setdefault(made[path[:n]], set()).add(inside[0] if inside else name)
        for piece, shown in blocks.items():
            if piece.label != f"{len(shown)} times":
                piece.label = f"{len(shown)} of {piece.label}"
        homes.update((box, made.get(paths[name])) for box, name in state.names.items())
        roots = collect(state.boxes, homes)
        grouping = Grouping(state.boxes, state.edges, roots, homes, self._opened)
        _in_order(grouping)
        return grouping

    def _groups_of(self, name: str, state: _State) -> list[Group]:
        """The groups around a box. For a box that only intermediate states have: the common groups
        of all adjacent boxes, in the first state that contains it."""
        if name not in self._around:
            beside = [self._around[n] for n in state.beside(name) if n in self._around]
            levels = takewhile(lambda level: len(set(level)) == 1, zip(*beside, strict=False))
            self._around[name] = [group for group, *_ in levels]
        return self._around[name]


class _State:
    """The graph of one state. `names`: the names of its boxes; `around`: box name -> the keys of
    the frames around the box, which are equal in all states."""

    def __init__(self, picture: Picture, id_of: IdOf):
        self.boxes, self.edges = without_annotations(picture)
        self.names = names_of(self.boxes, id_of)
        self.frames: dict[Hashable, PictureFrame] = {}  # key -> frame
        self._id_of = id_of
        self._paths: dict[PictureFrame | None, Path] = {None: ()}
        self.around = {name: self._path(box.frame) for box, name in self.names.items()}

    def _path(self, frame: PictureFrame | None) -> Path:
        if frame not in self._paths:
            assert frame is not None
            outer = self._path(frame.parent)
            ident = self._id_of(frame.expr) if frame.expr is not None else None
            key = ident or f"{frame.kind} {frame.label}"
            if frame.number is not None:
                key = "/".join((*map(str, outer), f"{frame.compiler} {frame.number}"))
            while key in self.frames:  # a function drawn at several calls has several frames
                key += "+"
            self.frames[key] = frame
            self._paths[frame] = *outer, key
        return self._paths[frame]

    def beside(self, name: str) -> Iterable[str]:
        """The names of the boxes that share an edge with a box."""
        for edge in self.edges:
            ends = self.names[edge.source], self.names[edge.target]
            if name in ends:
                yield ends[ends[0] == name]


def _joined(first: _State, last: _State) -> tuple[Grouping, dict[Box, str]]:
    """The groups in the combined graph of two states, and the names of its boxes."""
    boxes = {name: box for state in (first, last) for box, name in state.names.items()}
    order = _merged(list(first.around), list(last.around))
    place = {name: n for n, name in enumerate(order)}
    edges: dict[tuple[str, str], Edge] = {}
    for state in (last, first):
        for edge in state.edges:
            ends = state.names[edge.source], state.names[edge.target]
            if place[ends[0]] < place[ends[1]]:
                edges.setdefault(ends, Edge(boxes[ends[0]], boxes[ends[1]]))
    kept = {n: [k for k in first.around.get(n, ()) if k in last.frames] for n in order}
    frames = {**kept, **last.around}
    others = {n: [k for k in first.around.get(n, ()) if k not in last.frames] for n in order}
    made: dict[Path, Group] = {}
    homes: Homes = {}
    for name, path in _nested(frames, others, set(first.frames)).items():
        keys = [each.group if isinstance(each, _Piece) else each for each in path]
        for n, key in enumerate(keys):
            if path[: n + 1] not in made:
                frame = last.frames.get(key) or first.frames[key]
                made[path[: n + 1]] = group_of(frame)
                homes[made[path[: n + 1]]] = made.get(path[:n])
        homes[boxes[name]] = made.get(path)
    in_order = [boxes[name] for name in order]
    names = {boxes[name]: name for name in order}
    return find_groups(in_order, list(edges.values()), homes), names


def _merged(first: list[str], last: list[str]) -> list[str]:
    """Merge two lists in the order of the last one; each element that it lacks is put before its
    successor."""
    theirs = set(last)
    before: dict[str, list[str]] = {}
    run: list[str] = []
    for name in first:
        if name in theirs:
            before[name], run = run, []
        else:
            run.append(name)
    return [each for name in last for each in (*before.get(name, ()), name)] + run


def _nested(frames: Around, groups: Around, stand_ins: Collection[Hashable]) -> dict[str, Path]:
    """Nest frames and groups around each box. A group is placed around a frame if it contains all
    boxes of the frame and more; other groups are divided by the frames. Stand-ins with the same
    boxes as a frame are left out."""
    size: Counter[Hashable] = Counter()
    common: Counter[tuple[Hashable, Hashable]] = Counter()
    for name, inside in frames.items():
        size.update([*inside, *groups[name]])
        common.update((frame, group) for frame in inside for group in groups[name])

    def is_around(group: Hashable, frame: Hashable) -> bool:
        return common[frame, group] == size[frame] < size[group]

    def is_same(group: Hashable, frame: Hashable) -> bool:
        return common[frame, group] == size[frame] == size[group]

    def piece(group: Hashable, outer: Sequence[Hashable]) -> _Piece:
        return _Piece(group, tuple(f for f in outer if common[f, group] < size[group]))

    paths: dict[str, Path] = {}
    for name, inside in frames.items():
        left = [
            group
            for group in groups[name]
            if group not in stand_ins or not any(is_same(group, frame) for frame in inside)
        ]
        path: list[Hashable] = []
        for n, frame in enumerate(inside):
            while left and is_around(left[0], frame):
                path.append(piece(left.pop(0), inside[:n]))
            path.append(frame)
        paths[name] = *path, *(piece(group, inside) for group in left)
    return paths


def _made(last: Hashable, state: _State) -> Group:
    """The group of a frame, or of a piece of a group."""
    if not isinstance(last, _Piece):
        return group_of(state.frames[last])
    name = "/".join((*map(str, last.frames), last.group.name))
    return Group(last.group.kind, last.group.label, name=name)


def _outwards(box: Box, homes: Homes) -> list[Group]:
    """The groups that contain a box, outermost last."""
    path: list[Group] = []
    group = homes[box]
    while group is not None:
        path.append(group)
        group = homes[group]
    return path


def _in_order(grouping: Grouping) -> None:
    """Sort the members of each group by their last boxes: weights that are computed early are put
    next to their users."""
    place: dict[Box | Group, int] = {box: n for n, box in enumerate(grouping.boxes)}
    for group in reversed(grouping.groups()):  # inner groups first
        group.members.sort(key=place.__getitem__)
        place[group] = place[group.members[-1]]
        if group.kind == "inputs":
            group.label = counted(len(group.members), "parameter")
    grouping.roots.sort(key=place.__getitem__)
