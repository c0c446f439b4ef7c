"""What `make slow ONE_IN=N` runs."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import sweeps

LITERAL = re.compile(r"max_examples=\d")


def test_of_tests_that_differ_in_parameters_each_nth_runs() -> None:
    names = [
        "a.py::one",
        *(f"a.py::many[{n}-x[0]]" for n in range(7)),
        "b.py::many[0]",
        "a.py::two",
    ]
    items: list[Any] = [SimpleNamespace(nodeid=name) for name in names]
    assert list(sweeps.one_in(items, 1)) == items
    kept = [item.nodeid for item in sweeps.one_in(items, 3)]
    assert kept == [names[n] for n in (0, 1, 4, 7, 8, 9)]


def test_all_tests_that_draw_examples_run() -> None:
    @given(st.none())
    def draws(_: None) -> None: ...

    items: list[Any] = [SimpleNamespace(nodeid=f"a.py::it[{n}]", obj=draws) for n in range(4)]
    assert list(sweeps.one_in(items, 3)) == items


@pytest.mark.parametrize(("count", "tried"), [(1, 1), (8, 1), (9, 2), (4000, 500)])
def test_a_test_tries_at_least_one(count: int, tried: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "ONE_IN", 8)
    assert sweeps.some(count) == tried


def test_every_number_of_examples_can_be_divided() -> None:
    files = Path(__file__).parent.rglob("*.py")
    literal = [str(path) for path in files if LITERAL.search(path.read_text(encoding="utf-8"))]
    assert literal == [], "write max_examples=some(N)"
