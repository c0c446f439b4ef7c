"""The time limit of the exercise's C kernel applies only to the kernel."""

from __future__ import annotations

import pytest

from byoc_lab.lessons.exercises import c_kernel, get
from byoc_lab.lessons.solutions import solution


@pytest.mark.parametrize(("key", "mistake"), [(None, None), ("timed-out", "timed-out")])
def test_time_to_start_python_does_not_count(
    key: str | None, mistake: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(c_kernel, "SECONDS", 0.05)  # importing NumPy takes longer
    exercise, answers = get("c-kernel"), solution("c-kernel")
    answer = answers.answer if key is None else answers.WRONG[key]
    verdict = exercise.check(answer, 0, hidden=())
    if not verdict.judged:
        pytest.skip(str(verdict))
    assert verdict.passed == (mistake is None) and verdict.mistake == (mistake or ""), str(verdict)


def test_kernel_that_sleeps_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_kernel, "ASLEEP", 2.0)
    text = "#include <unistd.h>\nvoid bias_relu() { for (;;) sleep(60); }"
    verdict = get("c-kernel").check(text, 0, hidden=())
    if not verdict.judged:
        pytest.skip(str(verdict))
    assert verdict.mistake == "timed-out"
