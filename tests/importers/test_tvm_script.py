"""Files of TVMScript: reading, and the code that runs while a file is read."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

from byoc_lab import importers
from byoc_lab.errors import ImporterError
from byoc_lab.relay.ir.foreign import ForeignModule

CLASS = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 3), dtype="float32")) -> R.Tensor((1, 3), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((1, 3), dtype="float32") = R.nn.relu(x)
            R.output(gv)
        return gv
"""
TEXT = f'''"""A network."""
from tvm.script import ir as I
from tvm.script import relax as R

raise SystemExit("nothing but the class is run")
{CLASS}
'''


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "net.py"


def test_only_the_class_of_a_file_is_executed(path: Path) -> None:
    path.write_text(TEXT)
    mod, params = importers.load(path)
    assert isinstance(mod, ForeignModule) and params == {}
    assert mod["main"].body.op_name == "nn.relu"


def test_expressions_in_the_class_are_executed(path: Path) -> None:
    """TVM's parser does it, as SECURITY.md and the page on files of others say."""
    ran = path.with_name("ran")
    evaluated = f'R.const(float(open({str(ran)!r}, "w").write("ran")), "float32")'
    path.write_text(TEXT.replace("R.nn.relu(x)", f"R.add(x, {evaluated})"))
    importers.load(path)
    assert ran.read_text() == "ran"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "no class with the decorator @I.ir_module"),
        ("class Module:\n    pass\n", "no class with the decorator"),
        ("\ndef (", r"is not a file of Python: .*\(net\.py, line 2\)"),
        (
            TEXT.replace("R.nn.relu", "R.nn.nope"),
            r"TVM cannot read the TVMScript.*nope.*net\.py:\d+:",
        ),
        (
            TEXT.replace("nn.relu(x)", 'add(x, metadata["ir.GenericConst"][0])'),
            "a constant array whose elements it does not contain.*save a trace",
        ),
    ],
)
def test_unreadable_tvm_script_file_is_refused(path: Path, text: str, message: str) -> None:
    path.write_text(text)
    with pytest.raises(ImporterError, match=f"(?s)net.py.*{message}"):
        importers.load(path)
