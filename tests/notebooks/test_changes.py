"""What a learner changes first gives an obvious answer."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

import byoc_lab
from byoc_lab import relay, transform
from byoc_lab.errors import ByocLabError

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def annotated_text() -> str:
    """The annotated module that notebook 03 begins with."""
    cells = nbformat.read(NOTEBOOKS / "03_annotating_by_hand.ipynb", as_version=4).cells
    source = next(c.source for c in cells if c.cell_type == "code" and 'text = """' in c.source)
    found = re.search(r'text = """(.*?)"""', source, re.S)
    assert found is not None
    return found.group(1)


def without(line_of: str) -> relay.IRModule:
    """The module without the annotation `%N`, whose users take what it was on."""
    text = annotated_text()
    line = re.search(rf"^  {line_of} = annotation\.compiler_\w+\((%\w+), .*\n", text, re.M)
    assert line is not None
    return relay.parse(re.sub(rf"{line_of}\b", line.group(1), text.replace(line.group(0), "")))


@pytest.mark.parametrize(
    ("line", "codes"),
    [("%0", {"BYL001"}), ("%4", {"BYL001"}), ("%3", {"BYL001", "BYL002", "BYL003"})],
)
def test_an_annotation_removed_by_hand_is_named(line: str, codes: set[str]) -> None:
    mod = without(line)
    found = {f.code for f in byoc_lab.lint(mod)}
    assert found and found <= codes


@pytest.mark.parametrize("line", ["%0", "%4"])
def test_and_can_be_fixed(line: str) -> None:
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
def test_arguments_in_the_wrong_order_say_so(call: object) -> None:
    mod = relay.parse(annotated_text())
    with pytest.raises(ByocLabError) as caught:
        call(mod)  # type: ignore[operator]
    words = str(caught.value).lower()
    assert re.search("expects?|must|takes|comes first", words), words
    assert "found" in words or "got" in words, words
