"""The layout rule of operators that broadcast two arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any as AnyValue

from byoc_lab.relay.ir.layout import Axis, Layout
from byoc_lab.relay.op.framework.layout_rules import Answer, Layouts, rank_of_type


def broadcast(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """The argument with more axes determines the layout; the other argument is changed in the same
    way."""
    left, right = old_in
    ranks = [rank_of_type(ty) for ty in types]
    unknown = Answer([None, None], [None], attrs)
    if left is None and right is None:
        return unknown
    if left is None or right is None:
        given, n = (left, 0) if right is None else (right, 1)
        assert given is not None
        if ranks[n] < ranks[1 - n]:
            return unknown
        ahead = ranks[n] - ranks[1 - n]
        if ahead > len(given):  # the layout names fewer axes than the tensor has: nn.dense uses NC
            return unknown
        other = Layout.of(given.axes[ahead : ahead + ranks[1 - n]])
        left, right = (given, other) if n == 0 else (other, given)
    old = [left, right]
    larger = 0 if ranks[0] >= ranks[1] else 1
    if new_in is None:
        return Answer(old, [old[larger]], attrs)
    new = list(new_in)
    assert new[0] is not None and new[1] is not None
    leader = 0 if new[0].rank >= new[1].rank else 1
    result, follower = new[larger], 1 - leader
    as_leader = _follow_leader(old[follower], old[leader], new[leader])
    if as_leader is None:
        return unknown
    before, shapes = old[follower], [ty.shape for ty in types]
    after = _unit_blocks(as_leader, before, shapes[follower])
    if after != before and _broadcasts_blocks(before, after, shapes[follower], shapes[leader]):
        return unknown
    new[follower] = after
    return Answer(new, [result], attrs)


def _broadcasts_blocks(
    old: Layout, new: Layout, shape: Sequence[AnyValue], leader: Sequence[AnyValue]
) -> bool:
    """Whether an argument broadcasts one block to all blocks of the leader, or one element to a
    block. Then its blocked layout cannot be converted back. (TVM 0.16 converts it, and fails to
    infer the type or computes a wrong result.)"""
    for letter, size in old.axes:
        if letter.isupper():
            continue
        inside, outside = old.index_of(letter), old.index_of(letter.upper())
        if shape[inside] != size:
            return True
        from_end = len(old) - outside
        single = from_end <= len(leader) and leader[-from_end] == 1
        if shape[outside] == 1 and not single and new.block_of(letter) != size:
            return True
    return False


def _follow_leader(old: Layout, before: Layout, after: Layout | None) -> Layout | None:
    """Apply the change from `before` to `after` to layout `old`. None unless the axes of `old` are,
    up to their letters, the last axes of `before`."""
    assert after is not None
    large, small = (before, old) if len(before) > len(old) else (old, before)
    tail = large.last(len(small))
    rest = {letter.upper() for letter, _ in large.axes[: len(large) - len(small)]}
    if rest & {letter.upper() for letter, _ in tail.axes} or not _isomorphic(tail, small):
        return None
    if not old.axes:
        return old
    pairs = zip(reversed(before.axes), reversed(old.axes), strict=False)
    names = {mine[0].upper(): its[0].upper() for mine, its in pairs}
    for letter, _ in reversed(before.axes):
        if letter.upper() not in names:
            used = set(names.values())
            free = [letter.upper(), *"ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
            names[letter.upper()] = next(x for x in free if x not in used)

    def renamed(axis: Axis) -> Axis:
        letter = names[axis[0].upper()]
        return (letter if axis[0].isupper() else letter.lower(), axis[1])

    return Layout.of(map(renamed, after.axes))


def _isomorphic(a: Layout, b: Layout) -> bool:
    """Whether two layouts are equal up to their letters."""
    pairs = set(zip((x for x, _ in a.axes), (y for y, _ in b.axes), strict=True))
    one_to_one = len({x for x, _ in pairs}) == len(pairs) == len({y for _, y in pairs})
    sizes = [(x[0].isupper(), x[1]) for x in a.axes] == [(y[0].isupper(), y[1]) for y in b.axes]
    return one_to_one and sizes


def _unit_blocks(layout: Layout, old: Layout, shape: Sequence[AnyValue]) -> Layout:
    """`layout` with block size 1 for axes of size 1 and missing axes, which are broadcast."""
    axes = []
    for letter, size in layout.axes:
        index = old.index_of(letter.upper())
        alone = index < 0 or (shape[index] == 1 and not old.block_of(letter))
        axes.append((letter, 1 if letter.islower() and alone else size))
    return Layout.of(axes)
