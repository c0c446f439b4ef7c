"""The groups of a picture: regions, functions, operators on weights, repeated blocks, sections.

Regions and functions are given. Inside each of them, and outside, further groups are found until
few members remain: operators that compute only with weights join their user; in a large picture a
convolution or product and its elementwise followers form a chain; runs of equal blocks form one
group (`repeats`); the members between two single-value cuts form a block; groups that are still too
long are cut into sections (`sections`); many parameters of one member form one box. Each step is
one walk over boxes and edges.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import groupby

from byoc_lab.lab.view.drawing.elements import WEIGHTS, Arrow, Box, Picture, PictureFrame
from byoc_lab.lab.view.drawing.grouping import (
    Edge,
    Group,
    Grouping,
    Homes,
    Member,
    boxes_of,
    collect,
    group_of,
)
from byoc_lab.lab.view.drawing.repeats import Unit, pieces_of, repeats
from byoc_lab.lab.view.drawing.sections import make_sections
from byoc_lab.relay.ir.expr import Call, Op
from byoc_lab.relay.op.framework.arithmetic import Arithmetic
from byoc_lab.relay.op.framework.registry import OpPattern

MIN_MEMBERS = 4  # minimum number of members for a group in which blocks can repeat
# maximum number of members in a group or a picture; above this, blocks are single boxes
MAX_LOOSE_MEMBERS = 24
MAX_LOOSE = 60  # number of boxes up to which elementwise operators have separate boxes
MAX_OPEN = 24  # maximum number of boxes in a graph that is shown with all groups open
ELEMENT_WISE = (OpPattern.ELEMWISE, OpPattern.BROADCAST)
MAX_INPUTS = 6  # maximum number of separate inputs of one box or group; more inputs are grouped
MAX_NAMES = 8  # maximum number of operator names in the text of a group


def grouped(picture: Picture) -> Grouping:
    """The groups of a picture, repeated blocks included."""
    boxes, edges = without_annotations(picture)
    return find_groups(boxes, edges, _homes(picture, boxes))


def framed(picture: Picture) -> Grouping:
    """The regions and functions of a picture as its only groups, all of them open."""
    boxes, edges = without_annotations(picture)
    homes = _homes(picture, boxes)
    return Grouping(boxes, edges, collect(boxes, homes), homes, opened=True)


def _homes(picture: Picture, boxes: list[Box]) -> Homes:
    made = {frame: group_of(frame) for frame in picture.frames}
    homes: Homes = {made[f]: made.get(f.parent) if f.parent else None for f in picture.frames}
    homes.update((box, made.get(box.frame) if box.frame else None) for box in boxes)
    return homes


def find_groups(boxes: list[Box], edges: list[Edge], homes: Homes) -> Grouping:
    """Add the groups found in a graph to the given groups of its boxes."""
    weights = _group_weights(boxes, edges, homes)
    if len(boxes) > MAX_LOOSE:
        _group_chains(boxes, edges, homes, weights)
    grouping = Grouping(boxes, edges, collect(boxes, homes), homes, len(boxes) <= MAX_OPEN)
    _group_repeats(grouping)
    _group_blocks(grouping)
    make_sections(grouping)
    _group_inputs(grouping)
    return grouping


def fold(picture: Picture) -> Picture:
    """The picture with each outermost group, such as a repeated block, as one box."""
    grouping = grouped(picture)
    shown: dict[Box, Box] = {}
    boxes: list[Box] = []
    for member in grouping.roots:
        if isinstance(member, Group):
            inside = list(boxes_of(member))
            exprs = [expr for box in inside for expr in box.exprs]
            made = Box("frame", contents(member) or member.label, member.label, exprs)
            shown.update(dict.fromkeys(inside, made))
        else:
            made = shown[member] = member
        boxes.append(made)
    arrows: dict[tuple[Box, Box], Arrow] = {}
    for edge in grouping.edges:
        ends = shown[edge.source], shown[edge.target]
        if ends[0] is not ends[1]:
            arrows.setdefault(ends, Arrow(*ends, crossing=edge.crossing))
    return Picture(boxes, [], list(arrows.values()), picture.regions)


def without_annotations(picture: Picture) -> tuple[list[Box], list[Edge]]:
    """Replace the annotation boxes `begin` and `end` by marks on the edges, if their region has
    other boxes."""
    solid: set[PictureFrame | None] = set()
    for box in picture.boxes:
        frame = box.frame if box.kind not in ("begin", "end") else None
        while frame is not None and frame not in solid:
            solid.add(frame)
            frame = frame.parent
    notes = {b for b in picture.boxes if b.kind in ("begin", "end") and b.frame in solid}
    edges: list[Edge] = []
    into_note: dict[Box, list[Edge]] = {}  # the edges into an annotation
    incoming: dict[Box, list[tuple[Box, bool]]] = {}
    for arrow in picture.arrows:
        incoming.setdefault(arrow.target, []).append((arrow.source, arrow.crossing))
    for box in picture.boxes:  # sources come before their users
        for source, crossing in incoming.get(box, ()):
            for old in into_note.get(source, ()) if source in notes else (Edge(source, box),):
                edge = Edge(old.source, box, old.crossing or crossing, old.begin, old.end)
                if box not in notes:
                    edges.append(edge)
                    continue
                setattr(edge, box.kind, box)
                into_note.setdefault(box, []).append(edge)
    return [b for b in picture.boxes if b not in notes], edges


def _group_weights(boxes: list[Box], edges: list[Edge], homes: Homes) -> dict[Box, Group]:
    """Group the operators that compute only with constants and weight parameters, by the box that
    uses their result."""
    sources: dict[Box, list[Box]] = {}
    users: dict[Box, list[Box]] = {}
    for edge in edges:
        sources.setdefault(edge.target, []).append(edge.source)
        users.setdefault(edge.source, []).append(edge.target)
    constant: set[Box] = set()
    for box in boxes:
        if box not in users:
            continue
        named = box.kind == "input" and _named_weight(box.title)
        if named or (box.kind == "op" and all(s in constant for s in sources.get(box, ()))):
            constant.add(box)
    user_of: dict[Box, Box] = {}
    for box in reversed(boxes):
        if box in constant:
            user_of[box] = user_of.get(users[box][0], users[box][0])
    together: dict[Box, list[Box]] = {}
    for box in boxes:
        if box in user_of and homes[box] is homes[user_of[box]]:
            together.setdefault(user_of[box], []).append(box)
    groups: dict[Box, Group] = {}
    for user, members in together.items():
        if len(members) > 1:
            groups[user] = Group("weights", "computed from weights")
            homes[groups[user]] = homes[user]
            homes.update(dict.fromkeys(members, groups[user]))
    return groups


def _named_weight(title: str) -> bool:
    """Whether a parameter is named like a weight: "%bn1_gamma", "%conv0.weight"."""
    return any(title.endswith((f"_{name}", f".{name}")) for name in WEIGHTS)


def _group_chains(
    boxes: list[Box],
    edges: list[Edge],
    homes: Homes,
    weights: dict[Box, Group],
) -> None:
    """Group a convolution or product with the elementwise operators that follow it, unless a
    composite already groups them."""
    users: dict[Box, list[Box]] = {}
    sources: dict[Box, list[Box]] = {}
    for edge in edges:
        home = homes[edge.source]
        if home is None or home.kind != "weights":
            users.setdefault(edge.source, []).append(edge.target)
            sources.setdefault(edge.target, []).append(edge.source)
    for box in boxes:
        home = homes[box]
        if not _is_heavy(box) or (home is not None and home.kind in ("composite", "weights")):
            continue
        chain = [box]
        while len(users.get(chain[-1], ())) == 1:
            (following,) = users[chain[-1]]
            alone = len(sources[following]) == 1 and homes[following] is home
            if not alone or not _is_follower(following):
                break
            chain.append(following)
        if len(chain) > 1:
            group = Group("chain", "")
            homes[group] = home
            for member in chain:
                homes[member] = group
                if member in weights:
                    homes[weights[member]] = group


def _is_follower(box: Box) -> bool:
    """Whether a box is an elementwise operator or a batch norm."""
    call = box.exprs[0] if box.kind == "op" and box.exprs else None
    if not isinstance(call, Call) or not isinstance(call.op, Op):
        return False
    known = call.op.definition
    return known.pattern in ELEMENT_WISE or known.arithmetic is Arithmetic.BATCH_NORM


def _group_repeats(grouping: Grouping) -> None:
    """Replace runs of equal blocks by groups, inside every group and outside all groups."""
    signs = _signs(grouping)
    order = {box: n for n, box in enumerate(grouping.boxes)}
    for group in [None, *grouping.groups()]:
        members = grouping.members_of(group)
        if len(members) < MIN_MEMBERS:
            continue
        # A group whose weights are computed early is placed at its last operator.
        members.sort(key=lambda member: max(order[box] for box in boxes_of(member)))
        units = [Unit(signs[m], _is_attached(m), _is_heavy(m)) for m in members]
        taken: dict[int, Group | None] = {}
        for first, blocks in repeats(units, grouping.edges_between(members)):
            taken.update(dict.fromkeys((n for block in blocks for n in block), None))
            taken[first] = _repeat(
                group, [[members[n] for n in block] for block in blocks], grouping
            )
        members[:] = [
            shown for n, m in enumerate(members) if (shown := taken.get(n, m)) is not None
        ]


def _group_blocks(grouping: Grouping) -> None:
    """In a group with many members, group each segment between two single-value cuts (such as the
    branches of an Inception module and their concatenation), and runs of light operators."""
    for group in [None, *grouping.groups()]:
        members = grouping.members_of(group)
        if len(members) <= MAX_LOOSE_MEMBERS:
            continue
        units = [Unit(None, _is_attached(m)) for m in members]
        pieces = pieces_of(units, grouping.edges_between(members))
        first = next((n for n, m in enumerate(members) if m.kind != "input"), 0)
        shown: list[Member] = members[:first]  # the network input is not hidden in a block
        run: list[Member] = []
        for piece in pieces:
            inside = [members[n] for n in piece if n >= first]
            computing = [member for member in inside if not _is_attached(member)]
            if len(computing) == 1 and _is_light(computing[0]):
                run += inside
                continue
            shown += _block(group, run, grouping)
            run = []
            shown += _block(group, inside, grouping)
        members[:] = [*shown, *_block(group, run, grouping)]


def _group_inputs(grouping: Grouping) -> None:
    """Group the inputs of a member with many inputs; the first input of the network, its data,
    stays outside."""
    data = next((box for box in grouping.boxes if box.kind == "input"), None)
    for group in [None, *grouping.groups()]:
        members = grouping.members_of(group)
        if sum(member.kind == "input" for member in members) <= MAX_INPUTS:
            continue
        users: dict[int, set[int]] = {}
        for source, target in grouping.edges_between(members):
            users.setdefault(source, set()).add(target)
        taken: dict[int, list[Member]] = {}
        for n, member in enumerate(members):
            if member.kind == "input" and member is not data and len(users.get(n, ())) == 1:
                taken.setdefault(min(users[n]), []).append(member)
        for inputs in taken.values():
            if len(inputs) > MAX_INPUTS:
                made = grouping.new("inputs", f"{len(inputs)} parameters", group)
                members[members.index(inputs[0])] = made
                members[:] = [each for each in members if each not in inputs]
                grouping.move(inputs, made)


def _block(owner: Group | None, inside: list[Member], grouping: Grouping) -> list[Member]:
    """Make a block of the members; too few or too many members stay as they are."""
    if sum(not _is_attached(member) for member in inside) < 2 or len(inside) > MAX_LOOSE:
        return inside
    block = grouping.new("block", "block", owner)
    grouping.move(inside, block)
    return [block]


def _is_light(member: Member) -> bool:
    """Whether a member is a light operator, or a region with one light operator; in a large picture
    such members are grouped with their neighbours."""
    is_small = member.kind in ("op", "chain")
    if isinstance(member, Group) and member.kind == "region":
        is_small = len(member.members) == 1
    return is_small and not _is_heavy(member)


def _repeat(owner: Group | None, blocks: list[list[Member]], grouping: Grouping) -> Group:
    repeat = grouping.new("repeat", f"{len(blocks)} times", owner)
    for n, block in enumerate(blocks, 1):
        home = repeat
        if len(block) > 1:
            home = grouping.new("copy", f"block {n} of {len(blocks)}", repeat)
            repeat.members.append(home)
        grouping.move(block, home)
    return repeat


def _is_attached(member: Member) -> bool:
    return member.kind in ("input", "weights", "constant")


def _is_heavy(member: Member) -> bool:
    """Whether a member starts with an operator that typical network blocks start with; operators on
    weights do not count."""
    first = member
    while isinstance(first, Group):
        inside = first.members
        first = next((m for m in inside if not _is_attached(m)), inside[0])
    return first.kind == "op" and any(word in first.title for word in ("conv", "dense", "matmul"))


def _signs(grouping: Grouping) -> dict[Member, Hashable]:
    """A key of each box and group, equal for equal blocks: names of operators, windows, nesting and
    back ends, but not shapes and names of functions."""
    numbers: dict[Hashable, int] = {}
    signs: dict[Member, Hashable] = {}
    for box in grouping.boxes:
        signs[box] = (box.kind, box.title if box.kind == "op" else "", box.window)
    for group in reversed(grouping.groups()):  # inner groups first
        name = group.label if group.kind == "composite" else ""
        inside = tuple(signs[m] for m in group.members)
        sign = (group.kind, name, group.compiler, inside)
        signs[group] = numbers.setdefault(sign, len(numbers))
    return signs


def contents(group: Group) -> str:
    """The operators of a group in short: "conv2d + add + relu"."""
    if group.kind == "repeat":  # its blocks may differ between the rewrites of a pass
        blocks = (contents(m) if isinstance(m, Group) else m.short for m in group.members)
        return " or ".join(dict.fromkeys(blocks))
    names = _names(group)
    more = len(names) - MAX_NAMES
    if more > 0:
        names = [*names[:MAX_NAMES], f"{more:,} more"]
    runs = [(name, sum(1 for _ in same)) for name, same in groupby(names)]
    return " + ".join(f"{n} \N{MULTIPLICATION SIGN} ({w})" if n > 1 else w for w, n in runs)


def _names(group: Group) -> list[str]:
    """The names of the operators in a group, and the contents of its groups."""
    names: list[str] = []
    for member in group.members:
        if not isinstance(member, Group):
            if member.kind not in ("input", "output", "begin", "end"):
                names.append(member.short)
        elif member.kind == "section":
            names += _names(member)
        elif member.kind != "weights" and (inside := contents(member)):
            times = f" \N{MULTIPLICATION SIGN}{len(member.members)}" * (member.kind == "repeat")
            names.append(inside + times)
    return names
