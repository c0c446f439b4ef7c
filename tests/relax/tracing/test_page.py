"""docs/relax.md: its code blocks run, and it lists every rule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

from byoc_lab.lab.linting.foreign import RULES

PAGE = (Path(__file__).parents[3] / "docs" / "relax.md").read_text(encoding="utf-8")


@pytest.mark.native
def test_code_blocks_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {"__name__": "page"}
    shown = []
    for block in blocks:
        exec(block, names)
        shown.append(capsys.readouterr().out)
    run, asked, found, explained = shown
    assert "MergeCompositeFunctions" in run
    assert "5 of 5 calls offloaded to dnnl" in asked and "\nvalid\n" in asked
    assert "BYR003 warning module: pattern mychip.conv_relu" in found
    (printed,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert explained == printed


def test_page_lists_every_rule() -> None:
    for code, name in RULES.items():
        assert f"| {code} | {name} |" in PAGE
