"""Sections: groups with many members are cut into segments, so that a graph of any size has few
boxes.

The cuts are where few edges cross them.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

from byoc_lab.lab.view.drawing.grouping import Group, Grouping, Member

MAX_MEMBERS = 150  # maximum number of members that are drawn one by one
MIN_SIZE = 10  # minimum number of members in a section
SECTIONS = 20  # maximum number of sections per group; long sections are divided again


def make_sections(grouping: Grouping) -> None:
    """Divide the members of every large group, and the members outside of groups, into sections."""
    todo: list[Group | None] = [None, *grouping.groups()]
    while todo:
        owner = todo.pop()
        members = grouping.members_of(owner)
        if len(members) <= MAX_MEMBERS:
            continue
        cuts = _cuts(members, grouping)
        count = len(cuts) - 1
        sections: list[Member] = []
        for n, (start, stop) in enumerate(pairwise(cuts), 1):
            section = grouping.new("section", f"section {n} of {count}", owner)
            grouping.move(members[start:stop], section)
            sections.append(section)
            todo.append(section)
        members[:] = sections


def _cuts(members: list[Member], grouping: Grouping) -> list[int]:
    """The positions at which the sections begin, and the end of the last section."""
    changes = [0] * (len(members) + 1)
    for ends in grouping.edges_between(members):
        changes[min(ends) + 1] += 1
        changes[max(ends) + 1] -= 1
    crossing = list(accumulate(changes))
    size = max(MIN_SIZE, round(len(members) / SECTIONS))
    cuts = [0]
    while len(members) - cuts[-1] > 2 * size:
        wanted = cuts[-1] + size
        near = range(wanted - size // 4, wanted + size // 4 + 1)
        cuts.append(min(near, key=lambda p: (crossing[p], abs(p - wanted))))
    return [*cuts, len(members)]
