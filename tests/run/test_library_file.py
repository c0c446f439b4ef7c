"""The trailer of an exported library: every damage to it and to the library is detected."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byoc_lab.errors import BuildError
from byoc_lab.run import library_file
from byoc_lab.run.library_file import ELF, append_trailer, verify

CONTENT = ELF + bytes(range(256))
METADATA = b'{"regions": []}'


def sealed(folder: str | Path, content: bytes = CONTENT) -> Path:
    path = Path(folder, "net.so")
    path.write_bytes(content)
    append_trailer(path, METADATA)
    return path


@given(st.binary())
def test_sealed_library_is_verified_and_its_metadata_returned(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = sealed(folder, ELF + content)
        assert path.read_bytes().startswith(ELF + content)
        assert verify(path) == METADATA


@given(st.data())
def test_changed_byte_is_detected(draw: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = sealed(folder)
        data = bytearray(path.read_bytes())
        at = draw.draw(st.integers(0, len(data) - 1))
        data[at] ^= draw.draw(st.integers(1, 255))
        path.write_bytes(data)
        with pytest.raises(BuildError, match=r"net\.so is"):
            verify(path)


@given(st.integers(0, len(CONTENT) + len(METADATA) + 68), st.binary(min_size=1, max_size=3))
def test_truncated_or_extended_file_is_detected(end: int, more: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = sealed(folder)
        data = path.read_bytes()
        for changed in (data[: min(end, len(data) - 1)], data + more, data[4:], b""):
            path.write_bytes(changed)
            with pytest.raises(BuildError, match=r"net\.so is"):
                verify(path)


def test_metadata_larger_than_the_file_raises_build_error(tmp_path, monkeypatch) -> None:
    size = library_file._METADATA_SIZE.pack(1 << 40)
    monkeypatch.setattr(
        library_file, "_METADATA_SIZE", SimpleNamespace(pack=lambda n: size, size=8)
    )
    path = sealed(tmp_path)
    monkeypatch.undo()
    with pytest.raises(BuildError, match=r"declares 1,099,511,627,776 bytes of metadata"):
        verify(path)


def test_library_of_another_format_version_raises_build_error(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(library_file, "VERSION", 7)
    path = sealed(tmp_path)
    monkeypatch.undo()
    with pytest.raises(BuildError, match="of format version 7, expected 2: export it again"):
        verify(path)
