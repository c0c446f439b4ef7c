"""`byoc-lab validate`: compares results before and after partitioning; reads inputs from files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from byoc_lab import cli
from byoc_lab.commands import shared
from byoc_lab.errors import InputError
from tests.cli.samples import CLEAN

pytestmark = pytest.mark.native
NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(8, 8), float32]) {
  %0 = nn.dense(%x, %w, units=8);
  nn.relu(tanh(%0))
}
"""


def test_validate_command_reports_valid_for_right_numbers(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NET)
    np.savez(tmp_path / "x.npz", x=np.ones((1, 8), "float32"), w=np.eye(8, dtype="float32"))
    figure = tmp_path / "report.png"
    options = ["--inputs", str(tmp_path / "x.npz"), "--figure", str(figure)]
    assert cli.main(["validate", str(file), *options, "--detail", "operator"]) == cli.OK
    out = capsys.readouterr().out
    assert out.startswith("valid\n") and "inputs: given" in out and "nn.dense" in out
    assert figure.stat().st_size > 10_000


def test_validate_with_a_seed_prints_it_as_json(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NET)
    assert cli.main(["validate", str(file), "--format", "json", "--seed", "3"]) == cli.OK
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] and all("seed 3" in line for line in report["inputs"])
    assert {"largest_error", "place", "quantiles", "ulps"} <= set(report["outputs"][0])


def test_validate_with_invalid_inputs_exits_with_usage_error(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(CLEAN)
    other = tmp_path / "x.npz"
    for content in (b"no archive", b"PK\x03\x04 damaged", b""):
        other.write_bytes(content)
        assert cli.main(["validate", str(file), "--inputs", str(other)]) == cli.USAGE
        assert "is not a file of named arrays" in capsys.readouterr().err
    np.savez(other, y=np.ones(3))
    assert cli.main(["validate", str(file), "--inputs", str(other)]) == cli.USAGE
    assert cli.main(["validate", str(file), "--inputs", str(tmp_path / "none")]) == cli.USAGE


def test_arrays_that_unpack_to_too_many_bytes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "bomb.npz", x=np.zeros(1 << 20, "int8"))
    np.savez(tmp_path / "plain.npz", x=np.zeros(1 << 20, "int8"))
    monkeypatch.setattr(shared, "MAX_UNPACKED", 1 << 16)
    with pytest.raises(InputError, match=r"has 1,048,704 bytes when it is unpacked, more than"):
        shared.read_arrays(tmp_path / "bomb.npz")
    assert shared.read_arrays(tmp_path / "plain.npz")["x"].size == 1 << 20


@pytest.mark.parametrize("content", [b"", b"PK", b"text", b"\x93NUMPY\x01\0"])
def test_file_without_named_arrays_raises_input_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(InputError, match="is not a file of named arrays"):
        shared.read_arrays(tmp_path / "x.npz")
