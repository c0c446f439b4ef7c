"""The selection of tests by `make slow ONE_IN=N`."""

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


def test_every_nth_test_of_a_file_runs() -> None:
    items: list[Any] = [
        SimpleNamespace(path=Path(name), number=number) for number, name in enumerate("abbbbbbba")
    ]
    assert list(sweeps.one_in(items, 1)) == items
    assert [item.number for item in sweeps.one_in(items, 3)] == [0, 1, 4, 7]


def test_all_tests_that_draw_examples_run() -> None:
    @given(st.none())
    def draws(_: None) -> None: ...

    items: list[Any] = [SimpleNamespace(path=Path("a"), obj=draws) for _ in range(4)]
    assert list(sweeps.one_in(items, 3)) == items


@pytest.mark.parametrize(("count", "tried"), [(1, 1), (8, 1), (9, 2), (4000, 500)])
def test_at_least_one_example_is_tried(
    count: int, tried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "ONE_IN", 8)
    monkeypatch.setattr(sweeps, "SHARE", 1)
    assert sweeps.some(count) == tried
    monkeypatch.setattr(sweeps, "SHARE", 3)
    assert sweeps.some(count) == -(-tried // 3)


def test_every_number_of_examples_is_written_with_some() -> None:
    files = Path(__file__).parent.rglob("*.py")
    literal = [str(path) for path in files if LITERAL.search(path.read_text(encoding="utf-8"))]
    assert literal == [], "write max_examples=some(N)"
