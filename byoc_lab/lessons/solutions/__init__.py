"""Answers to the exercises: a right answer and typical wrong answers; one exercise per file.

A file defines `answer`, which is right, and `WRONG`, which maps the key of each mistake to an
answer with this mistake. The text above the line "# Typical mistakes" is the solution in an
instructor's notebook. No grading code imports this package, and a graded run cannot read it.
"""

from __future__ import annotations

import importlib
import inspect
import re
from types import ModuleType

MARK = "# Typical mistakes"


def solution(name: str) -> ModuleType:
    """The module of answers to the exercise with this name."""
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")


def source(name: str) -> str:
    """The text of the right answer, without the wrong answers."""
    text = inspect.getsource(solution(name)).partition(MARK)[0]
    lines = text.split('"""\n', 1)[-1].strip()
    return lines.replace("from __future__ import annotations\n", "").strip() + "\n"


def wrong_source(name: str, key: str) -> str:
    """Source text that defines `answer` with the mistake `key`."""
    module = solution(name)
    text = inspect.getsource(module).split('"""\n', 1)[-1]
    text = text.replace("from __future__ import annotations\n", "").strip()
    text = re.sub(r"\banswer\b", "right_answer", text)
    return f"{text}\n\nanswer = WRONG[{key!r}]\n"
