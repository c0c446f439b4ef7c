"""A checksum behind the end of an exported library, where a dynamic linker does not look.

A damaged library crashes the process that loads it, before anything in it could report an error; so
the checksum is verified first.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from byoc_lab.errors import BuildError

MARK = b"byoc_lab.library.sha256\n"
SIZE = len(MARK) + hashlib.sha256().digest_size
CHUNK = 1 << 20  # bytes read at a time


def append_checksum(path: Path) -> None:
    """End a file with MARK and the SHA-256 of what stands before."""
    digest = _digest(path, path.stat().st_size)
    with path.open("ab") as file:
        file.write(MARK + digest)


def verify_checksum(path: Path) -> None:
    """Raise BuildError unless a file ends with a checksum that is right."""
    try:
        size = path.stat().st_size - SIZE
        with path.open("rb") as file:
            file.seek(max(size, 0))
            end = file.read()
    except OSError as error:
        raise BuildError(f"{path} cannot be read: {error}") from error
    if size < 0 or not end.startswith(MARK):
        raise BuildError(
            f"{path} is no library that Executable.export_library wrote, or its end is missing or "
            f"damaged: expected a checksum in its last {SIZE} bytes. Export it again"
        )
    if end[len(MARK) :] != _digest(path, size):
        raise BuildError(
            f"{path} is damaged: its {size} bytes do not have the checksum at its end. Copy it "
            f"again, or export it again"
        )


def _digest(path: Path, size: int) -> bytes:
    """The SHA-256 of the first `size` bytes of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while size > 0 and (chunk := file.read(min(size, CHUNK))):
            digest.update(chunk)
            size -= len(chunk)
    return digest.digest()
