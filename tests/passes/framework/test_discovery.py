"""Discovery of passes in the core and in compat, which the core does not import."""

from __future__ import annotations

import subprocess
import sys

import pytest

from byoc_lab import passes, relay, transform
from byoc_lab.compat import passes as compat_passes
from byoc_lab.errors import UnsupportedNameError
from byoc_lab.passes import make_pass
from byoc_lab.passes.framework.discovery import discover
from byoc_lab.passes.framework.passes import COMPAT_PASSES, FunctionPass, Pass


def test_core_lists_the_names_of_compat_s_passes() -> None:
    assert compat_passes.PASSES.keys() == COMPAT_PASSES
    assert not compat_passes.PASSES.keys() & passes.PASSES.keys()
    assert make_pass("FuseOps").name == "FuseOps"


@pytest.mark.parametrize("cls", passes.PASSES.values(), ids=lambda cls: cls.__name__)
def test_passes_required_by_core_passes_are_in_the_core(cls: type[Pass]) -> None:
    assert set(cls.required) <= passes.PASSES.keys()


def test_base_classes_and_private_classes_are_not_passes() -> None:
    found = discover("byoc_lab.passes.fold", {FunctionPass})
    assert "FoldConstant" in found and all(issubclass(cls, Pass) for cls in found.values())
    assert "CombineParallel" not in compat_passes.PASSES
    assert not any(name.startswith("_") for name in {**passes.PASSES, **compat_passes.PASSES})


@pytest.mark.parametrize("home", [passes, transform, relay.transform])
def test_core_error_for_a_compat_pass_names_its_import(home: object) -> None:
    with pytest.raises(UnsupportedNameError, match=r"from byoc_lab\.compat\.passes import FuseOps"):
        _ = home.FuseOps  # type: ignore[attr-defined]


def test_pass_of_compat_can_be_made_by_name_only_after_its_import() -> None:
    code = """
from byoc_lab.errors import UnknownNameError
from byoc_lab.passes import make_pass
try:
    make_pass("FuseOps")
except UnknownNameError as error:
    print(error)
import byoc_lab.compat
print(make_pass("FuseOps"))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    error, made = run.stdout.splitlines()
    assert "import byoc_lab.compat" in error and made == "FuseOps()"
