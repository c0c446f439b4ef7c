"""Changes that `explain` proposes for patterns and modules that do not match."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from byoc_lab import backends, relay, trace, transform
from byoc_lab.lab.explaining import explain
from byoc_lab.passes import SimplifyInference
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.patterns import (
    DFPattern,
    is_constant,
    is_op,
    is_tuple,
    is_tuple_get_item,
)
from tests.lab.explaining.pieces import (
    CONV,
    NPU,
    Any_,
    bias,
    conv,
    entry,
    only,
    steps,
    told,
    weight,
    x,
)

CONV_ = is_op("nn.conv2d")(Any_(), Any_())

pytestmark = pytest.mark.usefixtures("back_end")


def test_change_of_one_group_is_given_for_each_group_that_it_offloads() -> None:
    product = is_op("multiply")(Any_(), Any_())
    over = (is_op("nn.relu") | is_op("tanh"))(Any_())
    value = conv()
    table = [entry("dom", product.dominates(CONV, over))]
    found = told(table, nn.relu(value) * relay.erf(value))
    assert len(found.groups) > 2 and all(not e.offloaded for e in found)
    assert {g.change.what for g in found.groups} == {
        f"in the pattern {NPU}.dom, accept erf in place of nn.relu or tanh, if the code generator "
        f"has it"
    }
    assert all(g.offloads == len(g) for g in found.groups)
    assert "none of the changes" not in str(found)


CONV_OF_CONSTANT = is_op("nn.conv2d")(Any_(), is_constant())
FORMS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "another layout": (lambda root: root.attrs.data_layout == "NHWC", "ConvertLayout"),
    "float16": (lambda root: root.checked_type.dtype == "float16", "ToMixedPrecision('float16')"),
}


@pytest.mark.parametrize("form", FORMS)
def test_usual_conversions_are_tried_as_changes(form: str) -> None:
    check, words = FORMS[form]
    found = only(told([entry("conv", CONV_OF_CONSTANT, check)], conv()), "nn.conv2d")
    assert found.cause == "check"
    assert found.change is not None and words in found.change.what
    assert found.change.region and found.change.keeps_numbers == (words == "ConvertLayout")


@pytest.mark.parametrize(("level", "raised"), [(2, True), (3, False)])
def test_conversion_above_the_optimization_level_is_suggested_with_the_level(
    level: int, raised: bool
) -> None:
    backends.register(NPU, supports={"nn.conv2d": lambda call: call.attrs.data_layout == "NHWC"})
    passes = ["InferType", transform.AnnotateTarget(NPU), "PartitionGraph"]
    with transform.PassContext(opt_level=level):
        found = explain(IRModule.from_expr(conv()), NPU, pipeline=passes)
    change = only(found, "nn.conv2d").change
    assert change is not None and "before AnnotateTarget" in change.what
    assert ("under PassContext(opt_level=3)" in change.what) == raised
    with change.setup.context:
        run = trace(change.setup.mod, list(change.setup.passes))
    assert any("Compiler" in f.attrs for f in run.result.functions.values())


def test_conversion_without_effect_is_not_suggested() -> None:
    found = told([entry("conv", CONV_OF_CONSTANT, lambda root: False)], bias(conv()))
    assert only(found, "nn.conv2d").change is None


@pytest.mark.parametrize("between", ["add", "tanh", "reversed subtract"])
def test_operator_between_two_pattern_operators_is_accepted_by_the_proposed_pattern(
    between: str,
) -> None:
    """Without its second operator the pattern would match, too, but leave that operator to the
    host."""
    value = conv()
    middle = {
        "add": bias(value), "tanh": relay.tanh(value),
        "reversed subtract": relay.subtract(weight(4, 1, 1), value),
    }[between]  # fmt: skip
    found = told([entry("all", is_op("nn.relu")(CONV))], nn.relu(middle))
    name = between.rpartition(" ")[-1]
    (words,) = {str(g.change) for g in found.groups}
    assert words.startswith(f"in the pattern {NPU}.all, accept {name} after nn.conv2d")
    assert all(g.offloads == len(g) for g in found.groups)


def test_change_names_each_operator_that_it_computes_twice() -> None:
    summed = bias(conv())
    table = [entry("all", is_op("nn.relu")(is_op("add")(CONV, Any_())))]
    change = only(told(table, relay.exp(nn.relu(summed)) * summed), "nn.relu").change
    assert change is not None and change.what == (
        "compute add (%1) a second time for its users outside of the match, and for it nn.conv2d "
        "(%0)"
    )
    text = str(change.setup.mod)
    assert text.count("nn.conv2d(") == 2 and text.count("add(") == 2


@pytest.mark.parametrize(
    ("pattern", "body", "words"),
    [
        (
            is_op("subtract")(CONV_, Any_()),
            lambda: relay.subtract(x(1, 4, 8, 8, name="y"), conv()),
            "accept the operands of subtract in either order",
        ),
        (
            is_op("nn.relu")(is_op("nn.bias_add")(CONV_, Any_())),
            lambda: nn.relu(conv()),
            "make nn.bias_add optional",
        ),
        (
            is_op("nn.conv2d")(Any_(), is_constant()),
            lambda: nn.conv2d(x(1, 4, 8, 8), nn.relu(x(4, 4, 3, 3, name="w"))),
            "accept any value in place of a constant",
        ),
    ],
)
def test_change_of_a_pattern_is_conditional_on_the_code_generator(
    pattern: DFPattern, body: Callable[[], relay.Expr], words: str
) -> None:
    """The trial shows that the pattern then matches, not that code can be generated for it."""
    told_of = told([entry("all", pattern)], body())
    changes = {e.change.what for e in told_of if e.change is not None}
    assert any(words in what and "if the code generator" in what for what in changes)


def test_operand_that_stops_a_match_has_the_reason_and_change_of_the_match() -> None:
    """Alone, it matches the end of the same pattern, whose other parts are not near it."""
    half = is_op("multiply")(Any_(), is_constant())
    erf = is_op("erf")(is_op("divide")(Any_(), is_constant()))
    table = [entry("gelu", is_op("multiply")(is_op("add")(erf, is_constant()), half))]
    data, k = x(4), weight(1)
    found = told(table, (relay.erf(data * k) + k) * (data * k))
    assert len({e.reason for e in found}) == 1
    assert all("expects divide as an operand of erf" in e.reason for e in found)
    assert all(e.change is not None and "accept multiply" in e.change.what for e in found)


def halves() -> tuple[relay.Expr, relay.Expr, relay.Expr]:
    """The two halves of a tensor, and a chain that contains one of them."""
    first, second = relay.split(relay.exp(x()), 2, axis=1)
    return first, second, nn.relu(first)


FIRST_HALF = is_tuple_get_item(is_op("split")(is_op("exp")(Any_())), 0)
JOINED = is_op("concatenate")(is_tuple([is_op("tanh")(Any_()), Any_()]))


def split_in_two() -> relay.Expr:
    _, second, chain = halves()
    return chain * relay.tanh(second)


def split_with_all_values_outside() -> relay.Expr:
    first, second, chain = halves()
    return relay.Tuple([chain * second, relay.tanh(second), relay.sigmoid(chain), first])


def joined_twice(again: bool) -> relay.Expr:
    both = relay.Tuple([relay.tanh(x()), x(name="y")])
    other = relay.concatenate(both, axis=0) if again else both.fields[0]
    return relay.Tuple([nn.relu(relay.concatenate(both, axis=1)), relay.abs(other)])


@pytest.mark.parametrize("simplified", [False, True])
@pytest.mark.parametrize(
    ("pattern", "body", "values"),
    [
        (is_op("nn.relu")(FIRST_HALF), split_in_two, "split (%1)"),
        (
            is_op("multiply")(is_op("nn.relu")(FIRST_HALF), Any_()),
            split_with_all_values_outside,
            "split (%1), field 0 of split (%2) and nn.relu (%3)",
        ),
        (is_op("nn.relu")(JOINED), lambda: joined_twice(False), "tanh (%0)"),
        (is_op("nn.relu")(JOINED), lambda: joined_twice(True), "a tuple of 2 (%1)"),
    ],
)
def test_change_computes_values_of_a_match_twice_through_tuples_and_fields(
    pattern: DFPattern, body: Callable[[], relay.Expr], values: str, simplified: bool
) -> None:
    """simplified: a pass recreates all nodes before patterns are matched."""
    whole = body()
    if simplified:
        whole = relay.bind(whole, {v: nn.dropout(v) for v in relay.analysis.free_vars(whole)})
    passes = [SimplifyInference()] * simplified
    backends.register(NPU)
    pipeline = steps(*passes, table=[entry("part", pattern)])()
    for one in explain(IRModule.from_expr(whole), NPU, pipeline=pipeline):
        if one.cause == "outside-user":
            assert one.change is not None and "a second time for " in one.change.what
            assert simplified or one.change.what.startswith(f"compute {values} a second time")
            assert one.change.region and one.change.keeps_numbers
            break
    else:
        pytest.fail("no match has a value that is used outside")
