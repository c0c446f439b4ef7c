"""`byoc-lab doctor`: lists installed and missing parts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from byoc_lab import cli, doctor
from byoc_lab.backends.dnnl import native
from byoc_lab.errors import NativeExtensionError
from byoc_lab.run.stand_in import in_place_of


@pytest.mark.native
def test_doctor_of_a_complete_installation_has_no_unknowns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["doctor"]) == cli.OK
    out = capsys.readouterr().out
    for found in ("Python: 3.", "byoc_lab: 0.", "apache-tvm: 0.", "DNNL extension: oneDNN 3.2"):
        assert f"ok        {found}" in out
    assert "instruction set: " in out and "unknown" not in out
    assert f"DNNL uses {native.get_num_threads()} on " in out and "OMP_NUM_THREADS=" in out


def test_doctor_names_missing_parts_with_advice(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> str:
        raise NativeExtensionError("the library does not exist; pip install .")

    monkeypatch.setattr(native, "load", missing)
    monkeypatch.setattr(doctor, "_tvm", lambda: "0.27")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    assert cli.main(["doctor"]) == cli.NO
    out = capsys.readouterr().out
    assert "MISSING   DNNL extension: the library does not exist; pip install ." in out
    assert "optional  C compiler: none found" in out and "apt-get install gcc" in out
    assert "ok        Python" in out


def test_doctor_advises_only_on_missing_parts() -> None:
    checks = doctor.examine()
    assert any(check.found for check in checks)
    assert [check.name for check in checks if check.found and "not installed" in check.advice] == []


def test_doctor_lists_features_that_run_here() -> None:
    from byoc_lab.doctor import examine

    (found,) = [check.found for check in examine() if check.name == "runs here"]
    assert found is not None and "language, passes, lint, explain" in found
    assert "; DNNL regions" in found and "; the host part of programs" in found
    assert (in_place_of("DNNL") in found) != native.available()


def test_doctor_without_extension_and_tvm_lists_their_replacements() -> None:
    code = (
        "import tests.elsewhere; from byoc_lab.doctor import examine; "
        "print([c.found for c in examine() if c.name == 'runs here'][0])"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.stdout.strip().endswith(
        f"; DNNL regions {in_place_of('DNNL')}; the host part of programs {in_place_of('TVM')}"
    ), done.stderr
