"""Statistics of a wrong form are named, and nothing of them is used."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from byoc_lab.run.metering.reported_stats import reported_stats


def said(value: Any) -> Any:
    return reported_stats(SimpleNamespace(stats=lambda: value))


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"calls": 3, "threads": None},
        {"ops": [{"name": "a", "impl": None, "time_us": 1.5, "post_ops_fused": ["relu"]}]},
        {"ops": ({"name": "a", "time_us": None, "more": object()},)},
    ],
)
def test_valid_statistics_are_accepted(found: dict[str, Any]) -> None:
    assert said(found) == (found, "")


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (None, "expected a dict, found None"),
        ([], r"expected a dict, found \[\]"),
        ({"calls": "many"}, "calls: expected a number from 0, found 'many'"),
        ({"calls": -3}, "calls: expected a number from 0, found -3"),
        ({"calls": 0.5}, "calls: expected a number from 0, found 0.5"),
        ({"ops": None}, "ops: expected a list, found None"),
        ({"ops": [1]}, r'ops\[0\]: expected a dict with a "name", found 1'),
        ({"ops": [{"name": "a"}, {}]}, r'ops\[1\]: expected a dict with a "name"'),
        ({"ops": [{"name": "a", "impl": 4}]}, "impl: expected a text, found 4"),
        ({"ops": [{"name": "a", "time_us": float("nan")}]}, "time_us: expected a number from 0"),
        ({"ops": [{"name": "a", "bytes": "x"}]}, "bytes: expected a number from 0, found 'x'"),
        ({"ops": [{"name": "a", "post_ops_fused": None}]}, "post_ops_fused: expected a list"),
    ],
)
def test_invalid_statistics_are_replaced_with_the_reason(found: Any, fault: str) -> None:
    stats, text = said(found)
    assert stats == {} and text.startswith("its statistics are invalid: ")
    with pytest.raises(AssertionError, match=fault):
        raise AssertionError(text)
