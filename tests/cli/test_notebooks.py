"""`byoc-lab notebooks`: copies the course and keeps files that a student changed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from byoc_lab.cli import main
from byoc_lab.commands import notebooks
from byoc_lab.containment import children
from byoc_lab.lessons import course_files
from tests.notebooks.test_links import links, problem

ROOT = Path(__file__).parents[2]
FIRST = "notebooks/00_start_here.ipynb"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Records commands instead of starting them."""
    started: list[list[str]] = []

    def in_front(command: list[str]) -> int:
        started.append(command)
        return 3

    monkeypatch.setattr(children, "in_front", in_front)
    return started


def test_notebooks_command_copies_the_course_and_its_linked_pages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "a course"
    assert main(["notebooks", str(folder), "--no-open"]) == 0
    assert f"begin with: jupyter lab '{folder / FIRST}'" in capsys.readouterr().out
    for name in ("notebooks", "notebooks/exercises"):
        copied = {p.name: p.read_bytes() for p in (folder / name).glob("*.ipynb")}
        assert copied == {p.name: p.read_bytes() for p in (ROOT / name).glob("*.ipynb")}
    files = [p for p in folder.rglob("*") if p.is_file()]
    assert {p.suffix for p in files} == {".ipynb", ".md"}
    assert [found for p in files for link in links(p) if (found := problem(p, link))] == []


def test_default_folder_is_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["notebooks", "--no-open"]) == 0
    assert (tmp_path / "byoc-lab-course" / FIRST).is_file()


def test_changed_files_are_kept_and_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["notebooks", str(tmp_path), "--no-open"]) == 0
    exercise = tmp_path / "notebooks/exercises/fix-the-name.ipynb"
    exercise.write_text("my answer", encoding="utf-8")
    (tmp_path / FIRST).unlink()
    capsys.readouterr()
    assert main(["notebooks", str(tmp_path), "--no-open"]) == 0
    out = capsys.readouterr().out
    assert exercise.read_text(encoding="utf-8") == "my answer"
    assert (tmp_path / FIRST).read_bytes() == (ROOT / FIRST).read_bytes()
    kept = [line for line in out.splitlines() if line.startswith("kept")]
    assert kept == [f"kept {exercise}, which differs from the installed file"]
    assert f"{tmp_path}: 1 new file\n" in out


def test_jupyterlab_opens_the_first_notebook_in_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[list[str]]
) -> None:
    monkeypatch.setattr(notebooks.importlib.util, "find_spec", lambda name: name == "jupyterlab")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["notebooks", str(tmp_path)]) == 3, "the exit code of JupyterLab"
    ((python, *arguments),) = opened
    assert python == sys.executable and arguments[:2] == ["-m", "jupyterlab"]
    assert arguments[-1] == str(tmp_path / FIRST)
    assert main(["notebooks", str(tmp_path), "--no-open"]) == 0
    assert len(opened) == 1


@pytest.mark.parametrize(
    ("installed", "terminal", "reason"),
    [(True, False, "not a terminal"), (False, True, "pip install jupyterlab")],
)
def test_reason_is_printed_if_the_notebook_cannot_be_opened(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    opened: list[list[str]],
    installed: bool,
    terminal: bool,
    reason: str,
) -> None:
    monkeypatch.setattr(notebooks.importlib.util, "find_spec", lambda name: installed or None)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert main(["notebooks", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert reason in out and "begin with: jupyter lab" in out
    assert opened == []


def test_missing_notebooks_error_names_the_expected_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(course_files, "_ROOTS", (tmp_path / "_course",))
    assert main(["notebooks", str(tmp_path / "new")]) == 2
    error = capsys.readouterr().err
    assert str(tmp_path / "_course" / FIRST) in error and "pip install ." in error
    assert not (tmp_path / "new").exists()


def test_file_in_place_of_the_folder_exits_with_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    assert main(["notebooks", str(tmp_path / "file"), "--no-open"]) == 2
    assert str(tmp_path / "file") in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"
