"""The settings shown on the teacher's page are valid, and give the points stated there."""

from __future__ import annotations

import re
from pathlib import Path

from byoc_lab.lessons.grading.credit import with_credit
from byoc_lab.lessons.grading.grades import Grade
from byoc_lab.lessons.grading.handed_in import Submission
from byoc_lab.lessons.grading.settings import SETTINGS, Settings, read_settings

PAGE = (Path(__file__).parents[3] / "docs" / "teaching.md").read_text(encoding="utf-8")
A, B = "annotate-diamond", "fix-the-name"


def shown(folder: Path) -> Settings:
    (block,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.M | re.S)
    (folder / SETTINGS).write_text(block, encoding="utf-8")
    return read_settings(folder, (A, B))


def test_page_describes_every_key_and_sets_each(tmp_path: Path) -> None:
    section = PAGE.partition("## Your settings")[2].partition("\n## ")[0]
    described = re.findall(r"^\| `(\w+)` \|", section, re.M)
    assert set(described) == set(Settings.__dataclass_fields__)
    found, without = shown(tmp_path), Settings()
    assert all(getattr(found, key) != getattr(without, key) for key in described)


def test_points_on_the_page_equal_those_of_the_grader(tmp_path: Path) -> None:
    settings = shown(tmp_path)
    grades = [Grade(A, 0, "not yet", file="a", share=2 / 3, hints=1), Grade(B, 0, "not yet")]
    in_time, by_hand = with_credit(grades, Submission("ann"), settings)
    assert (in_time.points, by_hand.points) == (6, 8)
    deadline = settings.deadline(A)
    assert deadline is not None
    arrived = {"a": deadline.timestamp() + 25 * 3600}
    late, _ = with_credit(grades, Submission("bob", times=arrived), settings)
    assert late.points == 3
    assert "has 8 points" in PAGE and "has 6: two thirds" in PAGE and "it would have 3." in PAGE
