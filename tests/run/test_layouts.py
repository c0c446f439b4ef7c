"""`build(layouts=)`: equal bits from every build, and a choice stored in cards and libraries."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.errors import ArgumentError
from byoc_lab.run import build, load_library

pytestmark = pytest.mark.native
CHOICE = re.compile(r"layouts of its convolutions: (\w+); (\w+)")


def partitioned() -> relay.IRModule:
    """A convolution with enough work for several layouts to be tried, and a softmax of its
    result."""
    rng = np.random.default_rng(5)
    x = relay.var("x", shape=(1, 64, 57, 57))
    weight = relay.const(rng.standard_normal((64, 64, 3, 3)).astype("float32"))
    body = relay.nn.softmax(relay.nn.conv2d(x, weight, padding=(1, 1)), axis=1)
    return dnnl.partition_for_dnnl(relay.IRModule.from_expr(relay.Function([x], body)))


def image() -> np.ndarray:
    return np.random.default_rng(6).standard_normal((1, 64, 57, 57)).astype("float32")


def test_ten_builds_make_equal_choices_and_compute_equal_bits() -> None:
    mod, x, found = partitioned(), image(), set()
    for _ in range(10):
        exe = build(mod)
        bits = exe(x)[0].tobytes()
        (card,) = exe.cards()
        stats = exe.linked[0].module["get_stats"]()
        assert json.loads(stats)["layout_times_us"] == {}, "a layout was timed"
        found.add((bits, card.layouts, tuple(op.impl for op in card.ops)))
    assert len(found) == 1


@pytest.mark.parametrize("layouts", ["fixed", "measured"])
def test_card_and_library_state_the_chosen_layout(layouts: str, tmp_path: Path) -> None:
    exe, x = build(partitioned(), layouts=layouts), image()
    (result,) = exe(x)
    (chosen,) = CHOICE.findall(str(exe.cards()))
    assert chosen == (exe.cards()[0].layouts.split(";")[0], layouts)
    written = json.loads(exe.linked[0].module["get_stats"]())["ops"][0]["dst_layout"]
    assert chosen[0] == written
    assert "layouts of its convolutions" in exe.cards()._repr_html_()
    exe.export_library(tmp_path / "conv.so")
    library = load_library(tmp_path / "conv.so")
    assert library(x)[0].tobytes() == result.tobytes()
    assert CHOICE.findall(str(library.cards())) == [chosen]


def test_regions_without_convolutions_have_no_layout_choice() -> None:
    x = relay.var("x", shape=(4, 10))
    mod = dnnl.partition_for_dnnl(
        relay.IRModule.from_expr(relay.Function([x], relay.nn.softmax(x)))
    )
    exe = build(mod)
    exe(np.zeros((4, 10), "float32"))
    assert [card.layouts for card in exe.cards()] == [None]


def test_layouts_option_applies_to_unknown_dimensions() -> None:
    x = relay.var("x", shape=(relay.Any(), 64, 57, 57))
    weight = relay.const(np.ones((64, 64, 3, 3), "float32"))
    mod = dnnl.partition_for_dnnl(
        relay.IRModule.from_expr(relay.Function([x], relay.nn.conv2d(x, weight, padding=(1, 1))))
    )
    exe = build(mod, layouts="measured").for_inputs({"x": image()})
    exe(image())
    ((_, rule),) = CHOICE.findall(str(exe.cards()))
    assert rule == "measured"


@pytest.mark.parametrize("layouts", ["quick", None, 1])
def test_unknown_layouts_option_is_refused(layouts: object) -> None:
    with pytest.raises(ArgumentError, match="build: layouts must be 'fixed' or 'measured', found"):
        build(partitioned(), layouts=layouts)  # type: ignore[arg-type]
