"""`reduce` reduces pattern tables together with the module."""

from __future__ import annotations

from typing import Any

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.errors import ArgumentError
from byoc_lab.lab.reducing.tables import simpler_patterns, smaller_tables, table_size
from byoc_lab.passes import MergeComposite
from byoc_lab.relay import IRModule
from byoc_lab.relay.dataflow_pattern import is_constant, is_op, wildcard
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.visit import post_order
from tests.lab.reducing.networks import convolution, operators

Table = list[tuple[Any, ...]]


def conv_relu() -> Any:
    conv = is_op("nn.conv2d")(wildcard(), wildcard()).has_attr({"groups": 1})
    biased = conv.optional(lambda x: is_op("nn.bias_add")(x, is_constant()))
    return is_op("nn.relu")(biased | is_op("add")(biased, wildcard()))


def matched(mod: IRModule, table: Table) -> bool:
    """Whether a pattern of the table forms a composite with a relu."""
    main = MergeComposite(table)(mod)["main"]
    return any(
        isinstance(node, Function)
        and "Composite" in node.attrs
        and "nn.relu" in operators(IRModule.unchecked(node))
        for node in post_order(main.body)
    )


def network() -> IRModule:
    x, w = relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3))
    return IRModule.from_expr(relay.tanh(relay.nn.relu(relay.nn.conv2d(relay.abs(x), w))))


def test_entries_and_parts_of_patterns_are_removed() -> None:
    table = [
        ("mine.dense", is_op("nn.dense")(wildcard(), wildcard())),
        ("mine.conv_relu", conv_relu(), lambda call: True),
        *((f"mine.{name}", is_op(name)(wildcard())) for name in ("tanh", "abs", "exp")),
    ]
    found = byoc_lab.reduce(network(), matched, table=table)
    assert operators(found.module) == ["nn.relu"]
    assert found.table is not None and [len(entry) for entry in found.table] == [2]
    ((name, pattern),) = found.table
    assert name == "mine.conv_relu"
    assert pattern.op_name() == "nn.relu" and not pattern.args[0].children()
    assert "with the pattern table:\nmine.conv_relu: " in str(found)
    assert found.minimal and not any(
        matched(found.module, list(smaller)) for _, smaller in smaller_tables(found.table)
    )


def test_part_that_the_predicate_requires_stays() -> None:
    def fused(mod: IRModule, table: Table) -> bool:
        text = str(MergeComposite(table)(mod))
        return "Composite" in text and {"nn.relu", "nn.conv2d"} <= set(operators(mod)) and (
            "nn.conv2d" in repr(table)
        )  # fmt: skip

    found = byoc_lab.reduce(network(), fused, table=[("mine.conv_relu", conv_relu())])
    assert found.table is not None
    assert "AttrPattern" not in repr(found.table) and "nn.conv2d" in repr(found.table)
    assert "AltPattern" not in repr(found.table)


def test_table_of_dnnl_is_reduced_to_one_entry() -> None:
    table = [entry[:2] for entry in dnnl.pattern_table()]

    def biased(mod: IRModule, table: Table) -> bool:
        return 'Composite="dnnl.conv2d_bias' in str(MergeComposite(table)(mod))

    mod = relay.transform.InferType()(convolution())
    assert biased(mod, table)
    found = byoc_lab.reduce(mod, biased, table=table)
    assert found.table is not None and len(found.table) == 1
    assert found.calls <= 200


def test_reduced_tables_are_never_larger() -> None:
    table = (("a", conv_relu()), ("b", conv_relu(), lambda call: True), ("c", wildcard()))
    sizes = [table_size(smaller) for _, smaller in smaller_tables(table)]
    assert sizes and all(size <= table_size(table) for size in sizes)
    steps = [step for step, _ in simpler_patterns(conv_relu())]
    assert any("AltPattern" in step for step in steps) and any("AttrPattern" in s for s in steps)


def test_script_marks_where_to_write_the_table() -> None:
    table = [("mine.conv_relu", conv_relu())]
    found = byoc_lab.reduce(network(), lambda mod, smaller: matched(mod, smaller), table=table)
    script = found.script()
    assert "# WRITE THE PATTERN TABLE HERE" in script and "# mine.conv_relu: " in script
    assert "predicate(mod, TABLE)" in script
    names: dict[str, Any] = {}
    exec(script.partition("HOLDS = ")[0], names)
    with pytest.raises(NotImplementedError, match="write the predicate into this script"):
        names["predicate"](found.module, names["TABLE"])


def test_invalid_tables_are_refused() -> None:
    for table in (3, [("name",)], [("name", 3)], "text"):
        with pytest.raises(ArgumentError, match="table must be a list"):
            byoc_lab.reduce(network(), matched, table=table)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="predicates that are functions"):
        byoc_lab.reduce(network(), "finding:BYL002", table=[])
