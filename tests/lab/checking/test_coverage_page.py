"""The code blocks of docs/coverage.md run in order and print the output on the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "coverage.md"


@pytest.mark.native
def test_code_blocks_print_the_output_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    printed = []
    for block in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(compile(block, str(PAGE), "exec"), names)
        printed.append(capsys.readouterr().out)
    (shown,) = re.findall(r"```text\n(.*?)```", text, re.S)
    assert printed[0].startswith(shown)
    assert "operators offloaded" in printed[1] and "error" in printed[2]
    assert "1 of 2 calls offloaded to dnnl" in printed[3] and names["report"].ok
