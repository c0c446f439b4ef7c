"""Layouts: axes, blocks, and names that are not layouts."""

from __future__ import annotations

import pytest

from byoc_lab.errors import AttributeValueError
from byoc_lab.relay.ir.layout import SCALAR, Layout


def test_layout_is_a_sequence_of_axes() -> None:
    layout = Layout("NCHW16c")
    assert layout.letters == list(layout) == ["N", "C", "H", "W", "c"]
    assert (len(layout), layout.rank) == (5, 4)
    assert (layout.index_of("W"), layout.index_of("D")) == (3, -1)


def test_nested_blocks_multiply() -> None:
    layout = Layout("OHWI16i64o2i")
    assert (layout.block_of("I"), layout.block_of("O"), layout.block_of("H")) == (32, 64, 0)
    assert layout.plain == Layout("OHWI")


def test_layouts_are_shortened_and_extended() -> None:
    wide = Layout("NCHW16c")
    assert str(wide.last(2)) == "W16c"
    assert wide.last(9) == wide
    assert Layout("C").widened(wide) == Layout("NHWC")


def test_layouts_are_equal_by_name() -> None:
    assert Layout("NCHW") == Layout("NCHW") != Layout("NHWC")
    assert len({Layout("NCHW"), Layout("NCHW")}) == 1
    assert (str(SCALAR), SCALAR.rank) == ("scalar", 0)


@pytest.mark.parametrize("name", ["", "NCHW4", "NCHWc", "NHW4c", "NCCHW", "N-C", "4NCHW", "N16CHW"])
def test_invalid_layout_name_is_refused(name: str) -> None:
    with pytest.raises(AttributeValueError, match="layout such as NCHW"):
        Layout(name)
