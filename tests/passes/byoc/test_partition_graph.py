"""PartitionGraph: arguments, errors and events; golden files (PartitionGraph/*) have its
modules."""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import InputError, PartitionError
from tests.parity.golden import golden_test


@pytest.mark.parametrize(
    ("mod_name", "name"),
    [("net 1", "tvmgen_net_1_A_main_0"), ("", "tvmgen_A_main_0"), (None, "tvmgen_A_main_0")],
)
def test_module_name_is_a_prefix_of_function_names(mod_name: str | None, name: str) -> None:
    x = relay.var("x", shape=(2,))
    region = relay.annotation.compiler_end(
        relay.nn.relu(relay.annotation.compiler_begin(x, "A")), "A"
    )
    mod = relay.transform.InferType()(relay.IRModule.from_expr(region))
    cut = relay.transform.PartitionGraph(mod_name)(mod)
    assert sorted(gv.name_hint for gv in cut.get_global_vars()) == ["main", name]


def test_module_name_with_other_than_ascii_letters_is_refused() -> None:
    with pytest.raises(InputError, match="contains invalid characters"):
        relay.transform.PartitionGraph("café")


def test_region_that_depends_on_its_result_through_a_let_is_refused() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y")
    first = relay.exp(relay.annotation.compiler_begin(x, "A"))
    last = relay.add(first, relay.annotation.compiler_begin(y, "A"))
    outside = relay.erf(relay.annotation.compiler_end(first, "A"))
    mod = relay.IRModule.from_expr(relay.Let(y, outside, relay.annotation.compiler_end(last, "A")))
    with pytest.raises(PartitionError, match=r"a region depends on its own result: .*erf"):
        relay.transform.PartitionGraph()(mod)


def test_event_names_the_inputs_and_outputs_of_a_region() -> None:
    x = relay.var("x", shape=(2, 2))
    opened = relay.annotation.compiler_begin(x, "A")
    first = relay.nn.relu(opened)
    ends = [relay.annotation.compiler_end(v, "A") for v in (first, relay.exp(first))]
    mod = relay.IRModule.from_expr(relay.Tuple(ends))
    stage = byoc_lab.trace(mod, ["InferType", "PartitionGraph"])[-1]
    added, *outlined, renamed = stage.events
    assert str(added) == (
        "@A_main_0: add function: function A_main_0 "
        "(region 0 of A computes nn.relu(...), exp(...) from variable %x)"
    )
    assert [e.rule for e in outlined] == ["outline", "outline"]
    assert (renamed.rule, renamed.function) == ("rename", "tvmgen_default_A_main_0")


def test_event_counts_the_constants_of_a_region_with_many_inputs() -> None:
    value: relay.Expr = relay.annotation.compiler_begin(relay.var("x", shape=(2, 2)), "A")
    for n in range(9):
        constant = relay.annotation.compiler_begin(relay.const(np.full((2, 2), n, "float32")), "A")
        value = relay.add(value, constant)
    mod = relay.IRModule.from_expr(relay.annotation.compiler_end(value, "A"))
    added, *_ = byoc_lab.trace(mod, ["InferType", "PartitionGraph"])[-1].events
    assert added.reason == "region 0 of A computes add(...) from variable %x, 9 constants"


# Golden files

test_golden = golden_test("PartitionGraph")
