"""The stepper's content as text, for a terminal."""

from __future__ import annotations

import re

import pytest

from byoc_lab import lint
from byoc_lab.lab.diffing import diff
from byoc_lab.lab.view import render_text, text
from byoc_lab.lab.view.states.captions import seconds_text
from byoc_lab.passes.framework.infer_type import InferType
from tests.lab.view.samples import annotated, chain, mobilenet, network


def test_table_has_a_line_for_each_stage() -> None:
    lines = text.trace_text(chain()).splitlines()
    assert lines[0].startswith("Conv, batch norm, relu: 3 stages, 2 changed the module, ")
    assert lines[1].split() == [
        "#", "stage", "outcome", "time", "offloaded", "host", "regions", "lint"
    ]  # fmt: skip
    assert re.match(r" *1  Annotate +● changed +[\d.]+ m?s +6 +0 +2  ✖ 1$", lines[3])
    assert re.match(r" *2  PartitionGraph +✖ failed ", lines[4])
    assert "✖ PartitionGraph raised FreeVariableError:" in lines


def test_unchanged_stages_are_marked() -> None:
    assert "○ unchanged" in text.trace_text(mobilenet())


def test_stage_is_shown_as_a_unified_diff() -> None:
    shown = text.stage_text(chain(), 1)
    head, *lines = shown.splitlines()
    assert head.startswith("[1] Annotate: ")
    assert any(line.startswith("+   %0 = annotation.compiler_begin(%data") for line in lines)
    assert any(line.startswith("-   %0 = nn.conv2d(%data, %layer1_weight") for line in lines)


def test_findings_are_shown_below_their_lines() -> None:
    lines = text.stage_text(chain(), 1).splitlines()
    at = next(n for n, line in enumerate(lines) if "BYL001" in line)
    assert lines[at - 1].startswith("+ ") and "nn.conv2d(" in lines[at - 1]
    assert "compiler_begin" in lines[at + 1], "what to do"


def test_unchanged_lines_are_shortened() -> None:
    lines = text.stage_text(mobilenet(), 4, context=0).splitlines()
    skipped = [int(m[1]) for line in lines if (m := re.search(r"⋯ (\d+) unchanged", line))]
    kept = [line for line in lines[1:] if "⋯" not in line]
    assert all(line[0] in "+-" for line in kept)
    full = text.stage_text(mobilenet(), 4, context=10_000).splitlines()
    assert len(full) == 1 + len(kept) + sum(skipped)


def test_failed_stage_shows_its_input() -> None:
    shown = text.stage_text(chain(), 2)
    assert shown.startswith("[2] PartitionGraph: failed")
    assert "BYL001" in shown


def test_unknown_stage_raises_index_error() -> None:
    with pytest.raises(IndexError):
        text.stage_text(chain(), 3)


def test_difference_and_findings_are_rendered_as_text() -> None:
    mod = annotated(fixed=False)
    delta = diff(InferType()(network()), mod)
    assert render_text(delta).splitlines()[0] == str(delta.summary)
    assert "BYL001" in render_text(lint(mod))


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, ""), (0.0012, "1.2 ms"), (0.034, "34 ms"), (0.34, "0.34 s"), (12.3, "12 s")],
)
def test_times_are_shown_in_readable_units(seconds: float | None, shown: str) -> None:
    assert seconds_text(seconds) == shown
