"""Legalize: functions registered for operators, set and removed by a back end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.relay import IRModule
from byoc_lab.transform import AlterOpLayout, InferType, Legalize
from tests import image_strategies as images
from tests.parity.golden import golden_test
from tests.passes.layout.networks import calls, net

ATTRIBUTE = "FTestLegalize"


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    yield
    relay.op.get("exp").reset_attr(ATTRIBUTE)


def _module() -> IRModule:
    x = relay.var("x", shape=(2, 3))
    return InferType()(IRModule.from_expr(relay.exp(relay.exp(x))))


def test_operator_without_a_function_is_unchanged() -> None:
    mod = _module()
    assert Legalize(ATTRIBUTE)(mod) is mod


def test_function_gets_rewritten_arguments_and_types() -> None:
    seen = []

    def by_sigmoid(attrs: object, inputs: list, types: list) -> relay.Call:
        seen.append((attrs, [t.shape for t in types], inputs[0].op_name if seen else "x"))
        return relay.sigmoid(inputs[0])

    relay.op.get("exp").set_attr(ATTRIBUTE, by_sigmoid)
    after = Legalize(ATTRIBUTE)(_module())
    assert [op.name for op in relay.analysis.all_ops(after["main"])] == ["sigmoid"]
    assert seen == [(None, [(2, 3), (2, 3)], "x"), (None, [(2, 3), (2, 3)], "sigmoid")]


def test_legalization_that_returns_no_call_raises_pass_error() -> None:
    relay.op.get("exp").set_attr(ATTRIBUTE, lambda attrs, inputs, types: types[0])
    with pytest.raises(PassError, match="FTestLegalize of exp must give a call or None, found"):
        Legalize(ATTRIBUTE)(_module())


def test_clip_to_the_full_range_of_requantize_is_removed() -> None:
    x, one, zero = relay.var("x", shape=(4,), dtype="int32"), relay.const(1.0), relay.const(0)
    small = relay.qnn.op.requantize(x, one, zero, one, zero, out_dtype="int8")
    for body, left in (
        (relay.clip(small, -128, 127), "qnn.requantize"),
        (relay.clip(small, -127, 127), "clip"),
        (relay.clip(relay.cast(x, "int8"), -128, 127), "clip"),
    ):
        assert Legalize()(IRModule.from_expr(body))["main"].body.op.name == left


def test_legalize_uses_functions_of_the_given_attribute_name() -> None:
    op = relay.op.get("tanh")
    op.set_attr("mine", lambda attrs, args, types: relay.sigmoid(args[0]))
    try:
        assert calls(Legalize("mine")(net(relay.tanh)), "sigmoid")
        assert not calls(Legalize()(net(relay.tanh)), "sigmoid")
    finally:
        op.reset_attr("mine")


@pytest.mark.parametrize(
    ("make", "key"), [(Legalize, "FTVMLegalize"), (AlterOpLayout, "FTVMAlterOpLayout")]
)
def test_registered_layout_function_that_returns_no_call_raises_pass_error(
    make: type, key: str
) -> None:
    op = relay.op.get("nn.conv2d")
    op.set_attr(key, lambda attrs, args, *types: args[0])
    try:
        with pytest.raises(PassError, match=f"the {key} of nn.conv2d must give a call or None"):
            make()(net(lambda x: images.conv(x, 0)))
    finally:
        op.reset_attr(key)


# Golden files

test_golden = golden_test("Legalize")
