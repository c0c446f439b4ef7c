"""`Language`: byoc_lab's functions accept modules of a third language as they accept Relay's."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import byoc_lab
from byoc_lab.errors import ArgumentError
from byoc_lab.lab.language import Language
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir import foreign
from byoc_lab.relay.ir.foreign import ForeignModule

METHODS = sorted(Language.__abstractmethods__)


class Asked(Exception):
    """Raised when a method is called."""


def _asks(name: str) -> Any:
    def method(self: Any, *args: Any, **options: Any) -> None:
        raise Asked(name)

    return method


def _language(*methods: str) -> Any:
    return type("ToyModule", (ForeignModule, Language), {name: _asks(name) for name in methods})


@pytest.fixture
def mod(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of a language other than Relay, registered by the package `toy`."""

    def read(obj: Any) -> ForeignModule:
        made: ForeignModule = _language(*METHODS)("toy", {}, {}, ["a line"], [])
        made.source = obj
        return made

    monkeypatch.setitem(foreign.READERS, "toy", lambda: read)
    return type("Program", (), {"__module__": "toy.ir"})()


FUNCTIONS = {
    "trace": partial(byoc_lab.trace, pipeline="toy"),
    "lint": byoc_lab.lint,
    "fix": byoc_lab.fix,
    "explain": partial(byoc_lab.explain, target="toy"),
    "explain_patterns": partial(byoc_lab.explain_patterns, []),
    "coverage": partial(byoc_lab.coverage, backend="toy"),
    "checker": partial(byoc_lab.validate, after=None),
    "run_passes": byoc_lab.bisect,
}


def test_each_method_of_a_language_has_its_function() -> None:
    assert sorted(FUNCTIONS) == METHODS


@pytest.mark.parametrize("method", FUNCTIONS)
def test_function_calls_the_method_of_the_module_s_language(mod: Any, method: str) -> None:
    with pytest.raises(Asked, match=f"^{method}$"):
        FUNCTIONS[method](mod)


def test_explain_patterns_takes_modules_of_one_language(mod: Any) -> None:
    for modules, found in (([mod, IRModule()], "toy"), ([IRModule(), mod, mod], "relay")):
        text = f"one language, found 1 of {found} among {len(modules)}"
        with pytest.raises(ArgumentError, match=text):
            byoc_lab.explain_patterns([], modules)
    assert list(byoc_lab.explain_patterns([], [])) == []


@pytest.mark.parametrize("missing", METHODS)
def test_language_without_a_method_cannot_be_created(missing: str) -> None:
    incomplete = _language(*(name for name in METHODS if name != missing))
    with pytest.raises(TypeError, match=missing):
        incomplete("toy", {}, {}, [], [])
