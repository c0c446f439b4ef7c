"""The README: its example runs, and its paths and commands exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_example_prints_the_output_in_its_comments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "clean: no findings" in printed
    assert "55 calls moved into @" in printed
    assert "valid" in printed
    assert (tmp_path / "trace.html").stat().st_size > 10_000


def test_paths_in_the_readme_exist() -> None:
    for path in re.findall(r"`((?:byoc_lab|docs|notebooks|native|tests)/[\w./]*)`", README):
        assert (ROOT / path).exists(), path
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", README):
        assert (ROOT / picture).exists(), picture


def test_layout_names_every_folder_of_the_lab_and_of_passes() -> None:
    for row, folder in (("lab", "lab"), ("passes", "passes")):
        (line,) = re.findall(rf"^\| `byoc_lab/{row}/` \|.*$", README, re.M)
        packages = {p.parent.name for p in (ROOT / "byoc_lab" / folder).glob("*/__init__.py")}
        assert set(re.findall(r"`(\w+)/`", line)) == packages


def test_make_help_lists_the_targets_in_the_readme() -> None:
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in set(re.findall(r"`make (\w+)`|^make (\w+)", README, re.M)):
        assert f"make {''.join(target)}" in done.stdout
