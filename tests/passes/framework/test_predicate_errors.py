"""A check that raises: the error names a cause only if the check accepts the call without this
cause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from byoc_lab import backends, explain_patterns, relay, trace
from byoc_lab.errors import PredicateError
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.ir.expr import Call, Op
from byoc_lab.relay.patterns import is_op, wildcard
from tests.lab.explaining.pieces import CONV, CONV_RELU, bias, conv, weight, x

COMPOSITE = "An operand of the match is a composite of 'npu.conv_relu', an earlier entry"
ORDER = "in either order: the check must look"


def error_of(check: Callable[[Any], Any], pattern: Any, body: relay.Expr, *names: str) -> str:
    first, second = names or ("npu.conv_relu", "npu.add")
    table = [(first, CONV_RELU), (second, pattern, check)]
    with pytest.raises(PredicateError) as caught:
        explain_patterns(table, IRModule.from_expr(body))
    return str(caught.value)


def name_of_all(root: Call) -> bool:
    """A check that reads op.name of every call in the match, which fails for composites."""
    todo: list[Any] = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, Call):
            assert node.op.name != "nn.relu of nothing"
            todo += node.args
    return True


ADD = is_op("add")(CONV, wildcard())
AFTER_RELU = is_op("add")(wildcard(), wildcard())


@pytest.mark.parametrize("pattern", [AFTER_RELU, is_op("tanh")(AFTER_RELU)])
def test_operand_made_by_an_earlier_entry_is_named(pattern: Any) -> None:
    body = relay.add(nn.relu(conv()), conv())
    text = error_of(name_of_all, pattern, relay.tanh(body))
    assert "raised AttributeError" in text and COMPOSITE in text
    assert ORDER not in text


def test_operand_is_not_named_if_the_check_also_raises_without_it() -> None:
    def broken(root: Call) -> bool:
        return bool(root.args[7])

    text = error_of(broken, AFTER_RELU, relay.add(nn.relu(conv()), conv()))
    assert "raised IndexError" in text
    assert COMPOSITE not in text and ORDER not in text


def test_operand_order_is_named_if_the_check_accepts_the_other_order() -> None:
    def left(root: Call) -> bool:
        return bool(root.args[0].attrs.groups == 1)

    text = error_of(left, ADD, relay.add(weight(4, 1, 1), conv()))
    assert ORDER in text and COMPOSITE not in text
    text = error_of(lambda root: left(root.args[0]), is_op("tanh")(ADD), relay.tanh(
        relay.add(weight(4, 1, 1), conv())
    ))  # fmt: skip
    assert ORDER in text


def test_operand_order_is_not_named_if_no_other_order_matches() -> None:
    text = error_of(lambda root: root.args[0].attrs.no_such_field, ADD, bias(conv()))
    assert "raised" in text and ORDER not in text


@pytest.mark.parametrize("names", [("npu.a", "npu.b"), ("npu.a", "npu.a")])
def test_error_names_the_back_end_and_the_entry(names: tuple[str, str]) -> None:
    text = error_of(lambda root: root.args[7], AFTER_RELU, relay.add(x(), conv()), *names)
    assert text.startswith(f"back end 'npu': the check of the pattern '{names[1]}")


def test_advice_names_the_operator_of_a_call() -> None:
    def asks(root: Call) -> bool:
        return all(not isinstance(a, Call) or isinstance(a.op, Op) for a in root.args)

    body = relay.add(nn.relu(conv()), conv())
    table = [("npu.conv_relu", CONV_RELU), ("npu.add", AFTER_RELU, asks)]
    assert explain_patterns(table, IRModule.from_expr(body))["npu.add"].status == "shadowed"


def test_predicate_error_names_the_composite_operand() -> None:
    def predicate(call: Call) -> bool:
        return bool(call.args[0].op.name != "nn.dense")

    backends.register("npu", patterns=[("npu.conv_relu", CONV_RELU)], supports={"add": predicate})
    try:
        error = trace(IRModule.from_expr(relay.add(nn.relu(conv()), conv())), "npu").error
    finally:
        backends.unregister("npu")
    text = str(error)
    assert "the predicate of add raised AttributeError" in text
    assert "An operand is a composite of 'npu.conv_relu', which MergeComposite made: about" in text
