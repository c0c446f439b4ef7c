"""Links from a lint rule or a pass to its page and its source."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import cache
from typing import Any

from byoc_lab import passes
from byoc_lab.lab.linting.discovery import rule_names
from byoc_lab.lab.linting.pages import page

MAX_SOURCE = 8000  # maximum number of characters; the named file has the rest


def about(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """{name: {page, source}} for the rule codes and pass names among `names`."""
    return {name: found for name in dict.fromkeys(names) if (found := _about(name))}


@cache
def _about(name: str) -> dict[str, str]:
    rule = rule_names().get(name)
    if rule is not None:
        return {"page": page(rule), "source": _source(type(rule))}
    found: Any = getattr(passes, name, None) if name in passes.__all__ else None
    if not inspect.isclass(found):
        return {}
    return {"page": inspect.getdoc(found) or "", "source": _source(found)}


def _source(cls: type) -> str:
    try:
        text = inspect.getsource(cls)
    except OSError:  # defined in a notebook that no longer exists
        return ""
    cut = text if len(text) <= MAX_SOURCE else f"{text[:MAX_SOURCE]}\n…"
    return f"# {cls.__module__.replace('.', '/')}.py\n\n{cut}"
