"""The command line: exit codes, messages, files."""

from __future__ import annotations

from pathlib import Path

import pytest

from byoc_lab import cli, demo, doctor
from byoc_lab.backends.dnnl import native
from byoc_lab.errors import BuildError, NativeExtensionError

CLEAN = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) { nn.relu(tanh(%x)) }
"""
NO_END = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  %0 = annotation.compiler_begin(%x, compiler="dnnl");
  nn.relu(%0)
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "net.relay"


def test_lint_says_what_it_found(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(CLEAN)
    assert cli.main(["lint", str(file)]) == cli.OK
    assert "no findings" in capsys.readouterr().out
    file.write_text(NO_END)
    assert cli.main(["lint", str(file)]) == cli.NO
    assert f"{file}:4" in capsys.readouterr().out


def test_trace_prints_and_writes(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(CLEAN)
    page = file.with_suffix(".html")
    assert cli.main(["trace", str(file), "--html", str(page)]) == cli.OK
    out = capsys.readouterr().out
    assert "PartitionGraph" in out and f"written: {page}" in out
    assert page.read_text().startswith("<!doctype html>")


def test_what_is_no_relay_is_a_usage_error(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("def @main(%x { }")
    assert cli.main(["lint", str(file)]) == cli.USAGE
    assert f"byoc-lab: {file}:1:" in capsys.readouterr().err
    assert cli.main(["trace", str(file.with_name("absent"))]) == cli.USAGE
    assert "No such file" in capsys.readouterr().err
    file.write_text(CLEAN)
    assert cli.main(["trace", str(file), "--pipeline", "cuda"]) == cli.USAGE
    assert "no pipeline is named 'cuda'" in capsys.readouterr().err


def test_demo_s_exit_code_is_its_verdict(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[Path] = []
    page = tmp_path / "x.html"
    for verdict, code in ((True, cli.OK), (False, cli.NO)):
        monkeypatch.setattr(demo, "run_demo", lambda path, v=verdict: seen.append(path) or v)
        assert cli.main(["demo", "--html", str(page)]) == code
    assert seen == [page, page]

    def fails(path: Path) -> bool:
        raise BuildError("no such thing")

    monkeypatch.setattr(demo, "run_demo", fails)
    assert cli.main(["demo"]) == cli.USAGE


@pytest.mark.native
@pytest.mark.skipif(not native.available(), reason="the DNNL extension is not built")
def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor"]) == cli.OK
    out = capsys.readouterr().out
    for told in ("Python: 3.", "byoc_lab: 0.", "apache-tvm: 0.", "DNNL extension: oneDNN 3.2"):
        assert f"ok        {told}" in out
    assert "instruction set: " in out and "unknown" not in out
    assert f"DNNL uses {native.get_num_threads()} on " in out and "OMP_NUM_THREADS=" in out


def test_doctor_names_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> str:
        raise NativeExtensionError("there is no such file; pip install .")

    monkeypatch.setattr(native, "load", missing)
    monkeypatch.setattr(doctor, "_tvm", lambda: "0.27")
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    monkeypatch.delenv("CC", raising=False)
    assert cli.main(["doctor"]) == cli.NO
    out = capsys.readouterr().out
    assert "MISSING   DNNL extension: there is no such file; pip install ." in out
    assert "optional  C compiler: none found" in out and "apt-get install gcc" in out
    assert "ok        Python" in out
