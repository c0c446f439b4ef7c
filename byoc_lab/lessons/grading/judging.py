"""Computes grades from the results of sandboxes, in guarded processes, because results may be
hostile."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from byoc_lab.containment.children import ChildError
from byoc_lab.containment.confinement import limit
from byoc_lab.containment.guarded import guarded
from byoc_lab.containment.limits import CRASHED, ENDED, MUCH_MEMORY, Limits
from byoc_lab.lab.linting import all_rules
from byoc_lab.lessons.exercises import all_exercises, get
from byoc_lab.lessons.grading import alike, notebooks
from byoc_lab.lessons.grading.copied import copied
from byoc_lab.lessons.grading.grades import NOT_GRADED, NOT_JUDGED, Grade
from byoc_lab.lessons.grading.replies import decode
from byoc_lab.lessons.grading.sandboxed import LOST
from byoc_lab.lessons.verdict import NOT_HERE, Mistake, Verdict

JUDGE_SECONDS, JUDGE_MEMORY = 30.0, 8 << 30
Apart = Callable[..., Any]  # `guarded`, or `forked` in a process without threads


def prepare() -> None:
    """Import the modules that answers and judges need, so that forks of this process inherit
    them."""
    all_exercises()
    all_rules()
    for name in ("byoc_lab.lab.checking", "numpy.random"):
        import_module(name)


def graded(
    name: str,
    seeds: Sequence[int],
    result: Mapping[str, Any],
    notes: Sequence[str],
    limits: Limits,
    cells: Sequence[str] = (),
    apart: Apart = guarded,
) -> Grade:
    """The grade for the result of one notebook's sandbox. seeds: the seeds of the variants on which
    it was run. notes: notes for the teacher. cells: the student's code. apart: creates the judge's
    process."""
    told = list(notes)
    if result["status"] == LOST:
        note = "its sandbox ended or did not answer, twice: memory or the disk may be full"
        return Grade(name, 0, NOT_GRADED, "", (), (*told, note))
    if result["status"] == NOT_HERE:
        return Grade(name, 0, NOT_HERE, "", (result["reply"],), tuple(told))
    if result["status"] != "ran":
        message = _stopped(result["status"], limits)
        return Grade(name, 0, result["status"], result["status"], (message,), tuple(told))
    try:
        data = json.loads(result["reply"])
        told += [str(note) for note in data.get("noticed", [])][:5]
        errors = [str(error) for error in data.get("errors", [])][:5]
        if "error" in data:
            message = f"the run of your notebook ended before the answer was tried: {data['error']}"
            return Grade(name, 0, "crashed", "no-reply", (message, *errors), tuple(told))
        if "replies" not in data:
            message = "after your cells have run, there is no variable `answer`"
            return Grade(name, 0, "no answer", "no-answer", (message, *errors), tuple(told))
        verdict = _judged_apart(apart, name, seeds, data["replies"], cells)
    except MemoryError as error:
        message = f"your answer cannot be judged: {type(error).__name__}: {error}"
        return Grade(name, 0, "too large", "too-large", (message,), tuple(told))
    except ChildError as error:
        return Grade(name, 0, NOT_JUDGED, "", (), (*told, f"the judge {error.kind}: {error}"))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        message = f"the result of your notebook is not a valid reply: {type(error).__name__}"
        return Grade(name, 0, "crashed", "no-reply", (message,), (*told, str(error)[:200]))
    points = notebooks.POINTS if verdict["passed"] else 0
    status = "passed" if verdict["passed"] else "not yet"
    messages = (*verdict["messages"], *errors)
    told += verdict["noticed"]
    return Grade(
        name, points, status, verdict["mistake"], messages, tuple(told), verdict["html"],
        share=verdict["share"], shapes=tuple(verdict["shapes"]),
    )  # fmt: skip


def _stopped(status: str, limits: Limits) -> str:
    """The message for a notebook whose run did not end normally."""
    if status == CRASHED:
        return "a signal ended your notebook: a fault in native code, or a call such as os.kill"
    if status == MUCH_MEMORY:
        return f"your notebook took more memory than {limits.memory >> 20} MiB"
    if status == ENDED:
        return "your notebook ended Python, as os._exit does; remove the call that does it"
    return f"your notebook was stopped: {status}; it may use {limits}"


def _judged_apart(apart: Apart, name: str, *given: Sequence[Any]) -> dict[str, Any]:
    """`_judge` in a guarded process, repeated once if the process dies. Raises ChildError."""
    try:
        found: dict[str, Any] = apart(_judge, name, *given, time_limit=JUDGE_SECONDS)
    except ChildError as error:
        if error.kind == "timed out":
            raise
        found = apart(_judge, name, *given, time_limit=JUDGE_SECONDS)
    return found


def _judge(
    name: str, seeds: Sequence[int], replies: Sequence[Any], cells: Sequence[str]
) -> dict[str, Any]:
    """The verdict and the shapes of an answer, computed in the guarded process with limited memory,
    because a module may request terabytes."""
    limit(as_=JUDGE_MEMORY)
    found = judged(name, seeds, replies)
    code = alike.code_shapes(cells)
    modules: set[str] = set()
    for reply in replies[1:] or replies:  # hidden variants are equal for the whole class
        if "value" in reply and found["mistake"] != "kind":  # such a value has no modules
            modules |= alike.module_shapes(decode(reply["value"]))
    shapes = (*alike.kept(alike.CODE, code), *alike.kept(alike.MODULE, modules))
    return {**found, "shapes": shapes, "noticed": copied(get(name).replaces, cells)}


def judged(name: str, seeds: Sequence[int], replies: Sequence[Any]) -> dict[str, Any]:
    """The verdict on replies, as data; runs in a guarded process, because replies may be
    hostile."""
    exercise = get(name)
    wrong: Mistake | None = None
    if not replies or (len(replies) not in (1, len(seeds))):
        wrong = Mistake("kind", "the answer gave no reply")
    if len(replies) == 1 and len(seeds) > 1 and exercise.only_functions:
        wrong = Mistake("kind", "expected a function")
    found: Verdict = exercise.verdict(wrong, tried=len(replies))
    right, told = 0, False
    for seed, reply in zip(seeds, replies, strict=False):
        if "raised" in reply:
            mistake: Mistake | None = exercise.raised(str(reply["raised"]))
        elif "kind" in reply:
            mistake = Mistake("kind", f"expected a function, found {reply['kind']}")
        else:
            try:
                mistake = exercise.judge(seed, decode(reply["value"]))
            except RecursionError:
                mistake = Mistake("kind", "the answer is nested too deeply")
        right += mistake is None
        if mistake is not None and not told:
            found, told = exercise.verdict(mistake, seed != seeds[0]), True
    return {
        "passed": found.passed,
        "mistake": found.mistake,
        "messages": list(found.messages),
        "html": found.to_html(),
        "share": right / len(replies) if wrong is None else 0.0,
    }
