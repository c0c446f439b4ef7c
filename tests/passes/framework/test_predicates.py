"""Predicates and checks of back ends: return values, and errors that name the back end and the
call."""

from __future__ import annotations

from typing import Any

import pytest

from byoc_lab import relay
from byoc_lab.errors import PassError, PredicateError
from byoc_lab.passes.framework.predicates import ask_check, ask_operator, checked_entry
from byoc_lab.relay.patterns import is_op, wildcard

CALL = relay.abs(relay.var("x", shape=(2,)))
PATTERN = is_op("abs")(wildcard())


def test_return_values_are_passed_on() -> None:
    assert ask_check(lambda expr: expr is CALL, CALL, "mychip.abs") is True
    assert ask_operator(lambda expr: False, CALL, "mychip") is False


def test_predicate_that_raises_is_reported_with_its_call() -> None:
    def broken(expr: object) -> bool:
        raise KeyError("groups")

    with pytest.raises(PredicateError, match=r"back end 'mychip': .*'mychip\.abs'.*abs") as caught:
        ask_check(broken, CALL, "mychip.abs")
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(PredicateError, match="back end 'mychip': the predicate of abs raised KeyE"):
        ask_operator(broken, CALL, "mychip")


def test_valid_pattern_table_entries_are_completed() -> None:
    assert checked_entry(0, ("a.b", PATTERN)) == ("a.b", PATTERN, None)
    assert checked_entry(0, ("a.b", PATTERN, bool)) == ("a.b", PATTERN, bool)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("a.b", r"entry 4 .* must be \(name, pattern\)"),
        ((PATTERN, "a.b"), "must begin with the pattern's name, a str"),
        (("a.b", "nn.conv2d"), r"'a\.b' needs a pattern, found str 'nn\.conv2d'"),
        (("a.b", PATTERN, 3), r"the check of 'a\.b' must be a function .* found int 3"),
    ],
)
def test_invalid_pattern_table_entry_raises_pass_error(entry: Any, message: str) -> None:
    with pytest.raises(PassError, match=message):
        checked_entry(4, entry)
