"""Every Python block of the documentation runs, page by page, in order."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import byoc_lab
from byoc_lab import backends
from byoc_lab.lab.checking.example_inputs import example_inputs
from byoc_lab.lessons.cases import fused_ops
from byoc_lab.passes import InferType
from byoc_lab.relay import Call
from byoc_lab.relay.ir.visit import post_order

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted([*(DOCS / "how-to").glob("*.md"), *(DOCS / "explanation").glob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)

# Pages whose blocks are run by another test, which knows the files and networks that they name.
ELSEWHERE = {
    "backends.md": "tests/backends/test_backends_page.py",
    "coverage.md": "tests/lab/checking/test_coverage_page.py",
    "explaining.md": "tests/lab/explaining/test_page.py",
    "importers.md": "tests/docs/test_files.py",
    "recordings.md": "tests/docs/test_files.py",
    "relax.md": "tests/relax/tracing/test_page.py",
}


def of_the_view() -> dict[str, Any]:
    """What the page of the view takes as given."""
    mod = fused_ops.network()
    call = next(node for node in post_order(mod["main"]) if isinstance(node, Call))
    trace = byoc_lab.trace(mod, "dnnl")
    (x,) = example_inputs(InferType()(mod)["main"]).values()
    return {"byoc_lab": byoc_lab, "mod": mod, "recorded": trace, "call": call, "x": x}


GIVEN: dict[str, Callable[[], dict[str, Any]]] = {"view.md": of_the_view}


@pytest.mark.parametrize("page", [*PAGES, DOCS / "view.md"], ids=lambda p: p.stem)
def test_the_blocks_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where they write their files
    text = page.read_text(encoding="utf-8")
    known = backends.names()
    names = {"__name__": page.stem, **GIVEN.get(page.name, dict)()}
    for block in BLOCK.finditer(text):
        line = text[: block.start()].count("\n") + 1
        code = compile("\n" * line + block.group(1), str(page), "exec")
        exec(code, names)
    assert backends.names() == known, "the page leaves a back end behind"


def test_there_is_a_page_for_each_symptom() -> None:
    titles = {p.read_text(encoding="utf-8").splitlines()[0] for p in (DOCS / "how-to").glob("*.md")}
    assert {
        "# The partition came out nested",
        "# Free variables",
        "# The numbers are off",
        "# My pattern does not match",
        "# Is my codegen used at all?",
        "# Which pass did it?",
        "# A small module for a bug report",
    } <= titles


def test_no_other_page_has_blocks_that_nothing_runs() -> None:
    with_blocks = {p.name for p in DOCS.glob("*.md") if BLOCK.search(p.read_text(encoding="utf-8"))}
    assert with_blocks == set(ELSEWHERE) | set(GIVEN)
    for test in set(ELSEWHERE.values()):
        assert (DOCS.parent / test).is_file(), test
