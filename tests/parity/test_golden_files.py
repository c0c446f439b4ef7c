"""Golden files: reading and writing them again changes nothing, so no part is ignored."""

from __future__ import annotations

from pathlib import Path

import pytest

from .goldens.files import GoldenFile, all_golden_files, golden_files, golden_path
from .goldens.plan import longest_runs, plan
from .write_golden import is_named, main

FILES = all_golden_files()


@pytest.mark.parametrize("folder", sorted({path.parent.name for path in FILES}))
def test_golden_file_that_is_read_and_written_is_unchanged(folder: str) -> None:
    for path in golden_files(folder):
        assert str(GoldenFile.read(path)) == path.read_text(encoding="utf-8"), path.name


def test_incomplete_head_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "headless.relay"
    path.write_text('// About.\n// case: x.y\n#[version = "0.0.5"]\n', encoding="utf-8")
    with pytest.raises(ValueError, match="no `// before:` line"):
        GoldenFile.read(path)


def test_every_entry_of_the_plan_has_its_file() -> None:
    missing = [entry.path for entry in plan() if not golden_path(entry.path).exists()]
    assert not missing


def test_longest_runs_contain_every_entry_as_a_prefix() -> None:
    runs = longest_runs(plan())
    for entry in plan():
        assert any(
            case == entry.case and wanted[: len(entry.steps)] == entry.steps
            for case, wanted in runs
        )


def test_golden_files_are_selected_by_file_and_by_folder() -> None:
    path = "FuseOps/fusing_tuples.relay"
    for names in ([], ["FuseOps"], [path], ["InferType", "FuseOps"]):
        assert is_named(path, names)
    for name in ("Fuse", "FuseOps/fusing", "fusing_tuples.relay"):
        assert not is_named(path, [name])
    assert main(["Fuse"]) == 2  # and no file was written
