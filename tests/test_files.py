"""`write_text` and `replacing`: a file is replaced by a complete new one, or stays unchanged."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import byoc_lab
from byoc_lab import relay, run
from byoc_lab.errors import ArgumentError, ByocLabError
from byoc_lab.files import ordinary_file, path_of, replacing, write_text
from byoc_lab.run.library_file import verify


def test_file_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_text(path, "old ●\n")
    write_text(str(path), "new\n")
    assert path.read_bytes() == b"new\n"
    assert os.listdir(tmp_path) == ["report.html"]


def test_error_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as new:
        new.write_text("half of the n")
        raise KeyboardInterrupt
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["report.html"]


def test_permissions_and_links_are_kept(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_text(link, "new")
    assert link.is_symlink() and path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_file_is_replaced_where_permissions_do_not_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "umask")  # as in WASI
    path = tmp_path / "new.txt"
    write_text(path, "first")
    write_text(path, "second")
    assert path.read_text() == "second"


def test_device_file_is_written_in_place() -> None:
    write_text(os.devnull, "text")
    assert not Path(os.devnull).is_file()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_full_disk_error_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"No space left on device: '/dev/full'"):
        write_text("/dev/full", "text")
    path = tmp_path / "grades.csv"
    with (
        pytest.raises(OSError, match=r"No space left on device: .*grades\.csv"),
        replacing(path) as new,
        open("/dev/full", "w") as full,
    ):
        new.write_text("half")
        full.write("text")
    assert not os.listdir(tmp_path)


def test_missing_folder_error_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "file"
    with pytest.raises(FileNotFoundError) as raised:
        write_text(path, "text")
    assert raised.value.filename == str(path)
    with pytest.raises(FileNotFoundError) as raised, replacing(tmp_path / "file"):
        path.read_text()
    assert str(raised.value.filename) == str(path), "an error of another file keeps its name"


@pytest.mark.parametrize("path", ["a\0b.onnx", "half \ud800.onnx", 5, None])
@pytest.mark.parametrize(
    "opening",
    [
        path_of,
        byoc_lab.importers.load,
        byoc_lab.load_trace,
        relay.parse_file,
        run.load_library,
        lambda path: write_text(path, "text"),
    ],
)
def test_invalid_file_name_is_refused(opening: Callable[[Any], Any], path: Any) -> None:
    with pytest.raises(ArgumentError, match="expected the path of a file, found"):
        opening(path)


@pytest.mark.parametrize(
    ("opening", "suffix"),
    [
        (byoc_lab.importers.load, ".onnx"),
        (byoc_lab.importers.load, ".relay"),
        (byoc_lab.importers.load, ".pt2"),
        (byoc_lab.importers.load, ".py"),
        (byoc_lab.load_trace, ".trace"),
        (verify, ".so"),
    ],
)
def test_device_or_fifo_is_not_read(
    opening: Callable[[Any], Any], suffix: str, tmp_path: Path
) -> None:
    """Reading a FIFO could block forever."""
    path = tmp_path / f"file{suffix}"
    path.symlink_to(os.devnull)
    with pytest.raises((ByocLabError, OSError), match="expected an ordinary file, found a device"):
        opening(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this operating system has no FIFOs")
def test_only_ordinary_files_are_read(tmp_path: Path) -> None:
    fifo, file = tmp_path / "fifo", tmp_path / "file"
    os.mkfifo(fifo)
    file.touch()
    assert ordinary_file(str(file)) == file
    with pytest.raises(OSError, match="expected an ordinary file, found a FIFO") as caught:
        ordinary_file(fifo)
    assert caught.value.filename == str(fifo)
    with pytest.raises(FileNotFoundError):
        ordinary_file(tmp_path / "absent")


def test_file_names_that_are_not_unicode_are_kept(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    write_text(path, "text")
    assert path_of(os.fsencode(path)) == path and path.read_text() == "text"
