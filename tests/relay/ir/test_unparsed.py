"""Modules that are known only as text."""

from __future__ import annotations

import copy
import pickle

import pytest

from byoc_lab.errors import UnparsedModuleError
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir.unparsed import UnparsedModule

MOD = UnparsedModule("one\n  two", "it is of another dialect")


def test_unparsed_module_prints_its_text() -> None:
    assert str(MOD).rstrip("\n") == MOD.astext().rstrip("\n") == "one\n  two"
    assert repr(MOD) == "<UnparsedModule of 2 lines: it is of another dialect>"
    for again in (copy.copy(MOD), copy.deepcopy(MOD), pickle.loads(pickle.dumps(MOD))):
        assert isinstance(again, UnparsedModule) and (again.text, again.reason) == (
            MOD.text,
            MOD.reason,
        )


def test_module_members_are_refused_with_the_reason() -> None:
    for name in vars(IRModule()):
        with pytest.raises(UnparsedModuleError, match=r"text only.*another dialect"):
            getattr(MOD, name)
    with pytest.raises(AttributeError, match="no attribute 'x'"):
        _ = MOD.x
    with pytest.raises(UnparsedModuleError):
        MOD.copy()
    with pytest.raises(UnparsedModuleError):
        _ = "main" in MOD
