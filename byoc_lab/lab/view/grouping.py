"""Groups of boxes that can be drawn as one, and the edges between boxes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from byoc_lab.lab.view.elements import Box
from byoc_lab.relay.ir.expr import Expr


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

    `kind`: that of a frame (`PictureFrame`), or "weights", "chain", "repeat", "copy" or "section".
    """

    kind: str
    label: str
    compiler: str | None = None
    parent: Group | None = None
    expr: Expr | None = None
    members: list[Box | Group] = field(default_factory=list)

    def back_end(self) -> str | None:
        """The back end that runs all of it; None for the host, or for several."""
        group: Group | None = self
        while group is not None:
            if group.compiler is not None:
                return None if group.compiler == "default" else group.compiler
            group = group.parent
        inside = {m.back_end() if isinstance(m, Group) else None for m in self.members}
        return inside.pop() if len(inside) == 1 else None


@dataclass(eq=False)
class Grouping:
    """The boxes, edges and groups to draw.

    roots: what is in no group. homes: the innermost group of each box.
    """

    boxes: list[Box]
    edges: list[Edge]
    roots: list[Member]
    homes: dict[Box, Group | None]

    def groups(self) -> list[Group]:
        """All groups, each after the group that it is in."""
        found: list[Group] = []
        todo = [m for m in reversed(self.roots) if isinstance(m, Group)]
        while todo:
            found.append(todo.pop())
            todo += [m for m in reversed(found[-1].members) if isinstance(m, Group)]
        return found


Member = Box | Group


def boxes_of(member: Member) -> Iterator[Box]:
    """The boxes of a member, in evaluation order."""
    todo = [member]
    while todo:
        found = todo.pop()
        if isinstance(found, Group):
            todo += reversed(found.members)
        else:
            yield found
