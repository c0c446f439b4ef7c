"""Layout rules: how an operator adapts to new layouts of its arguments (`layout` of an OpDef).

A pass calls a rule twice. With `new_in` None it returns the present layouts of arguments and
results; operators such as `nn.relu` derive them from `old_in`, the layouts of the argument values.
With `new_in`, the layouts available for the arguments, it returns the layouts that the operator
uses for arguments and results, and the attributes for these layouts. None in place of a layout
means "unknown"; the operator is then left unchanged.

Source: the `FInferCorrectLayout` functions of TVM 0.16. They allow blocks on the axis of norms,
`topk` and `split`, with wrong results; here these operators require that axis without blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any as AnyValue

from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.layout import SCALAR, Layout
from byoc_lab.relay.ir.types import TensorType, TupleType, Type

Layouts = Sequence["Layout | None"]


@dataclass(frozen=True)
class InferCorrectLayoutOutput:
    """The result of a rule: a layout for each argument (for each field of a tuple) and each result,
    and the attributes that match these layouts."""

    input_layouts: Layouts
    output_layouts: Layouts
    new_attrs: AnyValue


LayoutRule = Callable[
    [AnyValue, "Layouts | None", Layouts, Sequence[Type]], InferCorrectLayoutOutput
]
Answer = InferCorrectLayoutOutput
CHANNELS = Layout("C")


def first_layout(layouts: Layouts) -> Layout | None:
    return next((x for x in layouts if x is not None), None)


def _replaced(attrs: AnyValue, **changes: AnyValue) -> AnyValue:
    """`attrs` with changes; the same object if nothing changes."""
    new = attrs.replace(**changes)
    return attrs if new == attrs else new


def rank_of_type(ty: Type) -> int:
    assert isinstance(ty, TensorType)
    return len(ty.shape)


def naming_every_axis(rule: LayoutRule) -> LayoutRule:
    """`rule` for layouts that name every axis, otherwise unknown: nn.dense uses NC for data of any
    rank."""

    def follow(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
        layout = old_in[0]
        if layout is not None and len(layout) != rank_of_type(types[0]):
            return Answer([None] * len(old_in), [None], attrs)
        return rule(attrs, new_in, old_in, types)

    return follow


# Operators that support every layout -----------------------------------------------------


def elementwise(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """Any layout, the same for all arguments and the result."""
    layout = new_in[0] if new_in is not None else first_layout(old_in)
    return Answer([layout] * len(old_in), [layout], attrs)


def elementwise_pair(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """As `elementwise`, with two results."""
    answer = elementwise(attrs, new_in, old_in, types)
    return Answer(answer.input_layouts, [answer.output_layouts[0]] * 2, attrs)


# Operators on an axis -------------------------------------------------------------------------


def along_axis(vectors: int = 0, vector_results: int = 0, results: AnyValue = 1) -> LayoutRule:
    """For an operator with attribute `axis` (one or several): the attribute is remapped.

    vectors, vector_results: the number of further arguments and results that are vectors along that
    axis.
    results: the number of results in the layout of the data, or a function of the attributes.
    """

    @naming_every_axis
    def rule(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
        layout, new_attrs = old_in[0], attrs
        if new_in is not None and layout is not None:
            assert new_in[0] is not None
            axes = attrs.axis if isinstance(attrs.axis, tuple) else (attrs.axis,)
            letters = [layout[axis] for axis in axes]
            blocked = any(map(new_in[0].block_of, letters))
            layout = new_in[0].plain if blocked else new_in[0]
            moved = tuple(map(layout.index_of, letters))
            new_attrs = _replaced(attrs, axis=moved if isinstance(attrs.axis, tuple) else moved[0])
        count = results if isinstance(results, int) else results(attrs)
        outputs = [layout] * count + [CHANNELS] * vector_results
        return Answer([layout] + [CHANNELS] * vectors, outputs, new_attrs)

    return rule


def concatenate(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """All operands get one common layout, or all keep their layouts."""
    axis, layout, new_attrs = (
        attrs.axis % rank_of_type(types[0].fields[0]),
        first_layout(old_in),
        attrs,
    )
    if layout is None or len(layout) <= axis or layout[axis].islower():
        return Answer([None] * len(old_in), [None], attrs)
    if new_in is not None and len(set(new_in)) == 1 and new_in[0] is not None:
        letter, layout = layout[axis], new_in[0]
        new_attrs = _replaced(attrs, axis=layout.index_of(letter))
    return Answer([layout] * len(old_in), [layout], new_attrs)


@naming_every_axis
def split(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """The axis is remapped; it may have blocks only if every cut is between blocks."""
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
        new_attrs = _replaced(attrs, axis=layout.index_of(letter), indices_or_sections=cuts)
    return Answer([layout], [layout] * count, new_attrs)


@naming_every_axis
def reduction(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """Removes the reduced axes with their blocks, or keeps them with size 1."""
    old = old_in[0]
    unknown = Answer([None] * len(old_in), [None], attrs)
    if old is None:
        return unknown
    rank = rank_of_type(types[0])
    named = {axis % rank for axis in attrs.axis or ()}
    if not attrs.axis:
        named = set() if attrs.exclude else set(range(rank))
    gone = {old[n] for n in range(rank) if (n in named) != bool(attrs.exclude)}
    layout = new_in[0] if new_in is not None and gone else old
    assert layout is not None
    reduced = [letter.upper() in gone for letter, _ in layout.axes]
    axes = tuple(n for n, is_reduced in enumerate(reduced) if is_reduced != bool(attrs.exclude))
    # Axes of size 1, as in the mean that is an argument of variance.
    ones = [
        (letter, 1 if size and is_reduced else size)
        for (letter, size), is_reduced in zip(layout.axes, reduced, strict=True)
    ]
    kept = [
        a for a, is_reduced in zip(ones, reduced, strict=True) if attrs.keepdims or not is_reduced
    ]
    if not kept:  # TVM has no layout for a scalar
        return unknown
    new_attrs = _replaced(attrs, axis=axes) if new_in is not None and gone else attrs
    means = [Layout.of(ones)] * (len(old_in) - 1)
    return Answer([layout, *means], [Layout.of(kept)], new_attrs)


# Operators that permute, drop or cut axes ---------------------------------------------------------


@naming_every_axis
def transpose(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """The axes of the result keep their order."""
    layout = old_in[0]
    if layout is None:
        return Answer([None], [None], attrs)
    rank = len(layout)
    axes = tuple(a % rank for a in attrs.axes or reversed(range(rank)))
    new = new_in[0] if new_in is not None else None
    if new is not None:
        moved = tuple(new.index_of(layout[a]) for a in axes)
        if -1 not in moved and len(moved) == len(new):
            layout, axes = new, moved
    if any(size for _, size in layout.axes):
        return Answer([None], [None], attrs)
    output = Layout.of(layout.axes[a] for a in axes)
    return Answer([layout], [output], _replaced(attrs, axes=axes))


@naming_every_axis
def squeeze(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """The dropped axes are found by letter."""
    layout, new_attrs = old_in[0], attrs
    if layout is None:
        return Answer([None], [None], attrs)
    axes = attrs.axis
    if axes is None:
        axes = tuple(n for n, length in enumerate(types[0].shape) if length == 1)
    letters = [layout[a] for a in axes]
    if new_in is not None and new_in[0] is not None:
        layout = new_in[0].plain if any(map(new_in[0].block_of, letters)) else new_in[0]
        new_attrs = _replaced(attrs, axis=tuple(map(layout.index_of, letters)))
    return Answer([layout], [Layout.of(a for a in layout.axes if a[0] not in letters)], new_attrs)


@naming_every_axis
def strided_slice(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """Supports permuted axes, or appended blocks that every cut keeps whole."""
    old = old_in[0]
    unknown = Answer([None], [None], attrs)
    if new_in is None or old is None:
        return Answer([old], [old], attrs)
    new = new_in[0]
    assert new is not None
    if old.axes[: len(new)] == new.axes:  # the layout unchanged, or without its blocks
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
        return Answer([new], [new], _replaced(attrs, begin=begin, end=end))
    if attrs.axes:
        axes = [new.index_of(old[a]) for a in attrs.axes]
        return Answer([new], [new], _replaced(attrs, axes=axes, strides=strides))
    order = [old.index_of(letter) for letter, _ in new.axes]
    changes = {
        "begin": [begin[n] if n < len(begin) else 0 for n in order],
        "end": [end[n] if n < len(end) else shape[n] for n in order],
        "strides": [strides[n] if n < len(strides) else 1 for n in order],
    }
    return Answer([new], [new], _replaced(attrs, **changes))


def slice_like(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """Both tensors get one common layout, or keep their layouts; the axes are found by letter."""
    old = old_in[0]
    if new_in is not None and old is not None and attrs.axes and len(set(new_in)) == 1:
        new = new_in[0]
        assert new is not None
        axes = tuple(new.index_of(old[a]) for a in attrs.axes)
        if -1 not in axes:
            return Answer([new, new], [new], _replaced(attrs, axes=axes))
    return Answer(old_in, [old_in[1]], attrs)


@naming_every_axis
def pad(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """A padded axis must not have blocks. The pad value is a scalar."""
    layout, new_attrs = old_in[0], attrs
    if new_in is not None and layout is not None:
        new = new_in[0]
        assert new is not None
        width_of = dict(zip((letter for letter, _ in layout.axes), attrs.pad_width, strict=True))
        widths = [width_of[letter.upper()] for letter, _ in new.axes]
        blocks = (width_of[letter] for letter in width_of if new.block_of(letter))
        if not any(map(any, blocks)):
            layout, new_attrs = new, _replaced(attrs, pad_width=widths)
    return Answer([layout, SCALAR], [layout], new_attrs)


# Operators with layout attributes ------------------------------------------------------


def fixed(inputs: str, output: str) -> LayoutRule:
    """Fixed layouts: `fixed("NC NC", "NC")`. "?" is the old layout of the first argument."""

    def rule(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
        named = [old_in[0] if name == "?" else Layout(name) for name in (*inputs.split(), output)]
        return Answer(named[:-1], named[-1:], attrs)

    return rule


def convolution(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """The layouts in its attributes: a convolution never adapts to its arguments."""
    data, kernel = Layout(attrs.data_layout), Layout(attrs.kernel_layout)
    return Answer([data, kernel], [Layout(attrs.out_layout or attrs.data_layout)], attrs)


def packed_weight(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """The layouts of a matrix product with attribute weight_layout."""
    return Answer([Layout("NC"), Layout(attrs.weight_layout)], [Layout("NC")], attrs)


def pooling(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """Any layout, unless attribute out_layout is set."""
    if new_in is not None and not attrs.out_layout:
        attrs = _replaced(attrs, layout=str(new_in[0]))
    return Answer([Layout(attrs.layout)], [Layout(attrs.layout)], attrs)


def upsampling(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """Any layout with the spatial axes in the same positions and without blocks."""
    old = Layout(attrs.layout)
    if new_in is not None and new_in[0] is not None:
        new, spatial = new_in[0], [x for x in "DHW" if old.index_of(x) >= 0]
        if all(new.index_of(x) == old.index_of(x) and not new.block_of(x) for x in spatial):
            attrs = _replaced(attrs, layout=str(new))
    return Answer([Layout(attrs.layout)], [Layout(attrs.layout)], attrs)


def resize(attrs: AnyValue, new_in: Layouts | None, old_in: Layouts, types) -> Answer:
    """Any permutation of the axes, without blocks."""
    new, old = new_in[0] if new_in is not None else None, Layout(attrs.layout)
    if new is not None and old == old_in[0] and sorted(new.axes) == sorted(old.axes):
        attrs = _replaced(attrs, layout=str(new))
    return Answer([Layout(attrs.layout)], [Layout(attrs.layout)], attrs)


# Quantized operators -----------------------------------------------------------------------------


def quantized(rule: LayoutRule, data: int = 2) -> LayoutRule:
    """`rule` for the data; scales and zero points have the layout of the channels.

    The data are the first `data` arguments, or the fields of the first argument if it is a tuple.
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
    """The axis is remapped; it may have blocks if scales and zero points are scalars."""
    answer = along_axis(vectors=4)(attrs, new_in, old_in, types)
    if new_in is None or any(rank_of_type(ty) for ty in types[1:]) or new_in[0] is None:
        return answer
    return Answer([new_in[0], *answer.input_layouts[1:]], [new_in[0]], answer.new_attrs)
