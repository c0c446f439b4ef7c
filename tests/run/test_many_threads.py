"""Programs built, run, exported and loaded by several threads at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tvm")
pytestmark = [pytest.mark.native, pytest.mark.usefixtures("processes_without_torch")]


@pytest.mark.slow
def test_eight_threads_build_run_export_and_load_at_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.run.stress_threads", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=900,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stderr[-4000:]}"
