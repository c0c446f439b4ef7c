"""The script of a reduction runs, and prints the predicate's result for the two modules."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import byoc_lab
from byoc_lab import backends, relay
from byoc_lab.lab.reducing import Reduction, predicate_named
from byoc_lab.lab.reducing.script import script_of
from byoc_lab.relay import IRModule
from byoc_lab.relay.typing.infer import infer_module
from tests.lab.reducing.networks import chain, operators, tanh_then_sigmoid


def run(found: Reduction, path: Path) -> subprocess.CompletedProcess[str]:
    script = found.save(path / "repro.py")
    root = Path(__file__).parents[3]
    command = [sys.executable, str(script)]
    environment = {"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=path)


def open_region() -> IRModule:
    x = relay.var("x", shape=(2, 4))
    out = relay.nn.relu(relay.annotation.compiler_begin(relay.abs(x), "dnnl"))
    return IRModule.from_expr(relay.tanh(out))


def test_script_of_a_named_predicate_runs_and_prints_its_output(tmp_path: Path) -> None:
    ended = run(byoc_lab.reduce(open_region(), "finding:BYL002"), tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("-> the predicate does not hold\n") == 1
    told = ended.stdout.partition("-> the predicate holds\n")[2]
    assert "-> the predicate holds\n" not in told
    assert told.startswith("BYL002 error @main: ") and "\n    fix " in told


def test_script_fails_if_the_predicate_gives_another_result(tmp_path: Path) -> None:
    script = byoc_lab.reduce(open_region(), "finding:BYL002").save(tmp_path / "repro.py")
    text = script.read_text().replace("annotation.compiler_begin", "annotation.compiler_end")
    script.write_text(text.replace('"finding:BYL002"', '"finding:BYL009"'))
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert ended.returncode == 1 and "-> the predicate holds" not in ended.stdout


def test_named_predicate_has_an_output_if_it_holds() -> None:
    mod = infer_module(open_region())
    predicate = predicate_named("error:free variables", pipeline="PartitionGraph")
    assert predicate.said(mod).startswith("FreeVariableError: @main contains free variables: [%")
    for other in ("finding:BYL009", "error:nothing of this"):
        assert predicate_named(other, pipeline="PartitionGraph").said(mod) == ""
    mod = infer_module(IRModule.from_expr(relay.erf(relay.tanh(relay.var("x", shape=(2,))))))
    told = predicate_named("not-offloaded:erf").said(mod)
    assert told.startswith("erf (") and "\n  reason    " in told
    assert predicate_named("not-offloaded:tanh").said(mod) == ""


@pytest.mark.parametrize(
    ("text", "options", "names"),
    [
        ("not-offloaded:tanh on mine", {}, "'mine'"),
        ("finding:BYL002", {"target": "mine"}, "'mine'"),
        ("finding:BYL002", {"pipeline": "mine"}, "'mine'"),
        ("finding:BYL002", {"target": "mine", "pipeline": "other"}, "'mine' and 'other'"),
        ("finding:BYL002", {"target": "dnnl", "pipeline": "InferType,PartitionGraph"}, ""),
        ("cause:no-pattern", {"pipeline": "partition_for_dnnl"}, ""),
    ],
)
def test_script_asks_for_the_import_of_other_back_ends(
    text: str, options: dict[str, str], names: str
) -> None:
    try:
        for name in ("mine", "other"):
            backends.register(name, supports=["tanh"])
        predicate = predicate_named(text, **options)
    finally:
        for name in ("mine", "other"):
            backends.unregister(name)
    script = script_of(text, predicate, infer_module(open_region()), None, None)
    asked = re.findall(r"^# IMPORT HERE the module that registers (.*)\.$", script, re.M)
    assert asked == [names] * bool(names)


def test_script_imports_a_predicate_function(tmp_path: Path) -> None:
    found = byoc_lab.reduce(chain(9, {2: "tanh", 5: "sigmoid"}), tanh_then_sigmoid)
    home = tanh_then_sigmoid.__module__
    assert f"from {home} import tanh_then_sigmoid as predicate" in found.script()
    found = byoc_lab.reduce(chain(9, {2: "tanh", 5: "sigmoid"}), named_here)
    text = found.script().replace(f"from {named_here.__module__} ", "from importable ")
    (tmp_path / "importable.py").write_text("def named_here(mod):\n    return 'tanh' in str(mod)\n")
    (tmp_path / "repro.py").write_text(text)
    ended = subprocess.run(
        [sys.executable, "repro.py"], capture_output=True, text=True, cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr


def named_here(mod: IRModule) -> bool:
    return "tanh" in operators(mod)


def test_script_marks_where_to_write_a_lambda(tmp_path: Path) -> None:
    found = byoc_lab.reduce(chain(9, {2: "tanh"}), lambda mod: "tanh" in operators(mod))
    text = found.script()
    assert "# WRITE THE PREDICATE HERE: " in text and "<lambda>" in text
    assert "write the predicate" in run(found, tmp_path).stderr
    written = text.replace(
        '    raise NotImplementedError("write the predicate into this script")',
        '    return "tanh" in str(mod)',
    )
    (tmp_path / "repro.py").write_text(written)
    ended = subprocess.run([sys.executable, str(tmp_path / "repro.py")], capture_output=True)
    assert ended.returncode == 0


def test_modules_in_a_script_are_exact(tmp_path: Path) -> None:
    """A scalar with more than six digits, a tensor, and text with Python string delimiters."""
    x = relay.var("x", shape=(2,))
    values = relay.const(np.array([0.1, 16777217.0], "float32"))
    body = relay.add(x, relay.const(np.float32(1.23456789))) * values
    func = relay.Function([x], body, attrs={"note": 'a """ and \\'})
    mod = IRModule.from_expr(func)

    def same(m: IRModule) -> bool:
        return byoc_lab.structural_equal(m, relay.transform.InferType()(mod))

    text = byoc_lab.reduce(mod, same).script()
    names: dict[str, object] = {}
    line = text[text.index("HOLDS = ") :].partition("\n\n")[0]
    if 'r"""' in line:
        line = text[text.index("HOLDS = ") :].partition('\n"""\n')[0] + '\n"""\n'
    exec(line, names)
    again = relay.parse(str(names["HOLDS"]).strip())
    assert same(relay.transform.InferType()(again))
