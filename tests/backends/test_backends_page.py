"""docs/backends.md: its blocks run in order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from byoc_lab import backends

PAGE = Path(__file__).parents[2] / "docs" / "backends.md"


def test_the_blocks_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    names: dict[str, object] = {}
    try:
        for block in blocks:
            exec(compile(block, str(PAGE), "exec"), names)
    finally:
        backends.unregister("mychip")
    assert len(blocks) == 2 and "crashed its process (SIGSEGV)" in capsys.readouterr().out
