"""Groups of boxes that can be drawn as one, and the edges between boxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from byoc_lab.lab.view.drawing.elements import Box, PictureFrame
from byoc_lab.relay.ir.expr import Expr

IdOf = Callable[[Expr], str | None]


@dataclass(eq=False)
class Edge:
    """An arrow; `begin` and `end` are the annotations on it, which are not boxes."""

    source: Box
    target: Box
    crossing: bool = False
    begin: Box | None = None
    end: Box | None = None


@dataclass(eq=False)
class Group:
    """Boxes and groups that can be drawn as one. `members` are in evaluation order.

    `kind`: the kind of its frame (`PictureFrame`), or "weights", "chain", "repeat", "copy",
    "block", "section" or "inputs". `name`: the name of a group that several pictures share; "" for
    other groups.
    """

    kind: str
    label: str
    compiler: str | None = None
    expr: Expr | None = None
    members: list[Box | Group] = field(default_factory=list)
    name: str = ""


@dataclass(eq=False)
class Grouping:
    """The boxes, edges and groups to draw.

    roots: the boxes and groups outside all groups. homes: the innermost group around each box and
    each group. opened: whether all groups are open at first.
    """

    boxes: list[Box]
    edges: list[Edge]
    roots: list[Member]
    homes: Homes
    opened: bool = False

    def groups(self) -> list[Group]:
        """All groups, each after the group that contains it."""
        found: list[Group] = []
        todo = [m for m in reversed(self.roots) if isinstance(m, Group)]
        while todo:
            found.append(todo.pop())
            todo += [m for m in reversed(found[-1].members) if isinstance(m, Group)]
        return found

    def back_ends(self, group: Group) -> set[str | None]:
        """The back ends that run a group; None stands for the host."""
        outer: Group | None = group
        while outer is not None:
            if outer.compiler is not None:
                return {None if outer.compiler == "default" else outer.compiler}
            outer = self.homes[outer]
        found: set[str | None] = set()
        todo: list[Group] = [group]
        while todo:
            for member in todo.pop().members:
                if not isinstance(member, Group):
                    if member.kind not in ("input", "output"):
                        found.add(None)
                elif member.compiler is not None:
                    found.add(None if member.compiler == "default" else member.compiler)
                else:
                    todo.append(member)
        return found

    def members_of(self, group: Group | None) -> list[Member]:
        """The members of a group or, for None, of the picture outside of groups. Returns the list
        itself, so it can be changed."""
        return self.roots if group is None else group.members

    def edges_between(self, members: Sequence[Member]) -> set[tuple[int, int]]:
        """The edges between the members, as pairs of positions."""
        if len(members) < 2:
            return set()
        place = {box: n for n, member in enumerate(members) for box in boxes_of(member)}
        found: set[tuple[int, int]] = set()
        for box, n in place.items():
            found.update((n, m) for b in self.users.get(box, ()) if (m := place.get(b, n)) != n)
        return found

    @cached_property
    def users(self) -> dict[Box, list[Box]]:
        """The targets of the edges that start at each box."""
        found: dict[Box, list[Box]] = {}
        for edge in self.edges:
            found.setdefault(edge.source, []).append(edge.target)
        return found

    def new(self, kind: str, label: str, home: Group | None) -> Group:
        """Create a group inside another group, or outside all groups; the caller adds it to the
        members there."""
        group = Group(kind, label)
        self.homes[group] = home
        return group

    def move(self, members: Sequence[Member], group: Group) -> None:
        """Move members into a group; the caller removes them from their previous list."""
        group.members += members
        self.homes.update(dict.fromkeys(members, group))


Member = Box | Group
Homes = dict[Member, Group | None]
"""The innermost group around each box and group; None outside all groups. Groups do not refer to
their parents, so they are freed with their grouping, without the garbage collector."""


def boxes_of(member: Member) -> Iterator[Box]:
    """The boxes of a member, in evaluation order."""
    todo = [member]
    while todo:
        found = todo.pop()
        if isinstance(found, Group):
            todo += reversed(found.members)
        else:
            yield found


def group_of(frame: PictureFrame) -> Group:
    """The group of the boxes in a frame."""
    return Group(frame.kind, frame.label, frame.compiler, frame.expr)


def collect(boxes: Iterable[Box], homes: Homes) -> list[Member]:
    """Add boxes and groups to the groups that contain them; returns the outermost ones."""
    roots: list[Member] = []
    placed: set[Group] = set()
    for box in boxes:
        member: Member = box
        home = homes[box]
        while home is not None:
            home.members.append(member)
            if home in placed:
                break
            placed.add(home)
            member, home = home, homes[home]
        else:
            roots.append(member)
    return roots


def names_of(boxes: Iterable[Box], id_of: IdOf) -> dict[Box, str]:
    """A name for each box: the id of its node or, without an id, its kind and a number."""
    names: dict[Box, str] = {}
    used: set[str] = set()
    counts: Counter[str] = Counter()
    for box in boxes:
        name = next(filter(None, map(id_of, box.exprs)), None)
        if name is None or name in used:
            name = f"{box.kind}{counts[box.kind]}"
            counts[box.kind] += 1
        used.add(name)
        names[box] = name
    return names
