"""The Python code of the four public forum threads, with only the import lines changed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import lint, relay
from byoc_lab.compat import jan2020, tvm
from byoc_lab.errors import FreeVariableError
from byoc_lab.relay import ExprMutator
from byoc_lab.relay import patterns as dataflow_pattern
from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end
from byoc_lab.transform import AnnotateTarget, InferType, MergeComposite, PartitionGraph

THREADS = Path(__file__).parents[1] / "data" / "threads"
IMPORTS_2020 = {
    "np": np,
    "relay": jan2020.relay,
    "transform": jan2020.transform,
    "tvm": jan2020.tvm,
    "ExprMutator": ExprMutator,
    "compiler_begin": compiler_begin,
    "compiler_end": compiler_end,
}
IMPORTS = {"tvm": tvm, "relay": relay, "transform": byoc_lab.transform, "df": dataflow_pattern}


def _run(name: str, names: dict[str, Any]) -> dict[str, Any]:
    space = dict(names)
    exec(compile((THREADS / name).read_text(), name, "exec"), space)
    return space


def _block(name: str) -> str:
    """A block of IR in the threads, without white space and comments."""
    text = (THREADS / f"{name}.txt").read_text()
    text = re.sub(r"(?m)^(//.*|v0\.0\.4)$", "", text)
    return "".join(text.split())


def _printed(func: relay.Function) -> str:
    text = func.astext(show_meta_data=False, style="0.0.4", header=False)
    return "".join(re.sub(r"(?m)^//.*$", "", text).split())


@pytest.mark.parametrize(
    ("last", "annotated", "partitioned"),
    [
        ("layer1", "nested_partition_1", "nested_partition_2"),
        ("layer2", "nested_partition_3", "nested_partition_4"),
    ],
)
def test_nested_partition_prints_the_modules_of_the_thread(
    last: str, annotated: str, partitioned: str
) -> None:
    """Annotated and partitioned by the code in the thread."""
    space = _run("nested_partition.py", IMPORTS_2020)
    body = space[last]
    mod = byoc_lab.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    mod["main"] = space["ConvBNReluAnnotator"]("dnnl").visit(mod["main"])
    mod = jan2020.transform.InferType()(mod)
    assert _printed(mod["main"]) == _block(annotated)
    mod = jan2020.transform.PartitionGraph()(mod)
    assert _printed(mod["main"]) == _block(partitioned)


def test_batch_norm_is_decomposed_inside_the_closure() -> None:
    """The first pair of modules in the second thread: before and after optimizing."""
    space = _run("nested_partition.py", IMPORTS_2020)
    mod = byoc_lab.IRModule.from_expr(space["net"])
    mod["main"] = space["ConvBNReluAnnotator"]("dnnl").visit(mod["main"])
    mod = jan2020.transform.PartitionGraph()(mod)
    assert _printed(mod["main"]) == _block("batch_norm_1")
    optimised, _ = jan2020.relay.build_module.optimize(mod, "llvm")  # at the default level, 2
    assert _printed(optimised["main"]) == _block("batch_norm_2")


def test_folding_after_partitioning_leaves_one_multiply(capsys: pytest.CaptureFixture[str]) -> None:
    space = _run("batch_norm.py", IMPORTS_2020)
    np.random.seed(0)
    space["test_fuse"]()
    mod = relay.parse(capsys.readouterr().out)
    assert _printed(mod["main"]) == _block("batch_norm_3")


def test_folding_before_partitioning_gives_the_desired_output() -> None:
    space = _run("batch_norm.py", IMPORTS_2020)
    # `mod` is the network of test_fuse, as in the thread.
    source = (THREADS / "batch_norm.py").read_text()
    body = source[source.index("def test_fuse") : source.index('    mod["main"] =')]
    exec(compile(body + "    return mod\n", "batch_norm.py", "exec"), space)
    space["mod"] = space["test_fuse"]()
    exec(compile((THREADS / "batch_norm_folded.py").read_text(), "folded", "exec"), space)
    assert _printed(space["opt_mod"]["main"]) == _block("batch_norm_4")


def test_tagged_call_becomes_a_function() -> None:
    single = _run("let_partition.py", IMPORTS)["single"]
    external = [f for f in single.functions.values() if "Compiler" in f.attrs]
    assert [f.attrs["Compiler"] for f in external] == ["match_key"]


def test_let_bound_calls_become_two_functions() -> None:
    """The result that the fourth thread's author expected: one function per matching call."""
    space = _run("let_partition.py", IMPORTS)
    out = space["transform_mod"](space["mod"])
    external = [f for f in out.functions.values() if "Compiler" in f.attrs]
    assert len(external) == 2
    assert isinstance(out["main"].body, relay.Let)


def test_era_annotation_gives_the_thread_s_free_variables_and_lint_predicts_them() -> None:
    """TVM's own annotation reproduces the error in the thread."""
    space = _run("let_partition.py", IMPORTS)
    table = space["call_pattern_table"]()
    mod = InferType()(space["mod"])
    mod = AnnotateTarget("match_key", era="0.16")(MergeComposite(table)(mod))
    with pytest.raises(FreeVariableError) as raised:
        PartitionGraph()(mod)
    names = [v.name_hint for v in raised.value.variables]
    assert names == ["match_key_4_i0", "match_key_8_i0"]
    found = lint(mod).by_code("BYL004")
    assert [n for f in found for n in names if f"%{n} free" in f.message] == names
