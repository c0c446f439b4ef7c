"""A student's feedback page: points with reasons, code, output, and links to the notebooks."""

from __future__ import annotations

from pathlib import Path

from byoc_lab.lessons.grading.course import Course
from byoc_lab.lessons.grading.feedback import write_feedback
from byoc_lab.lessons.grading.grades import Grade
from byoc_lab.lessons.grading.settings import DEFAULTS, Settings

A, B = "add-the-missing-begin", "annotate-diamond"
COURSE = Course("c", 1, (A, B))
GRADES = [
    Grade(A, 6.67, "not yet", messages=("too many",), file="a.ipynb", code="x = '<b>'",
          printed="3 < 4", reasons=("right for 67% of the variants",)),
    Grade(B),
]  # fmt: skip


def page(folder: Path, settings: Settings) -> str:
    write_feedback(folder, {"ann": GRADES}, COURSE, settings)
    (path,) = folder.iterdir()
    return path.read_text(encoding="utf-8")


def test_page_has_points_reasons_code_and_output(tmp_path: Path) -> None:
    text = page(tmp_path, DEFAULTS)
    assert "6.67 of 20 points" in text and "<td>6.67 of 10</td>" in text
    assert "<p>right for 67% of the variants</p>" in text
    assert "<summary>Your code</summary><pre>x = &#x27;&lt;b&gt;&#x27;</pre>" in text
    assert "<summary>What it printed</summary><pre>3 &lt; 4</pre>" in text
    assert text.count("<summary>") == 2, "nothing is shown for an exercise that is missing"


def test_each_exercise_has_links_to_its_notebook_and_to_the_top(tmp_path: Path) -> None:
    text = page(tmp_path, Settings(link="https://hub/{exercise}.ipynb?a=1&b=2"))
    for name in (A, B):
        assert f'<a href="https://hub/{name}.ipynb?a=1&amp;b=2">open the notebook</a>' in text
    assert text.count('<a href="#top">') == 2 and 'id="top"' in text


def test_anonymous_page_has_a_code_in_its_name_and_text(tmp_path: Path) -> None:
    settings = Settings(anonymous=True)
    text = page(tmp_path, settings)
    code = settings.shown("ann", COURSE.seed)
    assert (tmp_path / f"{code}.html").is_file() and code in text
    assert f'<h1 id="top">{code}</h1>' in text
