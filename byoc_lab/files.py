"""Paths of files, and atomic writing: an old file is replaced only by a complete new file."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from byoc_lab.errors import ArgumentError


def path_of(path: Any) -> Path:
    """A path as a Path. Raises ArgumentError for an invalid file name."""
    try:
        name = os.fsencode(path)
    except TypeError as error:
        found = f"{type(path).__name__} {path!r:.100}"
        raise ArgumentError(
            f"expected the path of a file, found {found}; give a str or a Path"
        ) from error
    except UnicodeEncodeError as error:
        raise ArgumentError(f"expected the path of a file, found {path!r:.100}: {error}") from error
    if b"\0" in name:
        raise ArgumentError(f"expected the path of a file, found {path!r:.100}, with a NUL")
    return Path(os.fsdecode(name))


def ordinary_file(path: Any) -> Path:
    """The path of a file to read from. Raises ArgumentError if the value is not a path. Raises
    OSError if the file does not exist, or is a FIFO, a socket or a device: opening these may block
    forever, and reading them may never end.
    """
    found = path_of(path)
    mode = found.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        what = next((name for test, name in _KINDS if test(mode)), "no file with an end")
        raise OSError(errno.EINVAL, f"expected an ordinary file, found {what}", str(found))
    return found


_KINDS = (
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A context that gives the path of a new file in the same folder, and renames it to `path` at
    the end.

    If an exception is raised inside, or the process is stopped, the old file is unchanged. If
    `path` is not an ordinary file, such as /dev/stdout, it is written directly. Raises OSError, and
    ArgumentError if `path` is not a path.
    """
    target = path_of(path)
    if target.exists() and not target.is_file():
        with _naming(target):
            yield target
        return
    target = target.resolve()
    with _naming(target):
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    os.close(handle)
    new = Path(name)
    try:
        with _naming(target):
            yield new
        new.chmod(target.stat().st_mode if target.exists() else 0o666 & ~_umask())
        new.replace(target)
    finally:
        with suppress(FileNotFoundError):
            new.unlink()


@contextmanager
def _naming(target: Path) -> Iterator[None]:
    """Adds the file name to an error of writing: the error of a full disk has no name, and the
    error of a missing folder names the temporary file, which the user does not know."""
    try:
        yield
    except OSError as error:
        new = str(target.parent / f".{target.name[:100]}.")
        if error.errno is not None and str(error.filename or new).startswith(new):
            error.filename = str(target)
        raise


def write_text(path: str | Path, text: str) -> None:
    """Write a whole file in UTF-8. A half surrogate pair, which UTF-8 cannot encode, is written as
    a backslash escape. Raises OSError."""
    with replacing(path) as new:
        new.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def _umask() -> int:
    """The permission bits that new files do not get; none in WASI, which has no umask."""
    if not hasattr(os, "umask"):
        return 0
    mask = os.umask(0)
    os.umask(mask)
    return mask
