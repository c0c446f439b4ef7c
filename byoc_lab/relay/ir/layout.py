"""Layouts: the order of the axes of a tensor, "NCHW" or, with channels in blocks, "NCHW16c"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import prod

from byoc_lab.errors import AttributeValueError
from byoc_lab.printing import printable

Axis = tuple[str, int]
"""(letter, block size); the block size is 0 for an upper case letter, and 16 for the c of 16c."""


class Layout:
    """Axes in order. `Layout("NCHW16c")[4]` is "c"; layouts of the same name are equal.

    An upper case letter is an axis, a lower case letter the position within a block of that axis;
    blocks may be nested, as in "OHWI16i64o2i", with the outermost first. A scalar has the layout
    `SCALAR`, without axes. Source: `tir::Layout` of TVM 0.16.
    """

    __slots__ = ("axes", "name")
    axes: tuple[Axis, ...]
    name: str

    def __init__(self, name: str):
        """Raises AttributeValueError for a name that is not a layout."""
        axes = [(letter, int(size or 0)) for size, letter in re.findall(r"(\d*)([A-Za-z])", name)]
        letters = [letter for letter, _ in axes]
        outer = [letter for letter in letters if letter.isupper()]
        whole = _name(axes) == name
        blocked = all((size > 0) == letter.islower() for letter, size in axes)
        complete = all(letter.upper() in letters for letter in letters)
        if not axes or not whole or not blocked or not complete or len(set(outer)) < len(outer):
            raise AttributeValueError(f"{name!r} is not a layout such as NCHW or NCHW16c")
        self.axes, self.name = tuple(axes), name

    @classmethod
    def of(cls, axes: Iterable[Axis]) -> Layout:
        """The layout that consists of these axes, such as a part of another layout."""
        made = object.__new__(cls)
        made.axes = tuple(axes)
        made.name = _name(made.axes)
        return made

    @property
    def rank(self) -> int:
        """The number of axes without blocks."""
        return sum(letter.isupper() for letter, _ in self.axes)

    @property
    def letters(self) -> list[str]:
        """The names of the axes, in order."""
        return [letter for letter, _ in self.axes]

    @property
    def plain(self) -> Layout:
        """This layout without blocks: NHWC4c becomes NHWC."""
        return Layout.of(axis for axis in self.axes if axis[0].isupper())

    def index_of(self, letter: str) -> int:
        """The position of an axis, -1 if the layout lacks it."""
        return next((n for n, axis in enumerate(self.axes) if axis[0] == letter), -1)

    def block_of(self, letter: str) -> int:
        """The total block size of an axis, the product of nested blocks; 0 if the axis has no
        blocks."""
        sizes = [size for name, size in self.axes if name == letter.lower()]
        return prod(sizes) if sizes else 0

    def last(self, count: int) -> Layout:
        """The last `count` axes, or all if there are fewer."""
        return Layout.of(self.axes[max(len(self.axes) - count, 0) :])

    def widened(self, wide: Layout) -> Layout:
        """This layout, preceded by the axes of `wide` that it lacks: C widened by NCHW16c is
        NHWC."""
        mine = {letter for letter, _ in self.axes}
        missing = [a for a in wide.axes if a[0].isupper() and a[0] not in mine]
        return Layout.of([*missing, *self.axes])

    def __getitem__(self, index: int) -> str:
        return self.axes[index][0]

    def __len__(self) -> int:
        return len(self.axes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    @printable
    def __str__(self) -> str:
        return self.name or "scalar"

    def __repr__(self) -> str:
        return f"Layout({self.name!r})"


def _name(axes: Iterable[Axis]) -> str:
    return "".join(f"{size or ''}{letter}" for letter, size in axes)


SCALAR = Layout.of(())
