"""The documentation of every pass (`help(SomePass)`) describes what it does."""

from __future__ import annotations

import inspect

import pytest

from byoc_lab import passes
from byoc_lab.passes.framework.passes import Pass

CLASSES = [
    cls
    for cls in (getattr(passes, name) for name in passes.__all__)
    if inspect.isclass(cls) and issubclass(cls, Pass) and cls.__module__.count(".") == 3
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_documentation_of_a_pass_has_a_summary(cls: type[Pass]) -> None:
    page = cls.__dict__.get("__doc__") or ""
    summary = page.strip().split("\n\n")[0]
    assert summary.endswith("."), "the first paragraph is a sentence"
    assert len(summary) > 20
