"""An archive of files, which tools/lite/web/runtime.js reads: the length of the index (4 bytes,
little end first), the index as JSON ([[path, size], ...]), and the concatenated files."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Mapping

FIXED = (1980, 1, 1, 0, 0, 0)
"""The time of all files in a zip file: the same input gives the same bytes."""


def packed(files: Mapping[str, bytes]) -> bytes:
    """The archive of files by path, in the order of the paths."""
    paths = sorted(files)
    index = json.dumps([[path, len(files[path])] for path in paths]).encode()
    return b"".join((struct.pack("<I", len(index)), index, *(files[path] for path in paths)))


def unpacked(archive: bytes) -> dict[str, bytes]:
    """The files in an archive, by path."""
    (length,) = struct.unpack_from("<I", archive)
    at = 4 + length
    files = {}
    for path, size in json.loads(archive[4:at]):
        files[path] = archive[at : at + size]
        at += size
    return files


def stored_zip(files: Mapping[str, bytes]) -> bytes:
    """A zip file without compression, from which Python can import without decompression."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as made:
        for path in sorted(files):
            made.writestr(zipfile.ZipInfo(path, FIXED), files[path])
    return out.getvalue()
