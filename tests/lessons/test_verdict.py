"""Verdicts: the display of a result with messages, hints and a picture."""

from __future__ import annotations

from byoc_lab.lessons import check, exercise
from byoc_lab.lessons.verdict import Verdict


def test_verdict_shows_its_messages_and_hints() -> None:
    verdict = Verdict(False, ("a < b",), "key", ("look", "think", "try"))
    assert str(verdict).splitlines()[:3] == ["not yet", "- a < b", "hint: look"]
    assert "a &lt; b" in verdict.to_html()
    assert [verdict.hint(n) for n in (1, 2, 3, 4)] == ["look", "think", "try", ""]
    assert Verdict(True) and str(Verdict(True)) == "passed"


def test_verdict_on_a_wrong_annotation_has_a_picture() -> None:
    task = exercise("annotate-diamond")
    bundle = check("annotate-diamond", task.start())._repr_mimebundle_()
    assert "<svg" in bundle["text/html"] and "Hint 3" in bundle["text/html"]
    assert bundle["text/plain"].startswith("not yet")
