"""docs/explaining.md: its examples print the shown output, and it names every cause."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from byoc_lab.lab.explaining import CAUSES

PAGE = (Path(__file__).parents[3] / "docs" / "explaining.md").read_text(encoding="utf-8")


def test_examples_print_the_output_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    examples = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) == 3
    names: dict[str, object] = {}
    for code, printed in examples:
        exec(code, names)
        assert capsys.readouterr().out == printed


def test_page_gives_every_cause_its_sentence() -> None:
    for cause, sentence in CAUSES.items():
        assert f"| `{cause}` | {sentence}" in PAGE
