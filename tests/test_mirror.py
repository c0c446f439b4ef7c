"""Tests mirror the package: what is found by discovery has a test file of its name."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from byoc_lab import passes
from byoc_lab.passes.framework.passes import Pass

TESTS = Path(__file__).parent


def _modules_of_passes() -> list[str]:
    classes = (getattr(passes, name) for name in passes.__all__)
    found = {c.__module__ for c in classes if inspect.isclass(c) and issubclass(c, Pass)}
    return sorted(name for name in found if not name.startswith("byoc_lab.passes.framework"))


@pytest.mark.parametrize("module", _modules_of_passes())
def test_a_pass_has_a_test_file_of_its_name(module: str) -> None:
    *_, group, name = module.split(".")
    path = TESTS / "passes" / group / f"test_{name}.py"
    assert path.is_file(), f"write {path.relative_to(TESTS.parent)}"
