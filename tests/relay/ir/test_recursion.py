"""Recursive functions as generators, which need no call stack."""

from __future__ import annotations

import pytest

from byoc_lab.relay.ir.recursion import RecursiveRule, run


def total(number: int) -> RecursiveRule:
    if number == 0:
        return 0
    below = yield total(number - 1)
    return number + below


def test_recursion_depth_needs_no_stack() -> None:
    assert run(total(100_000)) == 100_000 * 100_001 // 2


def test_recursion_depth_can_be_limited() -> None:
    def too_deep() -> None:
        raise ValueError("too deep")

    assert run(total(8), 10, too_deep) == 36
    with pytest.raises(ValueError, match="too deep"):
        run(total(9), 10, too_deep)


def test_exception_ends_the_recursion() -> None:
    def failing() -> RecursiveRule:
        yield total(3)
        raise KeyError("inner")

    with pytest.raises(KeyError, match="inner"):
        run(failing())
