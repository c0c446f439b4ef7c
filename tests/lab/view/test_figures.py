"""Figures draw the numbers of their report."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab.errors import ArgumentError, UnknownNameError
from byoc_lab.lab.checking.bisected import Bisection, Checked
from byoc_lab.lab.checking.comparison import compare
from byoc_lab.lab.checking.report import Report
from byoc_lab.lab.view.figures import figure as figure_of
from byoc_lab.lab.view.figures.themes import THEMES
from byoc_lab.relay.ir.expr import Call, Op, Var
from byoc_lab.run.metering.cards import Cards, RegionCard, RegionInfo
from byoc_lab.run.metering.peak import machine_peak

pytest.importorskip("matplotlib")


def _report(*errors: float, shape: tuple[int, ...] = (2, 3, 4)) -> Report:
    wanted = np.ones(shape)
    found = []
    for n, error in enumerate(errors):
        got = wanted.astype("float32")
        got.ravel()[-1:] += np.float32(error)
        found.append(compare(f"@region_{n}", got, wanted, 0.5))
    return Report(tuple(found), ())


def test_figure_has_a_bar_for_each_comparison_and_hatches_wrong_bars() -> None:
    report = _report(0.0, 0.25, 2.0)
    figure = report.plot()
    shares, distribution, plane, *_ = figure.axes
    assert [label.get_text() for label in shares.get_yticklabels()] == [
        "@region_0", "@region_1", "@region_2"
    ]  # fmt: skip
    widths = [bar.get_width() for bar in shares.patches]
    assert widths[1:] == pytest.approx([0.5, 4.0]) and widths[0] < 1e-5
    assert [bool(bar.get_hatch()) for bar in shares.patches] == [False, False, True]
    assert distribution.get_title(loc="left") == "@region_2"
    assert sum(bar.get_height() for bar in distribution.patches) == 24
    assert plane.get_title(loc="left") == "[1], worst element [1, 2, 3]"
    drawn = plane.images[0].get_array()
    assert drawn.shape == (3, 4) and drawn[2, 3] == 1 and drawn.sum() == 1


@pytest.mark.parametrize("shape", [(), (5,), (1, 2, 3, 4)])
def test_report_of_any_shape_can_be_drawn(shape: tuple[int, ...]) -> None:
    _report(2.0, shape=shape).plot().draw_without_rendering()


def test_figure_is_saved(tmp_path) -> None:
    _report(2.0).plot().savefig(tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 10_000


def _texts(axes) -> list[str]:
    return [text.get_text().strip() for text in axes.texts]


def test_bisection_is_drawn_in_the_order_of_the_pipeline() -> None:
    checked = (
        Checked("FoldConstant", 0.25, True, 2),
        Checked("PartitionGraph", 30.0, False, 9),
        Checked("@region nn.dense 0", 0.0, True),
    )
    found = Bisection(None, None, None, 3, 3, checked=checked)
    (axes,) = found.plot().axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [
        "after stage 2, FoldConstant",
        "after stage 9, PartitionGraph",
        checked[2].name,
    ]
    assert [bool(bar.get_hatch()) for bar in axes.patches] == [False, True, False]
    assert _texts(axes) == ["25.0%", "30", "0"]


def test_bisection_figure_numbers_stages_as_its_title_does() -> None:
    checked = (Checked("FoldConstant", 30.0, False, 9),)
    found = Bisection("FoldConstant", "main", Call(Op.get("nn.relu"), [Var("x")]), 1, 1, index=9,
                      checked=checked)  # fmt: skip
    (axes,) = found.plot().axes
    assert "(stage 9)" in axes.get_title(loc="left")
    assert axes.get_yticklabels()[0].get_text() == "after stage 9, FoldConstant"


def test_figure_of_many_kernels_shows_those_with_the_largest_errors() -> None:
    equal = (Checked("@region nn.relu 0", 0.5, True),) * 60
    (axes,) = Bisection(None, None, None, 1, 1, checked=equal).plot().axes
    assert len(axes.patches) == 40
    assert "left out: 20 kernels with smaller errors" in axes.get_title(loc="left")


def test_cards_are_drawn_relative_to_the_peak() -> None:
    facts = [RegionInfo(f"r{n}", "dnnl", "no" if n else None, 1, flops=10**9) for n in range(3)]
    cards = [RegionCard(f, 1, call_us=us) for f, us in zip(facts, (1e4, 2e4, None), strict=True)]
    rates, times = Cards(cards).plot().axes
    assert [label.get_text() for label in rates.get_yticklabels()] == [
        "@r1, llvm", "@r0, dnnl", "@r2, llvm"
    ]  # fmt: skip
    widths = [bar.get_width() for bar in rates.patches]
    peak = machine_peak().flops_per_second / 1e9
    assert widths == pytest.approx([peak, 50, peak, 100])
    assert _texts(rates)[2] == "not measured" and _texts(times) == ["20", "10"]
    assert [bool(bar.get_hatch()) for bar in times.patches] == [True, False], "r1 fell back"


def test_long_names_in_a_figure_are_shortened_in_the_middle_and_differ() -> None:
    names = [f"tvmgen_default_ccompiler_main_{n}" for n in (0, 27)]
    names += [f"tvmgen_{'long_' * 20}{end}" for end in "ab"]
    cards = Cards([RegionCard(RegionInfo(name, "dnnl", None, 1), 1) for name in names])
    drawn = [label.get_text() for label in cards.plot().axes[0].get_yticklabels()]
    assert drawn[:2] == [f"@{name}, dnnl" for name in names[:2]]
    assert all(text.startswith("@tvmgen_") for text in drawn) and "…" in drawn[2]
    assert len(set(drawn)) == len(names)


@pytest.mark.parametrize("theme", list(THEMES))
def test_figure_has_the_colours_of_its_theme(theme: str) -> None:
    from matplotlib.colors import to_hex

    drawn = _report(0.25, 2.0).plot(theme=theme)
    shares = drawn.axes[0]
    colours = THEMES[theme]
    assert to_hex(drawn.get_facecolor()) == colours.paper
    assert [to_hex(bar.get_facecolor()) for bar in shares.patches] == [colours.good, colours.wrong]
    assert shares.get_yticklabels()[0].get_color() == shares.texts[0].get_color() == colours.ink


def test_unknown_theme_or_object_of_a_figure_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="'light' or 'dark'"):
        _report(0.0).plot(theme="sepia")
    with pytest.raises(ArgumentError, match="a bisection, a coverage or cards, found int"):
        figure_of(3)
