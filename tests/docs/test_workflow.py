"""The GitHub workflow in docs/command-line.md runs, and its steps fail on a fault."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.chip import CHIP
from tests.cli.samples import CLEAN
from tests.docs.test_commands import ROOT, SHELL

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "command-line.md"


def workflow() -> dict[str, Any]:
    (text,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    found = yaml.safe_load(text)
    assert isinstance(found, dict)
    return found


def steps() -> list[dict[str, Any]]:
    (job,) = workflow()["jobs"].values()
    return [step for step in job["steps"] if "run" in step and not step["run"].startswith("pip ")]


def run(step: dict[str, Any], folder: Path) -> int:
    """The exit code of a step, run by the shell that GitHub uses: bash -e."""
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    done = subprocess.run(
        ["bash", "-e", "-c", SHELL + step["run"]],
        cwd=folder, env=settings, capture_output=True, text=True,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mychip.py").write_text(CHIP)
    (tmp_path / "net.relay").write_text(CLEAN)
    return tmp_path


def test_each_step_passes_for_a_valid_module(folder: Path) -> None:
    names = [step["name"] for step in steps()]
    assert names == ["Annotations", "How much is offloaded", "Why the rest is not", "Numbers"]
    assert [run(step, folder) for step in steps() if "if" not in step] == [0, 0, 0]
    assert json.loads((folder / "lint.sarif").read_text())["runs"][0]["results"] == []


def test_step_fails_for_the_fault_that_it_checks(folder: Path) -> None:
    by_name = {step["name"]: step for step in steps()}
    (folder / "net.relay").write_text(CLEAN.replace("nn.relu(tanh(%x))", "tanh(tanh(%x))"))
    assert run(by_name["How much is offloaded"], folder) == 1
    assert run(by_name["Why the rest is not"], folder) == 1
    (folder / "net.relay").write_text(CLEAN)
    (folder / "mychip.py").write_text(CHIP.replace("np.maximum(x, 0)", "np.abs(x)"))
    assert run(by_name["Numbers"], folder) == 1
    (folder / "net.relay").write_text(
        CLEAN.replace("nn.relu(tanh(%x))", 'annotation.compiler_begin(%x, compiler="mychip")')
    )
    assert run(by_name["Annotations"], folder) == 1
    (result,) = json.loads((folder / "lint.sarif").read_text())["runs"][0]["results"]
    (location,) = result["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "net.relay"
