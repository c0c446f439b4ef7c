"""Typical first changes of a learner: each gives a clear result or error."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import nbformat
import numpy as np
import pytest

import byoc_lab
from byoc_lab import backends, relay, transform
from byoc_lab.errors import ByocLabError
from byoc_lab.lessons import check, exercise
from byoc_lab.lessons.cases import fused_ops
from byoc_lab.lessons.quantize import quantize
from byoc_lab.relay.op.annotation.regions import compiler_begin
from byoc_lab.relay.patterns import is_op, wildcard

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def annotated_text() -> str:
    """The annotated module at the beginning of notebook 03."""
    cells = nbformat.read(NOTEBOOKS / "03_annotating_by_hand.ipynb", as_version=4).cells
    source = next(c.source for c in cells if c.cell_type == "code" and 'text = """' in c.source)
    found = re.search(r'text = """(.*?)"""', source, re.S)
    assert found is not None
    return found.group(1)


def without(line_of: str) -> relay.IRModule:
    """The module without the annotation `%N`; its users read the annotation's operand."""
    text = annotated_text()
    line = re.search(rf"^  {line_of} = annotation\.compiler_\w+\((%\w+), .*\n", text, re.M)
    assert line is not None
    return relay.parse(re.sub(rf"{line_of}\b", line.group(1), text.replace(line.group(0), "")))


@pytest.mark.parametrize(
    ("line", "codes"),
    [("%0", {"BYL001"}), ("%4", {"BYL001"}), ("%3", {"BYL001", "BYL002", "BYL003"})],
)
def test_annotation_removed_by_hand_is_named(line: str, codes: set[str]) -> None:
    mod = without(line)
    found = {f.code for f in byoc_lab.lint(mod)}
    assert found and found <= codes


@pytest.mark.parametrize("line", ["%0", "%4"])
def test_annotation_removed_by_hand_is_restored_by_fix(line: str) -> None:
    fixed = byoc_lab.fix(without(line)).apply()
    assert list(byoc_lab.lint(fixed)) == []
    assert len(transform.PartitionGraph()(fixed).functions) >= 2


@pytest.mark.parametrize(
    "call",
    [
        lambda mod: byoc_lab.lint("dnnl", mod),
        lambda mod: byoc_lab.trace("dnnl", mod),
        lambda mod: byoc_lab.explain("dnnl", mod),
        lambda mod: byoc_lab.coverage("dnnl", mod),
        lambda mod: byoc_lab.bisect("dnnl", mod),
        lambda mod: byoc_lab.validate(mod, [1.0], mod),
        lambda mod: byoc_lab.explain_patterns(mod, []),
        lambda mod: byoc_lab.build("llvm", mod),
        lambda mod: byoc_lab.diff(mod, "dnnl"),
        lambda mod: byoc_lab.decode(mod, "text"),
    ],
)
def test_swapped_arguments_are_named_in_the_error(call: object) -> None:
    mod = relay.parse(annotated_text())
    with pytest.raises(ByocLabError) as caught:
        call(mod)  # type: ignore[operator]
    words = str(caught.value).lower()
    assert re.search("expects?|must|takes|comes first", words), words
    assert "found" in words or "got" in words, words


NET = fused_ops.network()
PARTITIONED = byoc_lab.trace(NET, "dnnl").result
X = relay.var("x", shape=(1, 3, 8, 8))
WEIGHT = relay.var("w", shape=(4, 3, 3, 3))


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        (lambda: byoc_lab.trace(NET, ["PartitonGraph"]), "did you mean 'PartitionGraph'"),
        (lambda: byoc_lab.trace(NET, "PartitionGraph"), r"is a pass; a pipeline .* is \['Part"),
        (lambda: byoc_lab.trace(NET, "dnll"), "did you mean 'dnnl'"),
        (lambda: byoc_lab.trace(NET, [transform.PartitionGraph]), r"write PartitionGraph\(\.\.\.\)"),
        (lambda: transform.PartitionGraph(NET), r"PartitionGraph\(\.\.\.\)\(mod\)"),
        (lambda: transform.PartitonGraph, "did you mean 'PartitionGraph'"),
        (lambda: byoc_lab.trace((NET, {}), "dnnl"), r"mod, params = "),
        (lambda: byoc_lab.trace(NET.astext(), "dnnl"), r"relay\.parse\(text\)"),
        (lambda: byoc_lab.build(byoc_lab.trace(NET, "dnnl")), r"its module as \.result"),
        (lambda: byoc_lab.lint(byoc_lab.trace(NET, "dnnl")), r"its module as \.result"),
        (lambda: byoc_lab.lint(NET, backend="dnll"), "did you mean 'dnnl'"),
        (lambda: byoc_lab.tracee(NET, "dnnl"), "did you mean 'trace'"),
        (lambda: relay.conv2d(X, WEIGHT), "did you mean 'nn.conv2d'"),
        (lambda: relay.nn.rellu(X), "did you mean 'relu'"),
        (lambda: relay.pare("text"), "did you mean 'parse'"),
        (lambda: NET.astext(show_type=False), "did you mean 'show_types'"),
        (lambda: byoc_lab.trace(["InferType"], NET), "the module comes first"),
        (lambda: byoc_lab.validate(PARTITIONED, NET), r"write validate\(module, partitioned"),
        (lambda: relay.nn.relu("x"), "must be a Relay expression, found 'x'"),
        (lambda: relay.nn.conv2d(X, WEIGHT, stride=(2, 2)), "nn.conv2d: .*did you mean 'strides'"),
        (lambda: relay.nn.conv2d(X, WEIGHT, strides="2"), "must be integers, found '2'"),
        (lambda: relay.nn.conv2d(X), "nn.conv2d: missing .*'weight'; its parameters are data"),
        (lambda: relay.var("x", shape=8), r"write \(8,\)"),
        (lambda: relay.var("x", shape=(8,), dtype="flot32"), "did you mean 'float32'"),
        (lambda: relay.Function(X, X), "params must be a list of variables"),
        (lambda: relay.IRModule.from_expr(NET), "a module already"),
        (lambda: relay.parse("net.relay"), "the name of a file"),
        (lambda: is_op("nn.relu")("x"), r"expects patterns .*found str 'x'"),
        (lambda: is_op("nn.rellu"), "did you mean nn.relu"),
        (lambda: transform.MergeComposite({"a.b": wildcard()}), r"a list of \(name, pattern\)"),
        (lambda: transform.MergeComposite([(wildcard(), "a.b")]), "must begin with the pattern's name"),
        (lambda: backends.register("q", supports="nn.relu"), "must list the names"),
        (lambda: backends.register("q", supports=["nn.relu"], codegen="c"), "must be a function"),
        (lambda: backends.register("q", patterns=[("z.a", wildcard())]), "begin with 'q.'"),
        (lambda: byoc_lab.evaluate(NET, np.ones((1, 3, 16, 16))), r"write \[x\]"),
        (lambda: byoc_lab.evaluate(NET, {"dta": 1.0}), "no input is called 'dta'"),
        (lambda: byoc_lab.evaluate(NET, [np.ones((2, 2))]), r"expected Tensor\[\(1, 3, 16, 16\)"),
        (lambda: check(lambda mod: mod, "annotate-diamond"), "name of the exercise comes first"),
        (lambda: exercise("annotate_diamond"), "did you mean 'annotate-diamond'"),
        (lambda: exercise("annotate-diamond", "3"), "a seed must be an int"),
        (lambda: compiler_begin(X), "annotation.compiler_begin: missing .*'compiler'"),
        (lambda: relay.var("x", (1, 8)), r"write relay.var\('x', shape=\(1, 8\)\)"),
        (lambda: backends.register("q", pipeline=[]), r"found list; write pipeline=lambda: \[...\]"),
        (lambda: quantize(NET, None, []), "a list of at least one array"),
    ],
)  # fmt: skip
def test_mistake_gives_an_error_with_the_correction(change: Callable[[], object], answer: str) -> None:
    with pytest.raises(ByocLabError, match=answer):
        change()
