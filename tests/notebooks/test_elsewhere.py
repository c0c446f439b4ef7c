"""Every notebook on a machine without the DNNL extension, apache-tvm and a C compiler.

No cell fails, and outputs are those of a complete machine, except for times and kernels.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from byoc_lab.lessons.needs import NEEDS, missing
from tests.hiding import environment
from tests.notebooks.outputs import difference, lines_of

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
SECONDS = 300
SPEED = ("DNNL",)
"""Needs of single cells that prove an offload; a notebook does not name them at its beginning."""


def executed(path: Path, folder: Path, variables: Mapping[str, str]) -> list[Any]:
    """The code cells of a notebook after it ran with these environment variables."""
    folder.mkdir()
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env={**os.environ, **variables})
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not [o for cell in cells for o in cell.outputs if o.get("name") == "stderr"]
    return cells


@pytest.mark.notebook
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_shows_the_same_without_dnnl_tvm_and_a_compiler(
    path: Path, tmp_path: Path
) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    elsewhere = executed(path, tmp_path / "elsewhere", environment(hidden))
    lacking = [need for need in NEEDS if missing(need) is not None]
    if lacking:
        pytest.skip(f"{', '.join(lacking)} is missing: there are no outputs to compare with")
    for number, (ours, theirs) in enumerate(
        zip(executed(path, tmp_path / "native", {}), elsewhere, strict=True)
    ):
        found = difference(lines_of(ours.outputs), lines_of(theirs.outputs))
        assert not found, f"code cell {number}:\n{ours.source}\n{found}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_states_its_requirements_in_its_first_lines(path: Path) -> None:
    first, *others = nbformat.read(path, as_version=4).cells
    asked = "\n".join(cell.source for cell in others if "available(" in cell.source)
    lines = first.source.split("Goals:")[0]
    for need in NEEDS:
        if need not in SPEED and f'"{need}"' in asked:
            assert need in lines


@pytest.mark.parametrize(
    ("native", "elsewhere", "found"),
    [
        (["%0 = f(%x)"], ["%0 = f(%x)"], ""),
        (["%0 = f(%x)"], ["%0 = g(%x)"], "native: %0 = f(%x)\nelsewhere: %0 = g(%x)"),
        (["[[1.1535649 2.]]"], ["[[1.153565 2.]]"], ""),
        (["[[1.1535649 2.]]"], ["[[1.163565 2.]]"], "native: [[1.1535649"),
        (["8 of 9"], ["8 of 10"], "native: 8 of 9"),
        (["a", "b"], ["a"], "2 lines and 1; one has: b"),
        (["a", "b"], ["b", "this needs DNNL, which is missing here: x"], ""),
        (["a"], ["c", "this needs DNNL, which is missing here: x"], "not on the native machine: c"),
    ],
)
def test_outputs_are_compared_by_words_and_numbers(
    native: list[str], elsewhere: list[str], found: str
) -> None:
    assert difference(native, elsewhere).startswith(found)
    assert bool(difference(native, elsewhere)) == bool(found)


def test_cards_and_verdicts_are_compared_without_times_and_kernels() -> None:
    def of(*texts: str) -> list[str]:
        return lines_of([{"output_type": "stream", "name": "stdout", "text": t} for t in texts])

    sentence = (
        "computed by NumPy in place of DNNL: right numbers, but no proof of offload and no times"
    )
    here = of(
        "@r0: ran on dnnl, 2 calls, 3 operators, 24 FLOP\n  nn.conv2d_0 + relu: jit:avx2\n"
        "  layouts of its convolutions: nChw16c; fixed\n"
    )
    there = of(f"@r0: ran on NumPy (not on dnnl: {sentence}), 1 call, 3 oper", "ators, 24 FLOP\n")
    assert here == there == ["@r0: ran, 3 operators, 24 FLOP"]
    here = of(
        "  @r0: ok; largest error 1.3e-06 of values up to 7.35, at most 19% of the tolerance\n"
    )
    assert here == of("  @r0: ok; largest error 0\n", f"  @r0: {sentence}\n") == ["@r0: ok"]
    assert of("  @r0: WRONG at [0, 1], where the error is 0.0013\n") != here
    assert of("one  2.1 ms (median of 3, 2.0 to 2.2)\n") == of(f"one not timed: @r0: {sentence}\n")
