"""Scratch folders: removed at the end, or by a later process if their process was killed."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from byoc_lab.containment.scratch import remove_abandoned, scratch_folder

pytestmark = pytest.mark.linux
PREFIX = "byoc-lab-test-"
HOLDS = (
    "import time\n"
    "from byoc_lab.containment.scratch import scratch_folder\n"
    f"with scratch_folder({PREFIX!r}) as folder:\n"
    "    (folder / 'file').touch()\n"
    "    print(folder, flush=True)\n"
    "    time.sleep(600)\n"
)


@pytest.fixture(autouse=True)
def own_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_folder_is_removed_at_the_end_and_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), scratch_folder(PREFIX) as folder:
        (folder / "below").mkdir()
        assert folder.parent == tmp_path
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


def test_folders_of_killed_processes_are_removed_and_used_ones_stay(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", HOLDS], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    left = Path(child.stdout.readline().strip())
    remove_abandoned(PREFIX)
    assert (left / "file").is_file()
    child.kill()
    child.wait()
    assert left.is_dir()
    with scratch_folder(PREFIX) as folder:
        assert not left.exists()
        remove_abandoned(PREFIX)
        assert folder.is_dir()


@pytest.mark.parametrize(("module", "name"), [("tempfile", "mkdtemp"), ("fcntl", "flock")])
def test_folder_removed_before_it_is_locked_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, name: str
) -> None:
    act = getattr(importlib.import_module(module), name)
    removed: list[str] = []

    def then_removed(*args: Any, **more: Any) -> Any:
        done = act(*args, **more)
        if not removed:
            removed.extend(os.listdir(tmp_path))
            (tmp_path / removed[0]).rmdir()
        return done

    monkeypatch.setattr(f"{module}.{name}", then_removed)
    with scratch_folder(PREFIX) as folder:
        assert folder.is_dir()
        assert [folder.name] == os.listdir(tmp_path) != removed
    assert removed


def test_cleanup_keeps_files_links_and_other_folders(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (tmp_path / f"{PREFIX}link").symlink_to(kept)
    (tmp_path / f"{PREFIX}file").touch()
    (tmp_path / "byoc-lab-other").mkdir()
    remove_abandoned(PREFIX)
    assert len(os.listdir(tmp_path)) == 4
