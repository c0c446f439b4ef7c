"""An answer copied from byoc_lab's pass gets a note; an independent answer does not."""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path

import pytest

from byoc_lab.lessons.exercises import all_exercises, get
from byoc_lab.lessons.grading.copied import copied
from byoc_lab.lessons.solutions import source
from byoc_lab.passes.byoc.merge_composite import MergeComposite

NAME = "write-merge-composite"
PASS = textwrap.dedent(inspect.getsource(MergeComposite.run_function))
RIGHT = Path(__file__).parents[1] / "exercises" / "right"


def notes(*cells: str) -> list[str]:
    return copied(get(NAME).replaces, cells)


def renamed(text: str) -> str:
    """The pass with renamed variables, a comment, and without annotations."""
    for old, new in (("func", "f"), ("graph", "g"), ("made", "memo"), ("merged", "out")):
        text = re.sub(rf"\b{old}\b", new, text)
    return text.replace("def run_function", "# mine\ndef answer", 1)


@pytest.mark.parametrize(
    "text",
    [
        PASS,
        renamed(PASS),
        f"%%time\n%autosave 0\n{PASS}",
        f"class Mine:\n{textwrap.indent(PASS, '    ')}",
    ],
)
def test_copy_of_the_pass_gets_a_note(text: str) -> None:
    (note,) = notes("x = 1", text)
    assert re.fullmatch(r"\d+% of byoc_lab's MergeComposite.run_function is in its code", note)


@pytest.mark.parametrize(
    "text",
    [
        "from byoc_lab.passes import MergeComposite as M\nanswer = lambda m, t: M(t)(m)",
        "import byoc_lab\nrun = byoc_lab.transform.MergeComposite.run_function",
        "import byoc_lab\nrun = getattr(byoc_lab.transform, 'MergeComposite')",
        "!pip list\nrun = byoc_lab.transform.MergeComposite",
        "%%time\n%autosave 0\nrun = byoc_lab.transform.MergeComposite",
    ],
)
def test_code_that_wraps_the_pass_gets_a_note(text: str) -> None:
    assert notes(text) == ["its code names MergeComposite, whose work it is to do itself"]


def test_independent_right_answers_get_no_note() -> None:
    texts = [source(NAME), "# as MergeComposite does\n" + source(NAME)]
    texts += [p.read_text(encoding="utf-8") for p in RIGHT.rglob(f"*{NAME.replace('-', '_')}*.py")]
    assert [notes(text) for text in texts] == [[]] * len(texts)


def test_only_one_exercise_asks_for_a_part_of_byoc_lab() -> None:
    assert [e.name for e in all_exercises() if e.replaces] == [NAME]
