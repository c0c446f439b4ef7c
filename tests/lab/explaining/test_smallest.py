"""Property tests of explanations fail with the smallest case."""

from __future__ import annotations

from collections import Counter

import pytest

from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.visit import post_order
from tests.lab.explaining.random_tables import Drawn, drawn
from tests.lab.explaining.smallest import examine


def operators(case: Drawn) -> Counter[str]:
    return Counter(n.op_name for n in post_order(case.mod["main"]) if isinstance(n, Call))


def test_false_statement_fails_with_the_smallest_module_table_and_script() -> None:
    case = next(c for c in map(drawn, range(100)) if operators(c)["tanh"] and len(c.table) > 2)

    def no_tanh_with_a_table(one: Drawn) -> None:
        assert not (operators(one)["tanh"] and one.table), "found a tanh"

    with pytest.raises(AssertionError, match="found a tanh") as told:
        examine(case, no_tanh_with_a_table)
    smallest = str(told.value).partition("smallest: ")[2].partition("\n[")
    assert sum(map(smallest[0].count, ("(%", "(meta["))) == 2  # operators of @main and of one call
    assert "  tanh(%" in smallest[0]
    assert smallest[2].partition("\n")[0].count("('random_of_tests.") == 1
    assert "HOLDS = " in str(told.value) and "TABLE = []" in str(told.value)


def test_examine_returns_the_result_of_the_examined_function() -> None:
    assert examine(drawn(3), operators) == operators(drawn(3))
