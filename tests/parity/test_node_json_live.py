"""JSON of nodes between byoc_lab and a live TVM 0.16, both directions: calls, networks, ADTs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from byoc_lab import relay
from byoc_lab.compat.ir.prelude import Prelude
from byoc_lab.relay import testing
from byoc_lab.relay.text.json.reader import read_node_json
from byoc_lab.relay.text.json.writer import write_node_json
from byoc_lab.relay.typing.infer import infer_module
from tests.relay.op.samples import SAMPLES

from .client import python_path

pytestmark = [pytest.mark.oracle, pytest.mark.slow]

# Reads each JSON in the file; writes TVM's text without metadata and TVM's own JSON.
PROGRAM = """
import json, sys, tvm
from tvm import relay
found = {}
for name, text in json.load(open(sys.argv[1])).items():
    try:
        mod = tvm.ir.load_json(text)
        found[name] = [mod.astext(show_meta_data=False), tvm.ir.save_json(mod)]
    except Exception as error:
        found[name] = [str(error)[-500:], None]
json.dump(found, open(sys.argv[2], "w"))
"""


def modules() -> dict[str, relay.IRModule]:
    found = {s.label: relay.IRModule.from_expr(s.function()) for s in SAMPLES if not s.source}
    found["mlp"] = testing.mlp.get_workload(1)[0]
    found["resnet"] = testing.resnet.get_workload()[0]
    found["prelude"] = relay.IRModule()
    Prelude(found["prelude"])
    typed = found["resnet"].copy()
    found["typed"] = infer_module(typed)
    return found


@pytest.fixture(scope="module")
def answers(tmp_path_factory: Any) -> dict[str, list[str]]:
    folder: Path = tmp_path_factory.mktemp("json")
    texts = {name: write_node_json(mod) for name, mod in modules().items()}
    (folder / "given").write_text(json.dumps(texts), encoding="utf-8")
    command = [str(python_path()), "-c", PROGRAM, str(folder / "given"), str(folder / "found")]
    subprocess.run(command, check=True, cwd=folder, capture_output=True)
    return json.loads((folder / "found").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", modules())
def test_tvm_reads_the_json_and_byoc_lab_reads_tvm_s(name: str, answers: dict[str, Any]) -> None:
    mod = modules()[name]
    text, written = answers[name]
    assert written is not None, text
    relay.assert_structural_equal(read_node_json(written), mod)
