"""Figures: what they draw is what the report says."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab.lab.checking.comparison import compare
from byoc_lab.lab.checking.report import Report

pytest.importorskip("matplotlib")


def _report(*errors: float, shape: tuple[int, ...] = (2, 3, 4)) -> Report:
    wanted = np.ones(shape)
    found = []
    for n, error in enumerate(errors):
        got = wanted.astype("float32")
        got.ravel()[-1:] += np.float32(error)
        found.append(compare(f"@region_{n}", got, wanted, 0.5))
    return Report(tuple(found), ())


def test_a_bar_for_each_comparison_and_the_wrong_one_is_hatched() -> None:
    report = _report(0.0, 0.25, 2.0)
    figure = report.plot()
    shares, distribution, plane, *_ = figure.axes
    assert [label.get_text() for label in shares.get_yticklabels()] == [
        "@region_0", "@region_1", "@region_2"
    ]  # fmt: skip
    widths = [bar.get_width() for bar in shares.patches]
    assert widths[1:] == pytest.approx([0.5, 4.0]) and widths[0] < 1e-5
    assert [bool(bar.get_hatch()) for bar in shares.patches] == [False, False, True]
    assert distribution.get_title() == "@region_2"
    assert sum(bar.get_height() for bar in distribution.patches) == 24
    assert plane.get_title() == "[1], worst element [1, 2, 3]"
    drawn = plane.images[0].get_array()
    assert drawn.shape == (3, 4) and drawn[2, 3] == 1 and drawn.sum() == 1


@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (1, 2, 3, 4)])
def test_any_shape_can_be_drawn(shape: tuple[int, ...], tmp_path) -> None:
    _report(2.0, shape=shape).plot().savefig(tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 10_000
