"""A cell has the same result in the grader as in nbclient, and so in Jupyter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from byoc_lab.containment.limits import Limits
from byoc_lab.lessons.exercises import all_exercises
from byoc_lab.lessons.grading.judging import judged
from byoc_lab.lessons.grading.notebooks import code_of, dumps, notebook, with_solution
from byoc_lab.lessons.grading.sandboxed import run_sandboxed
from tests.lessons.grading.ways import BEST
from tests.sweeps import some

pytestmark = pytest.mark.linux
ROOT = Path(__file__).parents[3]
NAME = "fix-the-name"  # any value may be the answer, and is returned unchanged
LIMITS = Limits(seconds=60, memory=8 << 30)

RELAY = '''
text = """
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  %0 = tanh(%x);
%1 = exp(%0);
  add(%0, %1)
}
"""
seen.append(len(text.splitlines()))
'''
CELLS = [
    "x = 1\nx",
    "seen.append(_)",
    "seen.append(Out and 'Out' in globals())",
    RELAY,
    "note = '''\n!ls\n?x\n%time\n'''\nseen.append(note)",
    "total = 1 + \\\n    2\nseen.append(total)",
    "seen.append(7\n    % 4)",
    "seen.append(\n    7\n% 4\n)",
    "task?",
    "?seen",
    "seen.append??",
    "!true",
    "!ls \\\n  -d .",
    "%matplotlib inline",
    "%time seen.append('timed')",
    "%%time\nseen.append('a timed cell')",
    "%%capture out\nprint('held')",
    "seen.append(str(out))",
    "%timeit -n1 -r1 seen.append('once')",
    "found = %timeit -o -q -n1 -r1 pass\nseen.append(type(found).__name__)",
    "for n in range(2):\n    %time seen.append(n)",
    "if True:\n    !true\n    seen.append('after a command')",
    "%%bash\ntrue",
    "%pip --version",
    "%no_such_magic",
    "%%no_such_cell_magic\nx",
    "%autosave 60\nseen.append('saved')",
    "%store seen\nseen.append('stored')",
    "%less /etc/hostname\nseen.append('paged')",
    "%man true\nseen.append('a page of the manual')",
    "%clear\nseen.append('cleared')",
    "%connect_info\nseen.append('connections')",
    "%subshell\nseen.append('subshells')",
    "seen.append(get_ipython().kernel is not None)",
    "seen.append(type(get_ipython()).__name__)",
    "display(seen)",
    "from IPython.display import Markdown, display\ndisplay(Markdown('# title'), display_id='d')",
    "seen.append(get_ipython() is not None)",
    "get_ipython().run_line_magic('time', 'seen.append(5)')",
    "import asyncio\nawait asyncio.sleep(0)\nseen.append('waited')",
    "async def later():\n    return 3\n\nseen.append(await later())",
    "async with asyncio.Lock():\n    seen.append('locked')",
    "task = asyncio.ensure_future(later())",
    "seen.append(task.done())",
    "seen.append(asyncio.get_running_loop().is_running())",
    "asyncio.run(later())",
    "  y = 1\n  seen.append(y)",
    ">>> z = 2\n>>> seen.append(z)",
    "/seen.append 4",
    ",seen.append a",
    "def f():\n    return __name__\n\nseen.append(f())",
    "import pickle\n\n\nclass Own:\n    pass\n\n\nseen.append(pickle.loads(pickle.dumps(Own)))",
    "1 / 0",
    "seen.append('before an error')\nraise ValueError('told')\nseen.append('never')",
    "seen.append(",
    "if True\n    pass",
    "\tseen.append(1)\n  seen.append(2)",
    "return 3",
    "import sys\nsys.exit(0)",
    "raise SystemExit",
    "raise KeyboardInterrupt",
    "assert not seen, 'seen'",
    "from no_such_package import anything",
    "input()",
    "print('é', '\\u2028', end='')",
    "# only a comment",
    "",
    "seen.append('a');",
    "from __future__ import annotations",
    "seen.append(1 if (n := 3) else 0)",
    "del x",
    *(f"seen += sorted(get_ipython().magics_manager.magics[{n!r}])" for n in ("line", "cell")),
]  # fmt: skip
"""Each is run after those before it; what they do is noted in the list `seen`."""


def grader(cells: Sequence[str]) -> tuple[list[bool], Any]:
    """Runs cells in the grader: whether each ends with an error, and the final value of
    `answer`."""
    task = {"exercise": NAME, "cells": list(cells), "seeds": [0]}
    (result,) = run_sandboxed([task], LIMITS, [], BEST)
    assert result["status"] == "ran", result
    reply = json.loads(result["reply"])
    wrong = {int(text.split(":")[0].removeprefix("cell ")) for text in reply["errors"]}
    return [number in wrong for number in range(1, len(cells) + 1)], reply["replies"]


def jupyter(cells: Sequence[str]) -> tuple[list[bool], Any]:
    """The same in a Jupyter kernel."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    shown = (
        "import json\n"
        "from byoc_lab.lessons.grading.replies import encode\n"
        "print(json.dumps([{'value': encode(answer)}]))"
    )
    made.cells.append(nbformat.v4.new_code_cell(shown))
    nbclient.NotebookClient(made, timeout=120, kernel_name="python3", allow_errors=True).execute()
    wrong = [
        any(output.output_type == "error" for output in cell.outputs) for cell in made.cells[:-1]
    ]
    return wrong, json.loads(made.cells[-1].outputs[0].text)


def same(cells: Sequence[str]) -> None:
    cells = ["seen = []", *cells, "answer = list(map(str, seen))"]
    here, there = grader(cells), jupyter(cells)
    differing = [c for c, a, b in zip(cells, here[0], there[0], strict=True) if a != b]
    assert not differing
    assert here == there


def test_every_cell_has_the_result_of_jupyter() -> None:
    same(CELLS)


@pytest.mark.slow
@settings(max_examples=some(8), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(CELLS), min_size=5, max_size=25))
def test_mixtures_of_cells_have_the_results_of_jupyter(cells: list[str]) -> None:
    same(cells)


@pytest.mark.slow
@pytest.mark.parametrize("exercise", all_exercises(), ids=lambda e: e.name)
def test_notebook_of_an_exercise_passes_in_grader_and_jupyter(exercise: Any) -> None:
    if exercise.missing() is not None:
        pytest.skip(f"it needs {exercise.needs}")
    for data in (notebook(exercise.name, 3), with_solution(exercise.name, 3)):
        made = nbformat.reads(dumps(data), as_version=4)
        nbclient.NotebookClient(made, timeout=300, kernel_name="python3").execute()
        (text,) = [out.data["text/plain"] for out in made.cells[-1].outputs if "data" in out]
        task = {"exercise": exercise.name, "cells": code_of(data), "seeds": [3]}
        (result,) = run_sandboxed([task], LIMITS, [], BEST)
        reply = json.loads(result["reply"])
        assert reply["errors"] == []
        assert judged(exercise.name, [3], reply["replies"])["passed"] == text.startswith("passed")


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_tutorials_run_without_errors_in_the_grader(path: Path) -> None:
    """The tests of notebooks run them in a kernel."""
    cells = code_of(json.loads(path.read_text(encoding="utf-8")))
    wrong, _ = grader([*cells, "answer = 1"])
    assert not any(wrong), [cell for cell, bad in zip(cells, wrong, strict=False) if bad]


# Long enough that no address, hash or size in a text contains these digits by chance.
SEEDS = (4_242_424_241, 3_515_151_517)
REVERSED = [str(seed)[::-1] for seed in SEEDS]  # the search must not find itself
SEARCH = f"""
import gc
import sys

backwards, found, left, frame = {REVERSED}, set(), [], sys._getframe()
while frame is not None:
    left.append(frame.f_locals)
    frame = frame.f_back
left += gc.get_objects()
while left:
    for each in gc.get_referents(left.pop()):
        if type(each) in (list, dict, tuple) and not gc.is_tracked(each):
            left.append(each)
        elif type(each) is str or type(each) is int and each > 1 << 31:
            text = str(each)
            found.update(digits for digits in backwards if digits[::-1] in text)
answer = sorted(found)
"""


@pytest.mark.slow
def test_seeds_of_hidden_variants_are_not_in_the_student_s_process() -> None:
    """The same search finds seeds that the notebook itself creates."""
    planted = f"planted = [int(digits[::-1]) for digits in {REVERSED}]"
    tasks = [
        {"exercise": NAME, "cells": [SEARCH], "seeds": [0, SEEDS[0]]},
        {"exercise": NAME, "cells": [planted, SEARCH], "seeds": [0, SEEDS[1]]},
        {"exercise": "order-the-passes", "cells": [], "seeds": [0, SEEDS[1]]},
    ]
    clean, found, _ = (json.loads(each["reply"]) for each in run_sandboxed(tasks, LIMITS, [], BEST))
    assert clean["errors"] == found["errors"] == []
    assert clean["replies"] == [{"value": {"list": []}}]
    assert found["replies"] == [{"value": {"list": sorted(REVERSED)}}]
