"""Every code block of the documentation runs, page by page, in order, and prints the stored
output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import byoc_lab
from byoc_lab import backends
from byoc_lab.importers import registry as importers
from byoc_lab.lab.checking.example_inputs import example_inputs
from byoc_lab.lessons.cases import fused_ops
from byoc_lab.lessons.tools import library
from byoc_lab.passes import InferType
from byoc_lab.relay import Call, Op
from byoc_lab.relay.ir.visit import post_order
from tools.docs.examples import BLOCK, DOCS, PYTHON, pages, run

pytestmark = pytest.mark.usefixtures("processes_without_torch")

# Pages whose blocks another test runs, because they need files and networks.
ELSEWHERE = {
    "backends.md": "tests/backends/test_backends_page.py",
    "coverage.md": "tests/lab/checking/test_coverage_page.py",
    "explaining.md": "tests/lab/explaining/test_page.py",
    "importers.md": "tests/docs/test_files.py",
    "recordings.md": "tests/docs/test_files.py",
    "relax.md": "tests/relax/tracing/test_page.py",
}


def of_the_view() -> dict[str, Any]:
    """The names that the page on the view needs."""
    mod = fused_ops.network()
    call = next(node for node in post_order(mod["main"]) if isinstance(node, Call))
    trace = byoc_lab.trace(mod, "dnnl")
    (x,) = example_inputs(InferType()(mod)["main"]).values()
    return {"byoc_lab": byoc_lab, "mod": mod, "recorded": trace, "call": call, "x": x}


GIVEN: dict[str, Callable[[], dict[str, Any]]] = {"view.md": of_the_view}


@pytest.mark.parametrize("page", [*pages(), DOCS / "view.md"], ids=lambda p: p.stem)
def test_blocks_of_a_page_run_and_print_the_stored_output(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the blocks write their files here
    monkeypatch.setattr(importers, "_importers", dict(importers._importers))
    monkeypatch.setattr(Op, "_registry", dict(Op._registry))  # a page defines an operator
    text = page.read_text(encoding="utf-8")
    if "import tvm\n" in text:
        pytest.importorskip("tvm", reason="apache-tvm is not installed")
    library()  # the back end of exercises, registered by the command that copies them
    known = backends.names()
    names = {"__name__": page.stem, **GIVEN.get(page.name, dict)()}
    assert run(page, names) == text, "make generate stores the outputs anew"
    assert backends.names() == known, "the page leaves a back end behind"


@pytest.mark.parametrize("page", sorted((DOCS / "how-to").glob("*.md")), ids=lambda p: p.stem)
def test_how_to_page_has_an_example_with_its_output(page: Path) -> None:
    assert any(stored for _, _, stored in BLOCK.findall(page.read_text(encoding="utf-8")))


def test_changed_output_replaces_the_stored_text(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```output\n3\n```\n")
    assert run(page, {}) == page.read_text().replace("3", "2")
    page.write_text("```python\nprint(1 / 7)\n```\n\n```output\n0.14...\n```\n")
    assert run(page, {}) == page.read_text(), "three dots stand for any text"


def test_block_that_prints_something_else_when_run_again_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nfound = []\n```\n\n```python\nfound.append(1)\nprint(found)\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md:6: run again, it prints \[1, 1\]"):
        run(page, {})


def test_every_page_with_blocks_is_run_by_a_test() -> None:
    with_blocks = {
        p.name for p in DOCS.glob("*.md") if PYTHON.search(p.read_text(encoding="utf-8"))
    }
    assert with_blocks == set(ELSEWHERE) | set(GIVEN)
    for test in set(ELSEWHERE.values()):
        assert (DOCS.parent / test).is_file(), test
