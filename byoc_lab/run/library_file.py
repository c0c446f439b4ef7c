"""The trailer of an exported library: metadata, format, version, size and checksum at the end.

A dynamic linker does not look there. A damaged library crashes the process that loads it, before
anything in it could report an error; so the file is verified before it is loaded.

This finds damage, not intent: a library holds machine code, and loading one runs it with the rights
of the process, as does importing a Python module. Load only what comes from where you would take a
program from.
"""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

from byoc_lab.errors import BuildError
from byoc_lab.files import ordinary_file

FORMAT = b"byoc_lab library"
VERSION = 2
CHUNK = 1 << 20  # bytes read at a time
ELF = b"\x7fELF"
# Little-endian: SHA-256 of all bytes before, their number, version, format.
_END = struct.Struct(f"<32sQI{len(FORMAT)}s")
_LENGTH = struct.Struct("<Q")  # number of bytes of metadata, after it


def seal(path: Path, facts: bytes) -> None:
    """Append metadata, format, version, size and checksum to a file."""
    with path.open("ab") as file:
        file.write(facts + _LENGTH.pack(len(facts)))
    size = path.stat().st_size
    end = _END.pack(_digest(path, size), size, VERSION, FORMAT)
    with path.open("ab") as file:
        file.write(end)


def verify(path: Path) -> bytes:
    """The metadata of a library that `seal` wrote. Raises BuildError for any other file."""
    try:
        size = ordinary_file(path).stat().st_size - _END.size
        with path.open("rb") as file:
            start = file.read(len(ELF))
            file.seek(max(size, 0))
            end = file.read()
    except OSError as error:
        raise BuildError(f"{path} cannot be read: {error}") from error
    if len(end) != _END.size or not end.endswith(FORMAT):
        raise BuildError(
            f"{path} is not a library that Executable.export_library wrote, or its end is missing "
            f"or damaged: expected size and checksum in its last {_END.size} bytes. Export it again"
        )
    digest, stated, version, _ = _END.unpack(end)
    if version != VERSION:
        raise BuildError(
            f"{path} is a library of format version {version}, expected {VERSION}: export it again "
            f"with this byoc_lab"
        )
    if stated != size or digest != _digest(path, size):
        raise BuildError(
            f"{path} is damaged: its {size} bytes do not have the size and checksum at its end. "
            f"Copy it again, or export it again"
        )
    if start != ELF:
        raise BuildError(
            f"{path} is not a shared library: expected ELF, found {start!r} at its start"
        )
    with path.open("rb") as file:
        file.seek(size - _LENGTH.size)
        (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
        if length > size - _LENGTH.size - len(ELF):
            raise BuildError(
                f"{path} says that {length:,} bytes of it are facts, and it has {size:,} bytes"
            )
        file.seek(size - _LENGTH.size - length)
        return file.read(length)


def _digest(path: Path, size: int) -> bytes:
    """The SHA-256 of the first `size` bytes of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while size > 0 and (chunk := file.read(min(size, CHUNK))):
            digest.update(chunk)
            size -= len(chunk)
    return digest.digest()
