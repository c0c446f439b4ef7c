"""The names of `byoc_lab` on `byoc_lab.relax`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import byoc_lab
from byoc_lab import relax as byoc_relax
from byoc_lab.errors import ArgumentError, ForeignModuleError

pytest.importorskip("tvm")
from tests.relax.test_executable import two_regions


@pytest.mark.parametrize("name", ["bisect", "explain_patterns", "lint", "trace"])
def test_names_for_both_languages_are_those_of_byoc_lab(name: str) -> None:
    assert getattr(byoc_relax, name) is getattr(byoc_lab, name)
    assert name in byoc_relax.__all__


@pytest.mark.parametrize("function", [byoc_relax.board, byoc_relax.fix])
def test_functions_for_annotations_name_the_way(function: Callable[..., Any]) -> None:
    with pytest.raises(ForeignModuleError, match=r"importers\.relax\.from_relax\(mod\)"):
        function(two_regions())
    with pytest.raises(ArgumentError, match="takes a module of TVM's Relax, found builtins"):
        function(3)
