"""The rewrites of each pass in the reference, each linked to its line in the source."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import pytest

from byoc_lab import transform
from byoc_lab.passes import Pass
from tools.docs.reference import FRAMEWORK
from tools.docs.rewrites import Rewrite, rewrites


def passes_of(namespace: object) -> Iterator[type[Pass]]:
    """The passes among the names of a module."""
    for name, value in vars(namespace).items():
        if inspect.isclass(value) and issubclass(value, Pass) and name not in FRAMEWORK:
            yield value


SHOWN = sorted(passes_of(transform), key=lambda cls: cls.__name__)
NAMED = [(cls, found) for cls in SHOWN for found in rewrites(cls)]


def test_every_pass_has_rewrites_except_fold_scale_axis_and_infer_type() -> None:
    without = {cls.__name__ for cls in SHOWN if not rewrites(cls)}
    assert without == {"FoldScaleAxis", "InferType"}


@pytest.mark.parametrize(("cls", "found"), NAMED, ids=lambda part: getattr(part, "name", part))
def test_line_of_a_rewrite_makes_or_reports_it(cls: type[Pass], found: Rewrite) -> None:
    line = found.file.read_text(encoding="utf-8").splitlines()[found.line - 1]
    assert re.search(r"\b(def|class) \w+\(|\breport(_function)?\(|RewriteRule\(", line), line
