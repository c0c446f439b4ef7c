"""The trailer of an exported library: metadata, format, version, size and checksum at the end.

The dynamic linker ignores a trailer. Loading a damaged library can crash the process before an
error can be reported, so the file is verified before it is loaded.

This finds damage, not malicious code: a library holds machine code, and loading it runs that code
with the rights of the process, as importing a Python module does. Load libraries only from sources
that you trust to run programs from.
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
# Little-endian: SHA-256 and number of all bytes before, then version and format.
_END = struct.Struct(f"<32sQI{len(FORMAT)}s")
_METADATA_SIZE = struct.Struct("<Q")  # the size of the metadata, written after it


def append_trailer(path: Path, metadata: bytes) -> None:
    """Append metadata, format, version, size and checksum to a file."""
    with path.open("ab") as file:
        file.write(metadata + _METADATA_SIZE.pack(len(metadata)))
    size = path.stat().st_size
    end = _END.pack(_digest(path, size), size, VERSION, FORMAT)
    with path.open("ab") as file:
        file.write(end)


def verify(path: Path) -> bytes:
    """The metadata in the trailer of a library. Raises BuildError for any other file."""
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
        file.seek(size - _METADATA_SIZE.size)
        (length,) = _METADATA_SIZE.unpack(file.read(_METADATA_SIZE.size))
        if length > size - _METADATA_SIZE.size - len(ELF):
            raise BuildError(
                f"{path} declares {length:,} bytes of metadata, but has {size:,} bytes in all"
            )
        file.seek(size - _METADATA_SIZE.size - length)
        return file.read(length)


def _digest(path: Path, size: int) -> bytes:
    """The SHA-256 of the first `size` bytes of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while size > 0 and (chunk := file.read(min(size, CHUNK))):
            digest.update(chunk)
            size -= len(chunk)
    return digest.digest()
