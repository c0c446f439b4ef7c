"""Code blocks on the pages about importers and recordings run, with the files that they name."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import byoc_lab
from byoc_lab import backends, relay
from byoc_lab.lessons import recordings

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def run_block(page: str, words: str, names: dict[str, Any]) -> dict[str, Any]:
    """Runs the only block of a page with these words."""
    text = (DOCS / page).read_text(encoding="utf-8")
    (code,) = [b.group(1) for b in BLOCK.finditer(text) if words in b.group(1)]
    exec(compile(code, page, "exec"), names)
    return names


def test_every_block_is_run_here_or_elsewhere() -> None:
    words = {
        "importers.md": [
            "importers.load(",
            "keep={Attention",
            "has_attr",
            "from_relax",
            "load_impo",
        ],
        "recordings.md": ["import tvm, tvm_recorder", "load_trace(", ".replayed()"],
    }
    for page, known in words.items():
        blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
        assert [sum(w in b for w in known) for b in blocks] == [1] * len(blocks), page


def test_importers_page_load_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    monkeypatch.chdir(tmp_path)
    value = [
        helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1, 3, 224, 224]) for n in "xy"
    ]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)]), "network.onnx")
    names = {"byoc_lab": byoc_lab, "relay": relay, "torch": torch, "model": torch.nn.ReLU()}
    assert "mod" in run_block("importers.md", "importers.load(", names)


def test_importers_page_keep_example_runs() -> None:
    torch = pytest.importorskip("torch")
    from byoc_lab.importers.pytorch import from_pytorch

    class Attention(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return torch.softmax(x, -1) * x

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), Attention()).eval()
    names = {
        "byoc_lab": byoc_lab, "relay": relay, "from_pytorch": from_pytorch, "model": model,
        "inputs": (torch.ones(1, 4),), "Attention": Attention,
    }  # fmt: skip
    try:
        run_block("importers.md", "keep={Attention", names)
        run_block("importers.md", "has_attr", names)
        assert "mychip.attention" in str(names["mod"])
    finally:
        backends.unregister("mychip")


def test_recordings_page_replay_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(recordings.path("simplify_after_annotate"), "passes.jsonl")
    text = (DOCS / "recordings.md").read_text(encoding="utf-8")
    (code,) = [b for b in BLOCK.findall(text) if "load_trace(" in b]
    names: dict[str, Any] = {"byoc_lab": byoc_lab}
    for line in code.splitlines():  # the recording in the lessons has no FoldScaleAxis
        exec(line.replace('trace["FoldScaleAxis"]', 'trace["MergeCompilerRegions"]'), names)
    (code,) = [b for b in BLOCK.findall(text) if ".replayed()" in b]
    exec(code.replace('trace["AnnotateTarget"]', 'trace["MergeCompilerRegions"]'), names)
    assert names["again"].same


def test_importers_page_from_relax_example_runs() -> None:
    pytest.importorskip("tvm")
    from tvm import relax

    block = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 8), "float32"))
    with block.function("main", [x]):
        with block.dataflow():
            out = block.emit_output(relax.op.nn.relu(x))
        block.emit_func_output(out)
    names = {"byoc_lab": byoc_lab, "relax_module": block.get()}
    assert "nn.relu" in str(run_block("importers.md", "from_relax", names)["mod"])


def test_old_importer_example_runs(tmp_path: Path) -> None:
    """In a separate process, in which `tvm` is TVM's namespace for old scripts."""
    path = tmp_path / "old_tvm/python/tvm/relay/frontend/onnx.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "from tvm import relay\n"
        "from .common import infer_shape\n"
        "def from_onnx(model):\n"
        "    x = relay.var('x', shape=model)\n"
        "    assert infer_shape(x) == model\n"
        "    return relay.IRModule.from_expr(relay.nn.relu(x)), {}\n"
    )
    text = (DOCS / "importers.md").read_text(encoding="utf-8")
    (block,) = [b for b in BLOCK.findall(text) if "load_importer" in b]
    script = f"import byoc_lab.compat\nmodel = (2, 3)\n{block}\nprint(mod)"
    path_of_imports = os.pathsep.join([str(DOCS.parent), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": path_of_imports},
    )  # fmt: skip
    assert "nn.relu(%x)" in done.stdout, done.stderr


def test_recorder_example_writes_a_readable_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also records passes of today's TVM."""
    tvm = pytest.importorskip("tvm")
    from byoc_lab.cli import main

    monkeypatch.chdir(tmp_path)
    with (tmp_path / "tvm_recorder.py").open("w") as file, redirect_stdout(file):
        assert main(["recorder"]) == 0
    monkeypatch.syspath_prepend(tmp_path)
    block = tvm.relax.BlockBuilder()
    x = tvm.relax.Var("x", tvm.relax.TensorType((1, 8), "float32"))
    with block.function("main", [x]):
        block.emit_func_output(block.emit(tvm.relax.op.nn.relu(x)))
    names = {"mod": block.get(), "partition": tvm.relax.transform.LegalizeOps()}
    run_block("recordings.md", "import tvm, tvm_recorder", names)
    assert [stage.name for stage in byoc_lab.load_trace("passes.jsonl").stages] == ["LegalizeOps"]
