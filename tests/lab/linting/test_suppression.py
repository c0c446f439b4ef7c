"""Suppression of findings: by rule, by line, by node, and by comments in the text."""

from __future__ import annotations

import pytest

from byoc_lab import lint, relay
from byoc_lab.errors import ArgumentError, UnknownNameError
from tests.lab.linting.samples import begin, end, main

TEXT = main(begin("%x"), "add(%0, %x)", end("%1"), begin("%2", "B"), "nn.relu(%3)")


def codes(text: str, ignore: object = ()) -> list[str]:
    return [f.code for f in lint(relay.parse(text, "net.relay"), ignore=ignore)]  # type: ignore[arg-type]


def test_nothing_is_suppressed_by_default() -> None:
    assert codes(TEXT) == ["BYL001", "BYL002"]


@pytest.mark.parametrize("rule", ["BYL001", "missing-begin", ["BYL001"], {"missing-begin"}])
def test_rule_is_suppressed_by_code_or_name(rule: object) -> None:
    assert codes(TEXT, rule) == ["BYL002"]


def test_line_is_suppressed() -> None:
    assert codes(TEXT, "net.relay:3") == ["BYL002"]
    assert codes(TEXT, ["net.relay:3", "net.relay:6"]) == []
    assert codes(TEXT, "other.relay:3") == ["BYL001", "BYL002"]


def test_node_and_span_are_suppressed() -> None:
    mod = relay.parse(TEXT, "net.relay")
    first, second = lint(mod)
    assert first.node is not None and second.span is not None
    left = lint(mod, ignore=[first.node, second.span])
    assert list(left) == [] and left.suppressed == 2


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("// byoc-lab: ignore", ["BYL002"]),
        ("// byoc-lab: ignore BYL001", ["BYL002"]),
        ("// byoc-lab: ignore BYL003, missing-begin", ["BYL002"]),
        ("/* byoc-lab: ignore BYL001 */", ["BYL002"]),
        ("// byoc-lab: ignore BYL003", ["BYL001", "BYL002"]),
        ("// ignore BYL001", ["BYL001", "BYL002"]),
    ],
)
def test_comment_on_the_line_or_above_suppresses_findings(comment: str, left: list[str]) -> None:
    lines = TEXT.splitlines()
    assert codes("\n".join([*lines[:2], f"{lines[2]}  {comment}", *lines[3:]])) == left
    assert codes("\n".join([*lines[:2], f"  {comment}", *lines[2:]])) == left


def test_ignore_with_unknown_name_or_type_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="ignore names 'BYL999', which is neither a rule"):
        codes(TEXT, "BYL999")
    with pytest.raises(ArgumentError, match="found int 3"):
        codes(TEXT, [3])
