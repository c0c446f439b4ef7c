"""Importers: the importer of Relay text, registration, and errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byoc_lab import importers, relay
from byoc_lab.errors import (
    ArgumentError,
    ByocLabError,
    DuplicateNameError,
    ImporterError,
    ParseError,
    UnreadableFileError,
)
from byoc_lab.importers import registry

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(2, 3), float32]) { add(%x, %w) }
"""


@pytest.fixture(autouse=True)
def _importers_of_a_test_go_with_it() -> Iterator[None]:
    before = dict(registry._importers)
    yield
    registry._importers.clear()
    registry._importers.update(before)


def _module() -> relay.IRModule:
    return relay.parse(TEXT)


@pytest.mark.parametrize("name", ["net.relay", "net.txt", "NET.RELAY"])
def test_relay_text_is_read_with_types(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(TEXT)
    mod, params = importers.load(path)
    assert relay.structural_equal(mod, _module()) and mod["main"].is_typed
    assert params == {}
    assert relay.structural_equal(importers.load(str(path))[0], mod)


def test_parse_error_keeps_its_source_location(tmp_path: Path) -> None:
    path = tmp_path / "net.relay"
    path.write_text("def @main(%x { }")
    with pytest.raises(ParseError, match=r"net\.relay:1:"):
        importers.load(path)


def test_registered_importer_is_chosen_by_its_suffix(tmp_path: Path) -> None:
    path = tmp_path / "net.numbers"
    path.touch()
    weights = np.ones((2, 3), "float32")
    seen: list[Path] = []

    def read(path: Path) -> Any:
        seen.append(path)
        return _module(), {"w": weights}

    importers.register([".numbers", ".NPY"], read, "numbers")
    names = [i.name for i in importers.importers()]
    assert {"numbers", "ONNX", "PyTorch", "Relay text", "TVMScript"} <= set(names)
    assert names == sorted(names)
    _, params = importers.load(path)
    assert seen == [path] and params["w"] is weights
    importers.register(".numbers", lambda path: (_module(), {}), "numbers")  # replaces the first
    assert importers.load(path)[1] == {}


def test_unknown_suffix_error_lists_the_importers(tmp_path: Path) -> None:
    path = tmp_path / "net.rela"
    path.touch()
    with pytest.raises(ImporterError) as raised:
        importers.load(path)
    message = str(raised.value)
    assert message.startswith("no importer reads files that end in '.rela'")
    assert "did you mean '.relay'?" in message
    assert ".relay and .txt (Relay text)" in message and "importers.register(" in message


def test_file_without_a_suffix_has_no_importer(tmp_path: Path) -> None:
    (tmp_path / "net").touch()
    with pytest.raises(ImporterError, match="no importer reads files without a suffix"):
        importers.load(tmp_path / "net")


@pytest.mark.parametrize("name", ["absent.relay", "absent.onnx"])
def test_missing_file_raises_an_os_error_too(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnreadableFileError, match="No such file") as raised:
        importers.load(tmp_path / name)
    assert isinstance(raised.value, (ByocLabError, OSError)) and name in str(raised.value)


def test_folder_raises_unreadable_file_error(tmp_path: Path) -> None:
    (tmp_path / "folder.relay").mkdir()
    with pytest.raises(UnreadableFileError, match="Is a directory"):
        importers.load(tmp_path / "folder.relay")


@pytest.mark.parametrize(
    ("result", "found"),
    [
        (None, "found NoneType"),
        ((1, 2, 3), "found tuple"),
        (("no module", {}), "found a module of type str"),
        ((_module(), None), "found parameters NoneType"),
        ((_module(), {"w": 1, "typo": 2}), "found values for typo, .* it has x, w"),
        ((relay.IRModule(), {"w": 1}), "found values for w, .* it has none"),
    ],
)
def test_importer_with_a_wrong_result_is_named_in_the_error(
    tmp_path: Path, result: Any, found: str
) -> None:
    path = tmp_path / "net.any"
    path.touch()
    importers.register(".any", lambda path: result, "anything")
    with pytest.raises(ImporterError, match=f"importer 'anything' must return .*{found}"):
        importers.load(path)


@pytest.mark.parametrize("suffixes", ["npz", ".", "", [], [".a", 3]])
def test_malformed_suffixes_are_refused(suffixes: Any) -> None:
    with pytest.raises(ArgumentError, match="importer 'x'"):
        importers.register(suffixes, lambda path: (_module(), {}), "x")


def test_second_importer_for_a_suffix_is_refused() -> None:
    with pytest.raises(DuplicateNameError, match=r"'.txt' are already read by .*'Relay text'"):
        importers.register(".txt", lambda path: (_module(), {}), "x")
    with pytest.raises(ArgumentError, match="function of a path"):
        importers.register(".any", None, "x")  # type: ignore[arg-type]
