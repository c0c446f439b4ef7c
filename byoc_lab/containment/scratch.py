"""Temporary folders that are removed with their process: locked while it runs; if it was killed,
the next process removes them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """A new folder among the temporary files, removed at the end. First removes folders with the
    same prefix that killed processes of this user have left. Raises OSError."""
    remove_abandoned(prefix)
    lock = None
    while lock is None:
        folder = Path(tempfile.mkdtemp(prefix=prefix))
        lock = _locked(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # files that a notebook made unreadable are left
        os.close(lock)


def remove_abandoned(prefix: str) -> None:
    """Remove the folders of `scratch_folder` whose processes have ended."""
    import fcntl  # not available on Windows

    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):  # it belongs to another user, is a link, or was just removed
            if folder.lstat().st_uid != os.geteuid():
                continue
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _locked(folder: Path) -> int | None:
    """A descriptor that locks a new folder; None if another process has already removed the
    folder."""
    import fcntl

    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return None
    fcntl.flock(lock, fcntl.LOCK_EX)
    with suppress(FileNotFoundError):
        if os.path.samestat(folder.stat(), os.fstat(lock)):
            return lock
    os.close(lock)
    return None
