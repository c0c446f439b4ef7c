"""Every command shown in the README and the documentation runs, on files with the names used
there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.lessons.cases import nested_partition
from byoc_lab.lessons.cases.networks import conv, image, typed
from tests.cli.chip import CHIP
from tests.importers.test_tvm_script import TEXT
from tests.lessons.grading.generated import right, write

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"  # test_blocks.py runs the commands on this page
PAGES = [
    ROOT / "README.md",
    *(p for p in sorted((ROOT / "docs").rglob("*.md")) if p.parent != REFERENCE),
]
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
ELSEWHERE = ("make ", "pip ")  # other tests install and build
SHELL = f"""
byoc-lab() {{ {sys.executable} -m byoc_lab.cli "$@"; }}
python() {{ {sys.executable} "$@"; }}
"""


def commands(page: Path) -> list[str]:
    blocks = "".join(BLOCK.findall(page.read_text(encoding="utf-8")))
    return [line for line in blocks.splitlines() if line and not line.startswith(ELSEWHERE)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files that the commands read."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    helper = onnx.helper
    value = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1, 8]) for n in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
    for name in ("net.onnx", "model.onnx"):
        onnx.save(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)]), tmp_path / name
        )
    chain = conv(image())
    for _ in range(14):
        chain = relay.nn.relu(chain)
    (tmp_path / "net.relay").write_text(typed(chain).astext())
    annotated = nested_partition.annotate(nested_partition.network(), begins_on_conv_data=False)
    for name in ("module.relay", "annotated.relay"):
        (tmp_path / name).write_text(annotated.astext())
    message = str(byoc_lab.trace(annotated, ["PartitionGraph"]).error)
    (tmp_path / "build.log").write_text(message)
    (tmp_path / "compile.py").write_text(f"raise SystemExit({message!r})")
    (tmp_path / "script.py").write_text("import sys\nfrom tvm import relay\nassert sys.argv[1:]\n")
    (tmp_path / "tests_of_my_back_end").mkdir()
    (tmp_path / "tests_of_my_back_end" / "test_one.py").write_text(
        "from tvm import relay\ndef test_one():\n    relay.var('x')\n"
    )
    (tmp_path / "net.py").write_text(TEXT)
    (tmp_path / "mychip.py").write_text(CHIP)
    byoc_lab.trace(typed(chain)).save(tmp_path / "saved.trace")
    (tmp_path / "names.txt").write_text("ann\n")
    write(tmp_path / "submissions" / "ann", "annotate-diamond", right("annotate-diamond"))
    return tmp_path


@pytest.mark.parametrize("page", [p for p in PAGES if commands(p)], ids=lambda p: p.stem)
def test_commands_shown_in_the_documentation_run(page: Path, folder: Path) -> None:
    if page.stem == "relax":
        pytest.importorskip("tvm", reason="apache-tvm is not installed")
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    for line in commands(page):
        done = subprocess.run(
            ["bash", "-c", SHELL + line], cwd=folder, env=settings, capture_output=True, text=True
        )
        assert done.returncode in (0, 1), f"{line}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, f"{line}\n{done.stderr}"
