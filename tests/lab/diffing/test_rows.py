"""Aligned lines of a diff: equal lines are shown once."""

from __future__ import annotations

import pytest

from byoc_lab import diff, relay
from byoc_lab.lab.diffing import side
from byoc_lab.relay.text.printer import print_both
from byoc_lab.relay.text.printer_lines import Line

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32]) {
  %0 = tanh(%x);
  %1 = nn.relu(%0);
  %2 = abs(%1);
  add(%1, %2)
}
"""


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ("nn.relu(%0)", "exp(%0)", ["same", "same", "removed", "added", "same", "same", "same"]),
        ("add(%1, %2)", "add(%0, %2)", ["same", "same", "same", "same", "changed", "same"]),
        ("abs(%1)", "abs(%0)", ["same", "same", "same", "changed", "same", "same"]),
    ],
)
def test_line_whose_operand_was_replaced_under_its_name_is_unchanged(
    old: str, new: str, kinds: list[str]
) -> None:
    found = diff(relay.parse(TEXT), relay.parse(TEXT.replace(old, new)))
    assert [row.kind for row in found.rows()] == kinds
    lines = str(found).splitlines()
    assert not {line[1:] for line in lines if line[0] == "-"} & {
        line[1:] for line in lines if line[0] == "+"
    }


def test_line_with_equal_text_and_a_different_operand_is_changed() -> None:
    """%1 is another value that existed before: comparing texts would show no change."""
    template = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32], %y: Tensor[(1, 4), float32]) {
  %0 = tanh(NAME);
  %1 = tanh(OTHER);
  add(%0, abs(%1))
}
"""
    one = relay.parse(template.replace("NAME", "%x").replace("OTHER", "%y"))
    two = relay.parse(template.replace("NAME", "%y").replace("OTHER", "%x"))
    assert any(row.kind == "changed" for row in diff(one, two).rows())


def test_module_is_printed_once_for_all_its_diffs(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[relay.IRModule] = []

    def count(mod: relay.IRModule) -> tuple[list[Line], list[Line]]:
        printed.append(mod)
        return print_both(mod)

    monkeypatch.setattr(side, "print_both", count)
    found = diff(relay.parse(TEXT), relay.parse(TEXT.replace("tanh", "exp")))
    assert len(found.rows()) == len(found.rows(show_types=True))
    assert printed == [found.before, found.after]
