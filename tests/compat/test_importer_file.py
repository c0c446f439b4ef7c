"""`load_importer`: one of TVM's importers, loaded from a user's copy of its file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from byoc_lab.compat import load_importer
from byoc_lab.errors import UnreadableFileError
from tests.parity.client import python_path

ROOT = Path(__file__).resolve().parents[2]

SMALL = """
from ... import nd
from .. import expr, op as _op
from .common import AttrCvt, Renamer, get_relay_op, infer_shape, new_var, set_span
from tvm import relay
from tvm.ir import IRModule

TABLE = {"Lrn": AttrCvt("lrn", transforms={"n": "size"}, ignores=["unused"]), "Sum": Renamer("add")}

def from_small(nodes):
    x = new_var("x", shape=(1, 4, 2, 2))
    for kind, attrs in nodes:
        inputs = [x, x] if kind == "Sum" else [x]
        x = set_span(TABLE[kind](inputs, attrs, {}), kind)
    return IRModule.from_expr(relay.Function(relay.analysis.free_vars(x), x)), infer_shape(x)
"""


def _run(script: str) -> str:
    """The output of a script in a separate process, because compat changes what `import tvm`
    imports."""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_relative_imports_of_an_importer_file_are_resolved(tmp_path: Path) -> None:
    path = tmp_path / "small.py"
    path.write_text(SMALL)
    out = _run(
        "from byoc_lab.compat import load_importer\n"
        f"users = load_importer({str(path)!r})\n"
        "nodes = [('Sum', {'tvm_custom': 1}), ('Lrn', {'n': 3, 'unused': 2})]\n"
        "mod, shape = users.from_small(nodes)\n"
        "print(shape, mod['main'].body.span.source_name, mod['main'].body.op.name)\n"
        "print('size=3' in mod.astext())\n"
    )
    assert "(1, 4, 2, 2) Lrn nn.lrn" in out and "True" in out


def test_missing_importer_file_raises_error() -> None:
    with pytest.raises(UnreadableFileError, match="no such file"):
        load_importer("absent_importer.py")


@pytest.mark.slow
@pytest.mark.oracle
def test_tvm_s_onnx_importer_gives_the_modules_that_it_gives_in_tvm(tmp_path: Path) -> None:
    """Two lines of the file are removed, because they name things that only TVM has."""
    (source,) = python_path().parent.parent.glob(
        "lib/python*/site-packages/tvm/relay/frontend/onnx.py"
    )
    text = source.read_text(encoding="utf-8")
    text = text.replace("    reset_output_name,\n", "")
    text = text.replace("reset_output_name(self._nodes, [out_name])", "pass")
    path = tmp_path / "onnx_of_the_user.py"
    path.write_text(text, encoding="utf-8")
    out = _run(
        "from byoc_lab.compat import load_importer\n"
        "from tests.importers.onnx.golden import FOLDER, REFUSED, shown_module\n"
        "from tests.importers.onnx.models import MODELS\n"
        f"users = load_importer({str(path)!r})\n"
        "for name in sorted(set(MODELS) - REFUSED):\n"
        "    golden = (FOLDER / f'{name}.relay').read_text(encoding='utf-8')\n"
        "    mod, params = users.from_onnx(MODELS[name]())\n"
        "    print(name, shown_module(mod) == golden)\n"
    )
    results = dict(line.split() for line in out.splitlines() if len(line.split()) == 2)
    assert len(results) == 8 and set(results.values()) == {"True"}, results
