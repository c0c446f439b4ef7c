"""The text of a diff: summary first, changed lines with context, long ones truncated."""

from __future__ import annotations

import re

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.diffing.text import CONTEXT, MAX_LINES, near_changes, text_of
from byoc_lab.lab.view.text import diff_text
from byoc_lab.relay import Expr, IRModule


def _chain(count: int, at: int | None = None, every: bool = False) -> IRModule:
    x = relay.var("x", shape=(2, 2))
    value: Expr = x
    for n in range(count):
        value = relay.tanh(value) if n == at or every else relay.abs(value)
    return IRModule.from_expr(relay.Function([x], value))


def test_unchanged_lines_far_from_a_change_are_counted() -> None:
    text = str(byoc_lab.diff(_chain(40), _chain(40, at=20))).splitlines()
    assert text[0] == "1 call added, 1 call removed"
    assert text[1] == "  ⋯ 18 unchanged lines"
    assert next(line for line in text if line[0] == "-") == "-   %20 = abs(%19);"
    assert next(line for line in text if line[0] == "+") == "+   %20 = tanh(%19);"


def test_long_diff_is_truncated_with_a_note() -> None:
    made = byoc_lab.diff(_chain(1000), _chain(1000, every=True))
    text = str(made).splitlines()
    assert len(text) == MAX_LINES + 2
    assert text[-1] == "  ... cut here: 2000 of 2002 lines differ; rows() has all"


def test_diff_without_a_change_has_no_lines() -> None:
    assert str(byoc_lab.diff(_chain(3), _chain(3))) == "no change"


X, Y = "%x: Tensor[(2, 2), float32]", "%y: Tensor[(2, 2), float32]"


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (f"@main({X}) {{ abs(tanh(%x)) }}", f"@main({Y}) {{ tanh(%y) }}", ["%x", "%y"]),
        (f"@main({X}, {Y}) {{ abs(%x) }}", f"@main({Y}, {X}) {{ tanh(abs(%y)) }}", ["%x", "%y"]),
        (f"@main({X}) {{ abs(%x) }}", f"@main({X}) {{ tanh(abs(%x)) }}", []),
        (
            f"@main({X}) {{ let %a = abs(%x); tanh(%a) }}",
            f"@main({X}) {{ let %b = abs(%x); %b }}",
            ["let %a", "let %b"],
        ),
        (
            f"@main({X}) {{ let %f = fn ({X}) {{ tanh(%x) }}; %f(abs(%x)) }}",
            f"@main({X}) {{ let %f = fn ({Y}) {{ tanh(%y) }}; %f(%x) }}",
            ["fn (%x", "fn (%y"],
        ),
    ],
)
def test_line_that_defines_other_names_is_changed(
    before: str, after: str, shown: list[str]
) -> None:
    delta = byoc_lab.diff(relay.fromtext(f"def {before}"), relay.fromtext(f"def {after}"))
    lines = str(delta).splitlines()
    defining = [n for n in lines if n[0] in "+-" and ("def @" in n or "let " in n)]
    assert [n[0] for n in defining] == ["-", "+"] * (len(shown) // 2)
    assert all(name in n for name, n in zip(shown, defining, strict=True))
    names = {name for n in lines if n[0] != "-" for name in re.findall(r"%[a-z]\w*", n)}
    new = relay.fromtext(f"def {after}").astext(show_meta_data=False)
    assert names <= set(re.findall(r"%[a-z]\w*", new))
    assert diff_text(delta).splitlines() == lines


def test_renamed_variables_alone_are_no_change() -> None:
    delta = byoc_lab.diff(
        relay.fromtext(f"def @main({X}) {{ abs(%x) }}"),
        relay.fromtext(f"def @main({Y}) {{ abs(%y) }}"),
    )
    assert str(delta) == diff_text(delta) == "no change"


def test_text_shows_the_rows_near_a_change() -> None:
    rows = byoc_lab.diff(_chain(40), _chain(40, at=20)).rows()
    shown = near_changes(rows, CONTEXT)
    changed = [n for n, row in enumerate(rows) if row.kind != "same"]
    expected = [any(abs(n - m) <= CONTEXT for m in changed) for n in range(len(rows))]
    assert shown == expected
    assert text_of("summary", rows).count("unchanged") == 2
