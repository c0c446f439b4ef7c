"""What the README shows is so."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_example_runs_and_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "clean: no findings" in printed
    assert "58 outlined" in printed
    assert "valid" in printed
    assert (tmp_path / "trace.html").stat().st_size > 10_000


def test_what_it_names_is_there() -> None:
    for path in re.findall(r"`((?:byoc_lab|notebooks|native|tests)/[\w./]*)`", README):
        assert (ROOT / path).exists(), path
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", README):
        assert (ROOT / picture).exists(), picture


def test_make_explains_itself() -> None:
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in set(re.findall(r"`make (\w+)`|^make (\w+)", README, re.M)):
        assert f"make {''.join(target)}" in done.stdout
