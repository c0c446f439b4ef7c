"""How operators follow when the layouts of their arguments change: the `layout` of an OpDef.

A rule is asked twice. First for the layouts as they are (`new_in` is None): what the operator
takes its arguments and results to be, which for an operator such as `nn.relu` is what `old_in`
says of the values it is given. Then for `new_in`, the layouts that its arguments could come in:
it answers in which layouts it wants them, what its results are then, and with which attributes.
None in place of a layout means that it is not known; then the operator stays as it is.

Source: the `FInferCorrectLayout` functions of TVM 0.16. They let an operator along an axis (norms,
`topk`, `split` in sections) take that axis in blocks, which they do not compute right; here such an
operator asks for the axis in one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any as AnyValue

from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.layout import SCALAR, Axis, Layout
from byoc_lab.relay.ir.types import TensorType, TupleType, Type

Layouts = Sequence["Layout | None"]


@dataclass(frozen=True)
class InferCorrectLayoutOutput:
    """What a rule answers: a layout for each argument (the fields of tuples one by one) and for
    each result, and the attributes that fit these."""

    input_layouts: Layouts
    output_layouts: Layouts
    new_attrs: AnyValue


LayoutRule = Callable[
    [AnyValue, "Layouts | None", Layouts, Sequence[Type]], InferCorrectLayoutOutput
]
Answer = InferCorrectLayoutOutput
CHANNELS = Layout("C")


def _first(layouts: Layouts) -> Layout | None:
    return next((x for x in layouts if x is not None), None)


def _changed(attrs: AnyValue, **changes: AnyValue) -> AnyValue:
    """`attrs` with changes; the same object if these change nothing."""
    new = attrs.replace(**changes)
    return attrs if new == attrs else new


def _rank(ty: Type) -> int:
    assert isinstance(ty, TensorType)
    return len(ty.shape)


def with_every_axis(rule: LayoutRule) -> LayoutRule:
    """`rule`, where the layout names every axis; unknown where not: nn.dense calls its data NC, of
    however many axes."""

    def follow(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
        layout = old_in[0]
        if layout is not None and len(layout) != _rank(types[0]):
            return Answer([None] * len(old_in), [None], attrs)
        return rule(attrs, new_in, old_in, types)

    return follow


# Operators that are the same in every layout -----------------------------------------------------


def elementwise(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """Any layout, the same for all arguments and the result."""
    layout = new_in[0] if new_in is not None else _first(old_in)
    return Answer([layout] * len(old_in), [layout], attrs)


def broadcast(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """The argument with more axes leads; the other is changed in the same way."""
    left, right = old_in
    ranks = [_rank(ty) for ty in types]
    unknown = Answer([None, None], [None], attrs)
    if left is None and right is None:
        return unknown
    if left is None or right is None:
        known, n = (left, 0) if right is None else (right, 1)
        assert known is not None
        if ranks[n] < ranks[1 - n]:
            return unknown
        ahead = ranks[n] - ranks[1 - n]
        if ahead > len(known):  # a layout of fewer axes than there are: nn.dense says NC
            return unknown
        other = Layout.of(known.axes[ahead : ahead + ranks[1 - n]])
        left, right = (known, other) if n == 0 else (other, known)
    old = [left, right]
    larger = 0 if ranks[0] >= ranks[1] else 1
    if new_in is None:
        return Answer(old, [old[larger]], attrs)
    new = list(new_in)
    assert new[0] is not None and new[1] is not None
    leader = 0 if new[0].rank >= new[1].rank else 1
    result, follower = new[larger], 1 - leader
    as_leader = _changed_alike(old[follower], old[leader], new[leader])
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
    """Whether an argument has one block for all those of the leader, or one element for all those
    of a block: it cannot be taken out of these blocks. (TVM 0.16 does it all the same, and fails to
    type the result or computes another.)"""
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


def _changed_alike(old: Layout, before: Layout, after: Layout | None) -> Layout | None:
    """`old` changed as `before` was to `after`, where its axes are the last ones of `before`, by
    whatever letters; None where they are not."""
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
            taken = set(names.values())
            free = [letter.upper(), *"ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
            names[letter.upper()] = next(x for x in free if x not in taken)

    def renamed(axis: Axis) -> Axis:
        letter = names[axis[0].upper()]
        return (letter if axis[0].isupper() else letter.lower(), axis[1])

    return Layout.of(map(renamed, after.axes))


def _isomorphic(a: Layout, b: Layout) -> bool:
    """Whether two layouts are the same but for their letters."""
    pairs = set(zip((x for x, _ in a.axes), (y for y, _ in b.axes), strict=True))
    one_to_one = len({x for x, _ in pairs}) == len(pairs) == len({y for _, y in pairs})
    sizes = [(x[0].isupper(), x[1]) for x in a.axes] == [(y[0].isupper(), y[1]) for y in b.axes]
    return one_to_one and sizes


def _unit_blocks(layout: Layout, old: Layout, shape: Sequence[AnyValue]) -> Layout:
    """`layout` with blocks of 1 along axes that are 1 long, or missing: they are broadcast."""
    axes = []
    for letter, size in layout.axes:
        index = old.index_of(letter.upper())
        alone = index < 0 or (shape[index] == 1 and not old.block_of(letter))
        axes.append((letter, 1 if letter.islower() and alone else size))
    return Layout.of(axes)


def elementwise_pair(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """As `elementwise`, with two results."""
    answer = elementwise(attrs, new_in, old_in, types)
    return Answer(answer.input_layouts, [answer.output_layouts[0]] * 2, attrs)


# Operators along an axis -------------------------------------------------------------------------


def along_axis(vectors: int = 0, vector_results: int = 0, results: AnyValue = 1) -> LayoutRule:
    """Of an operator with attribute `axis`, one or several: it follows its axis.

    vectors, vector_results: how many further arguments and results are vectors along the axis.
    results: how many results are as the data, or a function that tells it from the attributes.
    """

    @with_every_axis
    def rule(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
        layout, new_attrs = old_in[0], attrs
        if new_in is not None and layout is not None:
            assert new_in[0] is not None
            axes = attrs.axis if isinstance(attrs.axis, tuple) else (attrs.axis,)
            letters = [layout[axis] for axis in axes]
            blocked = any(map(new_in[0].block_of, letters))
            layout = new_in[0].plain if blocked else new_in[0]
            found = tuple(map(layout.index_of, letters))
            new_attrs = _changed(attrs, axis=found if isinstance(attrs.axis, tuple) else found[0])
        count = results if isinstance(results, int) else results(attrs)
        outputs = [layout] * count + [CHANNELS] * vector_results
        return Answer([layout] + [CHANNELS] * vectors, outputs, new_attrs)

    return rule


def concatenate(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """All parts in one layout, or all as they were."""
    axis, layout, new_attrs = attrs.axis % _rank(types[0].fields[0]), _first(old_in), attrs
    if layout is None or len(layout) <= axis or layout[axis].islower():
        return Answer([None] * len(old_in), [None], attrs)
    if new_in is not None and len(set(new_in)) == 1 and new_in[0] is not None:
        letter, layout = layout[axis], new_in[0]
        new_attrs = _changed(attrs, axis=layout.index_of(letter))
    return Answer([layout] * len(old_in), [layout], new_attrs)


@with_every_axis
def split(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """Along its axis; one in blocks only where it is cut between blocks."""
    layout, new_attrs, cuts = old_in[0], attrs, attrs.indices_or_sections
    count = cuts if isinstance(cuts, int) else len(cuts) + 1
    if new_in is not None and layout is not None and new_in[0] is not None:
        axis = attrs.axis % len(layout)
        letter, length, layout = layout[axis], types[0].shape[axis], new_in[0]
        block = layout.block_of(letter) or 1
        sections = cuts if isinstance(cuts, int) else 1
        where = (length,) if isinstance(cuts, int) else cuts
        if block > 1 and any(not isinstance(n, int) or n % (block * sections) for n in where):
            layout, block = layout.plain, 1
        if not isinstance(cuts, int):
            cuts = tuple(n // block for n in cuts)
        new_attrs = _changed(attrs, axis=layout.index_of(letter), indices_or_sections=cuts)
    return Answer([layout], [layout] * count, new_attrs)


@with_every_axis
def reduction(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """The reduced axes go, with their blocks; or stay, 1 long."""
    old = old_in[0]
    unknown = Answer([None] * len(old_in), [None], attrs)
    if old is None:
        return unknown
    rank = _rank(types[0])
    named = {axis % rank for axis in attrs.axis or ()}
    if not attrs.axis:
        named = set() if attrs.exclude else set(range(rank))
    gone = {old[n] for n in range(rank) if (n in named) != bool(attrs.exclude)}
    layout = new_in[0] if new_in is not None and gone else old
    assert layout is not None
    reduced = [letter.upper() in gone for letter, _ in layout.axes]
    axes = tuple(n for n, it_is in enumerate(reduced) if it_is != bool(attrs.exclude))
    # Of length 1; the mean that a variance takes is so too.
    ones = [
        (letter, 1 if size and it_is else size)
        for (letter, size), it_is in zip(layout.axes, reduced, strict=True)
    ]
    kept = [a for a, it_is in zip(ones, reduced, strict=True) if attrs.keepdims or not it_is]
    if not kept:  # TVM has no layout for a scalar
        return unknown
    new_attrs = _changed(attrs, axis=axes) if new_in is not None and gone else attrs
    means = [Layout.of(ones)] * (len(old_in) - 1)
    return Answer([layout, *means], [Layout.of(kept)], new_attrs)


# Operators that move, drop or cut axes -----------------------------------------------------------


@with_every_axis
def transpose(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """The result has the order that it had; the letters say so."""
    layout = old_in[0]
    if layout is None:
        return Answer([None], [None], attrs)
    rank = len(layout)
    axes = tuple(a % rank for a in attrs.axes or reversed(range(rank)))
    new = new_in[0] if new_in is not None else None
    if new is not None:
        found = tuple(new.index_of(layout[a]) for a in axes)
        if -1 not in found and len(found) == len(new):
            layout, axes = new, found
    if any(size for _, size in layout.axes):
        return Answer([None], [None], attrs)
    output = Layout.of(layout.axes[a] for a in axes)
    return Answer([layout], [output], _changed(attrs, axes=axes))


@with_every_axis
def squeeze(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """The axes that go are named by letter."""
    layout, new_attrs = old_in[0], attrs
    if layout is None:
        return Answer([None], [None], attrs)
    axes = attrs.axis
    if axes is None:
        axes = tuple(n for n, length in enumerate(types[0].shape) if length == 1)
    letters = [layout[a] for a in axes]
    if new_in is not None and new_in[0] is not None:
        layout = new_in[0].plain if any(map(new_in[0].block_of, letters)) else new_in[0]
        new_attrs = _changed(attrs, axis=tuple(map(layout.index_of, letters)))
    return Answer([layout], [Layout.of(a for a in layout.axes if a[0] not in letters)], new_attrs)


@with_every_axis
def strided_slice(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """Axes in another order, or with blocks appended that are taken or left whole."""
    old = old_in[0]
    unknown = Answer([None], [None], attrs)
    if new_in is None or old is None:
        return Answer([old], [old], attrs)
    new = new_in[0]
    assert new is not None
    if old.axes[: len(new)] == new.axes:  # as it was, or without the blocks that it had
        return Answer([old], [old], attrs)
    reordered = sorted(new.axes) == sorted(old.axes)
    if not reordered and new.axes[: len(old)] != old.axes:
        return unknown
    begin, end, shape = list(attrs.begin), list(attrs.end), types[0].shape
    one_stride = 1 if attrs.slice_mode == "size" else None
    strides = [one_stride or s for s in attrs.strides]
    if not reordered:
        for n, axis in enumerate(attrs.axes or range(len(begin))):
            block = new.block_of(old[axis])
            if not block:
                continue
            if (n < len(strides) and strides[n] != 1) or begin[n] % block or end[n] % block:
                return unknown
            begin[n], end[n] = begin[n] // block, end[n] // block
        return Answer([new], [new], _changed(attrs, begin=begin, end=end))
    if attrs.axes:
        axes = [new.index_of(old[a]) for a in attrs.axes]
        return Answer([new], [new], _changed(attrs, axes=axes, strides=strides))
    order = [old.index_of(letter) for letter, _ in new.axes]
    changes = {
        "begin": [begin[n] if n < len(begin) else 0 for n in order],
        "end": [end[n] if n < len(end) else shape[n] for n in order],
        "strides": [strides[n] if n < len(strides) else 1 for n in order],
    }
    return Answer([new], [new], _changed(attrs, **changes))


def slice_like(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """Both tensors in one layout, or as they were; the axes are named by letter."""
    old = old_in[0]
    if new_in is not None and old is not None and attrs.axes and len(set(new_in)) == 1:
        new = new_in[0]
        assert new is not None
        axes = tuple(new.index_of(old[a]) for a in attrs.axes)
        if -1 not in axes:
            return Answer([new, new], [new], _changed(attrs, axes=axes))
    return Answer(old_in, [old_in[1]], attrs)


@with_every_axis
def pad(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """An axis that is padded cannot be in blocks. The pad value is a scalar."""
    layout, new_attrs = old_in[0], attrs
    if new_in is not None and layout is not None:
        new = new_in[0]
        assert new is not None
        width_of = dict(zip((letter for letter, _ in layout.axes), attrs.pad_width, strict=True))
        widths = [width_of[letter.upper()] for letter, _ in new.axes]
        blocks = (width_of[letter] for letter in width_of if new.block_of(letter))
        if not any(map(any, blocks)):
            layout, new_attrs = new, _changed(attrs, pad_width=widths)
    return Answer([layout, SCALAR], [layout], new_attrs)


# Operators whose attributes name the layout ------------------------------------------------------


def fixed(inputs: str, output: str) -> LayoutRule:
    """Always these layouts: `fixed("NC NC", "NC")`. "?" is that of the first argument as it was."""

    def rule(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
        named = [old_in[0] if name == "?" else Layout(name) for name in (*inputs.split(), output)]
        return Answer(named[:-1], named[-1:], attrs)

    return rule


def convolution(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """What its attributes say: others follow a convolution, not it them."""
    data, kernel = Layout(attrs.data_layout), Layout(attrs.kernel_layout)
    return Answer([data, kernel], [Layout(attrs.out_layout or attrs.data_layout)], attrs)


def packed_weight(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """Of a matrix product whose attribute names the layout of its weight."""
    return Answer([Layout("NC"), Layout(attrs.weight_layout)], [Layout("NC")], attrs)


def pooling(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """Any layout, unless `out_layout` was chosen."""
    if new_in is not None and not attrs.out_layout:
        attrs = _changed(attrs, layout=str(new_in[0]))
    return Answer([Layout(attrs.layout)], [Layout(attrs.layout)], attrs)


def upsampling(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """Any layout in which the spatial axes stay where they are, in one piece."""
    old = Layout(attrs.layout)
    if new_in is not None and new_in[0] is not None:
        new, spatial = new_in[0], [x for x in "DHW" if old.index_of(x) >= 0]
        if all(new.index_of(x) == old.index_of(x) and not new.block_of(x) for x in spatial):
            attrs = _changed(attrs, layout=str(new))
    return Answer([Layout(attrs.layout)], [Layout(attrs.layout)], attrs)


def resize(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """The axes in any order, but not in blocks; and as they are if that was chosen."""
    new, old = new_in[0] if new_in is not None else None, Layout(attrs.layout)
    if new is not None and old == old_in[0] and sorted(new.axes) == sorted(old.axes):
        attrs = _changed(attrs, layout=str(new))
    return Answer([Layout(attrs.layout)], [Layout(attrs.layout)], attrs)


# Quantized operators -----------------------------------------------------------------------------


def quantized(rule: LayoutRule, data: int = 2) -> LayoutRule:
    """`rule` for the data; scales and zero points lie along the channels.

    The data are the first `data` arguments, or the fields of the first if that is a tuple.
    """

    def follow(attrs: Attrs, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
        tuples = isinstance(types[0], TupleType)
        count = len(types[0].fields) if tuples else data
        new = None if new_in is None else new_in[:count]
        answer = rule(attrs, new, old_in[:count], types[:1] if tuples else types[:data])
        channels = [CHANNELS] * (len(old_in) - count)
        return Answer([*answer.input_layouts, *channels], answer.output_layouts, answer.new_attrs)

    return follow


def requantize(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """Along its axis, which may be in blocks if the scales and zero points are single numbers."""
    answer = along_axis(vectors=4)(attrs, new_in, old_in, types)
    if new_in is None or any(_rank(ty) for ty in types[1:]) or new_in[0] is None:
        return answer
    return Answer([new_in[0], *answer.input_layouts[1:]], [new_in[0]], answer.new_attrs)
