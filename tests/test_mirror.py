"""Tests mirror the package: every pass, and every module of the pass framework, has a test file of
its name."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import pytest

from byoc_lab import passes
from byoc_lab.compat import passes as compat_passes
from byoc_lab.passes import framework

TESTS = Path(__file__).parent
OF_PASSES = {cls.__module__ for cls in [*passes.PASSES.values(), *compat_passes.PASSES.values()]}
OF_FRAMEWORK = {
    info.name for info in pkgutil.iter_modules(framework.__path__, "byoc_lab.passes.framework.")
}


@pytest.mark.parametrize("module", sorted(OF_PASSES | OF_FRAMEWORK))
def test_pass_has_a_test_file_of_its_name(module: str) -> None:
    *folders, name = module.split(".")[1:]
    path = TESTS.joinpath(*folders, f"test_{name}.py")
    assert path.is_file(), f"write {path.relative_to(TESTS.parent)}"
