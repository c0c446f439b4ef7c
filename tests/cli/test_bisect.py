"""`byoc-lab bisect`: exit code, printed result and written files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from byoc_lab import cli
from byoc_lab.passes import register_pipeline
from byoc_lab.passes.framework import pipelines
from byoc_lab.transform import module_pass
from tests.cli.samples import CLEAN
from tests.lab.checking.faults import FAULTS, planted

NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8), float32]) {
  %0 = clip(%x, a_min=0f, a_max=6f);
  tanh(%0)
}
"""


@pytest.fixture
def wrong_clip() -> Iterator[str]:
    fault = planted(FAULTS["clip 6 to 5.9"], 0)
    made = module_pass(lambda mod, context: fault(mod), opt_level=0, name="faulty_pass")
    register_pipeline("wrong clip", lambda: [made])
    yield "wrong clip"
    pipelines.unregister_pipeline("wrong clip")


def test_bisect_command_without_a_wrong_pass_exits_with_ok(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NET)
    assert cli.main(["bisect", str(file), "--no-kernels", "--seed", "4"]) == cli.OK
    out = capsys.readouterr().out
    assert out.startswith("no pass changed the numbers; the code of 1 region was not checked\n")
    assert "seed 4" in out


def test_bisect_command_names_a_wrong_pass_and_its_operator(
    file: Path, tmp_path: Path, wrong_clip: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NET)
    np.savez(tmp_path / "x.npz", x=np.full((1, 8), 7, "float32"))
    options = ["--pipeline", wrong_clip, "--inputs", str(tmp_path / "x.npz")]
    folder = tmp_path / "repro"
    assert cli.main(["bisect", str(file), *options, "--repro", str(folder)]) == cli.NO
    out = capsys.readouterr().out
    assert "operator: clip" in out and "region: @main" in out and "faulty_pass (stage 0)" in out
    script = [sys.executable, str(folder / "repro.py")]
    ended = subprocess.run(script, capture_output=True, text=True, check=False)
    assert ended.returncode == 1 and "elements differ" in ended.stderr
    assert cli.main(["bisect", str(file), *options, "--format", "json"]) == cli.NO
    facts = json.loads(capsys.readouterr().out)
    assert facts["found"] and facts["stage"] == "faulty_pass" and "clip" in facts["operator"]
    assert facts["error"] == pytest.approx(0.1) and facts["kernel"] is None


def test_smallest_network_is_written_beside_the_repro(
    file: Path, tmp_path: Path, wrong_clip: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NET.replace("(1, 8)", "(4, 64)").replace("clip(%x", "clip(multiply(%x, 4f)"))
    folder = tmp_path / "repro"
    options = ["--pipeline", wrong_clip, "--no-kernels", "--repro", str(folder), "--reduce"]
    assert cli.main(["bisect", str(file), *options]) == cli.NO
    assert "faulty_pass" in capsys.readouterr().out
    text = (folder / "network.relay").read_text()
    assert "clip(" in text and "tanh" not in text and (folder / "repro.py").exists()
    assert "bisect:faulty_pass" in (folder / "network.py").read_text()
    again = ["bisect", str(folder / "network.relay"), "--pipeline", wrong_clip, "--no-kernels"]
    assert cli.main(again) == cli.NO
    assert "faulty_pass" in capsys.readouterr().out
    assert cli.main(["bisect", str(file), "--reduce"]) == cli.USAGE


def test_bisect_of_a_missing_file_exits_with_usage_error(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(CLEAN)
    assert cli.main(["bisect", str(file), "--pipeline", "no such"]) == cli.USAGE
    assert cli.main(["bisect", str(tmp_path / "none.relay")]) == cli.USAGE
    assert "byoc-lab: " in capsys.readouterr().err
