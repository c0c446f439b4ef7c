"""The first notebook, opened and run in JupyterLab."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .jupyterlab import JupyterLab

pytestmark = pytest.mark.browser

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "00_start_here.ipynb"
STAGES = [
    "InferType", "SimplifyInference", "FoldConstant", "BackwardFoldScaleAxis",
    "ForwardFoldScaleAxis", "FoldConstant", "MergeComposite", "AnnotateTarget",
    "MergeCompilerRegions", "PartitionGraph",
]  # fmt: skip


def test_first_notebook_shows_stages_regions_and_a_fixed_finding(
    new_page: Callable[..., Any], jupyterlab: JupyterLab
) -> None:
    shutil.copy(NOTEBOOK, jupyterlab.root / NOTEBOOK.name)
    page = new_page(viewport={"width": 1500, "height": 1000})
    jupyterlab.open(page, NOTEBOOK.name)
    jupyterlab.run_all(page)

    # MobileNet: every stage is listed; the last stage has the outlined regions.
    mobilenet = page.locator(".byl[data-ready]").first
    mobilenet.scroll_into_view_if_needed()
    names = mobilenet.locator('[role="option"] .byl-name').all_text_contents()
    # A pass's name is followed by soft hyphens and the name of its group.
    assert [re.sub(r"[^A-Za-z ]", "", n).split()[0] for n in names] == STAGES
    page.wait_for_selector('.byl[data-index="1"]')  # the stepper opens at the first change
    assert "nn.batch_norm" in mobilenet.text_content()
    mobilenet.focus()
    page.keyboard.press("End")
    page.wait_for_selector('.byl[data-index="9"]')
    assert "@tvmgen_default_dnnl_main_0" in mobilenet.text_content()
    assert mobilenet.locator("svg").count() > 0

    # The chain with a missing annotation: found, shown nested, and fixed.
    notebook = page.locator(".jp-Notebook").inner_text()
    assert jupyterlab.ask(page, "print([f.code for f in byoc_lab.lint(wrong)])") == "['BYL001']\n"
    assert 'ExternalSymbol="dnnl_1"' in jupyterlab.ask(page, "print(nested['main'])")
    assert "clean: no findings" in jupyterlab.ask(page, "print(byoc_lab.lint(right))")
    assert jupyterlab.ask(page, "print(bool(report))") == "True\n"
    assert "Traceback" not in notebook
