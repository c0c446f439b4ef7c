"""`explain` on the kinds of patterns: alternatives of operators, optional parts, dominators."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from byoc_lab import backends, relay, trace, transform
from byoc_lab.lab.explaining import Explanation, Explanations, explain, explain_patterns
from byoc_lab.passes import MergeComposite, SimplifyInference
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.patterns import (
    DFPattern,
    is_constant,
    is_op,
    is_tuple,
    is_tuple_get_item,
    wildcard,
)
from tests.lab.explaining.pieces import CONV, NPU, Any_, bias, conv, entry, steps, weight, x

ADDS = (is_op("add") | is_op("nn.bias_add"))(CONV, Any_())
BIAS_RELU = is_op("nn.relu")(CONV.optional(lambda v: is_op("nn.bias_add")(v, Any_())))
CONV_ = is_op("nn.conv2d")(Any_(), Any_())
OVER_PATH = (is_op("exp") | is_op("tanh"))(Any_())
DOMINATED = is_op("nn.relu")(Any_()).dominates(CONV, OVER_PATH)


@pytest.fixture(autouse=True)
def back_end() -> Iterator[None]:
    yield
    backends.register(NPU)  # from now on without patterns


def told(table: list[tuple[Any, ...]], body: relay.Expr) -> Explanations:
    backends.register(NPU, patterns=table)
    return explain(IRModule.from_expr(body), NPU)


def the(found: Explanations, operator: str) -> Explanation:
    (one,) = [e for e in found if e.name == operator]
    return one


CALLEES: dict[str, Callable[[], DFPattern]] = {
    "alternatives": lambda: ADDS,
    "nested alternatives": lambda: (is_op("add") | (is_op("subtract") | is_op("nn.bias_add")))(
        CONV, Any_()
    ),
    "attributes around alternatives": lambda: (is_op("add") | is_op("nn.bias_add")).has_attr(
        {"TOpPattern": 1}
    )(CONV, Any_()),
    "attributes inside alternatives": lambda: (
        is_op("add").has_attr({"TOpPattern": 1}) | is_op("nn.bias_add")
    )(CONV, Any_()),
    "alternatives around the call": lambda: (
        is_op("add")(CONV, Any_()) | is_op("nn.bias_add")(CONV, Any_())
    ),
    "any operator": lambda: wildcard()(CONV, Any_()),
    "a redirected wildcard": lambda: redirected(is_op("nn.bias_add"))(CONV, Any_()),
}


def redirected(to: DFPattern) -> DFPattern:
    pattern = wildcard()
    pattern.redirect_to(to)
    return pattern


@pytest.mark.parametrize("kind", CALLEES)
@pytest.mark.parametrize("accepts", [True, False])
def test_alternative_of_operators_is_supported_for_each_operator(kind: str, accepts: bool) -> None:
    table = [entry("conv_bias", CALLEES[kind](), lambda root: accepts)]
    found = told(table, nn.bias_add(conv(), weight(4)))
    assert [e.offloaded for e in found] == [accepts] * 2
    if not accepts:
        assert {e.cause for e in found} == {"check"}
        assert all("conv_bias refuses nn.bias_add" in e.reason for e in found)
        assert all(str(e.nearest).startswith(f"{NPU}.conv_bias (2 of 2") for e in found)


@pytest.mark.parametrize("kind", [k for k in CALLEES if k != "any operator"])
def test_no_pattern_is_the_cause_only_of_operators_in_no_pattern(kind: str) -> None:
    found = told([entry("conv_bias", CALLEES[kind]())], relay.tanh(conv()))
    assert the(found, "tanh").cause == "no-pattern"
    assert the(found, "nn.conv2d").cause == "sub-pattern"
    assert "nn.bias_add" in the(found, "nn.conv2d").expected
    assert "tanh" in the(found, "nn.conv2d").found


def test_pattern_table_with_alternatives_names_them() -> None:
    (entry_report,) = explain_patterns([("q.a", ADDS)], IRModule.from_expr(relay.tanh(x())))
    assert entry_report.reason == "no module has add or nn.bias_add"


# Missing user -----------------------------------------------------------------------------------


def qnn_conv(data: relay.Expr) -> relay.Expr:
    zero, one = relay.const(0, "int32"), relay.const(1.0, "float32")
    kernel = relay.const(np.ones((4, 4, 3, 3), "int8"))
    return relay.qnn.op.conv2d(data, kernel, zero, zero, one, one, (3, 3), 4, padding=(1, 1))


def qnn_requantize(value: relay.Expr) -> relay.Expr:
    zero, one = relay.const(0, "int32"), relay.const(1.0, "float32")
    return relay.qnn.op.requantize(value, one, zero, one, zero, out_dtype="int8")


def any_qconv() -> DFPattern:
    return is_op("qnn.conv2d")(*[Any_() for _ in range(6)])


QCONV = any_qconv()
QNN = is_op("qnn.requantize")(
    QCONV.optional(lambda v: is_op("nn.bias_add")(v, Any_())), *[Any_() for _ in range(4)]
)
MISSING: dict[str, tuple[DFPattern, Callable[[], relay.Expr], Callable[[Any], Any], str]] = {
    "optional": (BIAS_RELU, conv, nn.relu, "nn.relu"),
    "alternative": (
        is_op("nn.relu")(is_op("nn.bias_add")(CONV, Any_()) | CONV), conv, nn.relu, "nn.relu",
    ),
    "two optional parts": (
        is_op("nn.relu")(
            CONV.optional(lambda v: is_op("nn.bias_add")(v, Any_())).optional(is_op("tanh"))
        ),
        conv, nn.relu, "nn.relu",
    ),
    "int8": (
        QNN, lambda: qnn_conv(x(1, 4, 8, 8, dtype="int8")), qnn_requantize, "qnn.requantize"
    ),
    "int8, each alternative with its own convolution": (
        is_op("qnn.requantize")(
            is_op("nn.bias_add")(any_qconv(), Any_()) | any_qconv(), *[Any_() for _ in range(4)]
        ),
        lambda: qnn_conv(x(1, 4, 8, 8, dtype="int8")), qnn_requantize, "qnn.requantize",
    ),
    "after the optional part": (
        BIAS_RELU, lambda: nn.bias_add(conv(), weight(4)), nn.relu, "nn.relu"
    ),
    "end or path of a dominator": (DOMINATED, conv, nn.relu, "nn.relu"),
    "end of the path of a dominator": (
        DOMINATED, lambda: relay.tanh(conv()), nn.relu, "nn.relu"
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", MISSING)
@pytest.mark.parametrize("ends", [True, False], ids=["result", "used"])
def test_missing_user_completes_the_match(kind: str, ends: bool) -> None:
    pattern, build, missing, name = MISSING[kind]
    table = [entry("wanted", pattern)]
    body = build()
    found = told(table, body if ends else relay.copy(body))
    for one in found:
        if one.name == "copy":
            continue
        assert one.cause == "sub-pattern"
        assert re.split(", | or ", one.expected)[0] == name
        assert ("no user: it is the result of @main" in one.reason) == ends
        assert ("found copy" in one.reason) == (not ends)
    completed = told(table, missing(body))
    assert all(e.offloaded for e in completed), str(completed)


ELSEWHERE: dict[str, tuple[Callable[[], DFPattern], Callable[[], relay.Expr], str]] = {
    "operands of a call": (
        lambda: is_op("subtract")(is_op("exp")(Any_()), Any_()),
        lambda: relay.subtract(x(name="y"), relay.exp(x())),
        "expects exp as an operand of subtract (result of @main), found variable %y",
    ),
    "fields of a tuple": (
        lambda: is_op("concatenate")(is_tuple([is_op("exp")(Any_()), Any_()])),
        lambda: relay.concatenate([x(name="y"), relay.exp(x())], 1),
        "expects exp as an operand of a tuple of 2 (%1), found variable %y",
    ),
    "another value is there": (
        lambda: is_op("subtract")(is_op("exp")(Any_()), Any_()),
        lambda: relay.subtract(relay.exp(relay.sigmoid(x())), relay.exp(x())),
        "a part of the pattern that is not an operator, such as a wildcard, stands for exp",
    ),
}


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_existing_user_with_the_call_at_another_operand_is_not_expected(kind: str) -> None:
    pattern, build, reason = ELSEWHERE[kind]
    found = [e for e in told([entry("wanted", pattern())], build()) if e.name == "exp"]
    assert reason in found[-1].reason


def test_call_at_the_end_of_a_let_has_no_user() -> None:
    body = relay.Let(relay.var("unused"), relay.tanh(x()), conv())
    found = the(told([entry("conv_relu", BIAS_RELU)], body), "nn.conv2d")
    assert found.cause == "sub-pattern"
    assert "no user: it is the result of @main" in found.reason


def test_dominator_path_with_another_operator_names_it() -> None:
    found = told([entry("dom", DOMINATED)], relay.sin(relay.tanh(conv())))
    assert "found sin" in the(found, "nn.conv2d").reason
    assert "as the user of tanh" in the(found, "nn.conv2d").reason


def test_value_used_outside_a_dominator_is_named() -> None:
    inner = relay.tanh(conv())
    found = told([entry("dom", DOMINATED)], relay.Tuple([nn.relu(inner), inner]))
    for name in ("nn.conv2d", "tanh", "nn.relu"):
        assert "whose operands all come from one nn.conv2d" in the(found, name).expected


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


# Other forms of the module ------------------------------------------------------------------------

CONV_OF_CONSTANT = is_op("nn.conv2d")(Any_(), is_constant())
FORMS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "another layout": (lambda root: root.attrs.data_layout == "NHWC", "ConvertLayout"),
    "float16": (lambda root: root.checked_type.dtype == "float16", "ToMixedPrecision('float16')"),
}


@pytest.mark.parametrize("form", FORMS)
def test_usual_conversions_are_tried_as_changes(form: str) -> None:
    check, words = FORMS[form]
    found = the(told([entry("conv", CONV_OF_CONSTANT, check)], conv()), "nn.conv2d")
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
    change = the(found, "nn.conv2d").change
    assert change is not None and "before AnnotateTarget" in change.what
    assert ("under PassContext(opt_level=3)" in change.what) == raised
    with change.setup.context:
        run = trace(change.setup.mod, list(change.setup.passes))
    assert any("Compiler" in f.attrs for f in run.result.functions.values())


def test_conversion_without_effect_is_not_suggested() -> None:
    found = told([entry("conv", CONV_OF_CONSTANT, lambda root: False)], bias(conv()))
    assert the(found, "nn.conv2d").change is None


# Lets ---------------------------------------------------------------------------------------------

FLOAT = is_op("nn.relu")(is_op("nn.bias_add")(CONV, Any_()))
CONV1D = is_op("nn.relu")(is_op("nn.bias_add")(is_op("nn.conv1d")(Any_(), Any_()), Any_()))
INT8 = is_op("nn.relu")(is_op("nn.bias_add")(QCONV, Any_()))


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("ends", [True, False])
def test_nearest_pattern_contains_the_operator_that_a_let_binds(
    order: tuple[int, ...], ends: bool
) -> None:
    table = [entry("int8", INT8), entry("conv1d", CONV1D), entry("float", FLOAT)]
    variable = relay.var("y")
    last = nn.bias_add(variable, weight(4))
    found = told([table[n] for n in order], relay.Let(variable, conv(), nn.relu(last)))
    if ends:
        found = told([table[n] for n in order], relay.Let(variable, conv(), last))
    for one in found:
        assert str(one.nearest).startswith(f"{NPU}.float"), str(one)
        assert one.cause == ("sub-pattern" if ends else "let"), str(one)
        if ends:  # without the let, the final relu is still missing
            assert one.reason.endswith("found no user: it is the result of @main"), str(one)
        else:
            assert "which a let binds to nn.conv2d" in one.reason
            assert str(one.change) == "run ToGraphNormalForm before MergeComposite"
        if one.name == "nn.conv2d":
            assert one.change is not None and "ToGraphNormalForm" in one.change.what


def test_helpful_pass_does_not_hide_the_cause() -> None:
    inner = conv()
    both = relay.Tuple([nn.relu(inner), nn.relu(nn.dropout(inner, 0.5))])
    table = [
        entry("conv_relus", is_tuple([is_op("nn.relu")(CONV_), is_op("nn.relu")(CONV_)])),
        entry("conv_relu", is_op("nn.relu")(CONV)),
    ]
    found = the(told(table, both), "nn.conv2d")
    assert found.cause == "outside-user"
    assert "nn.dropout" in found.reason


def silu_of(value: DFPattern) -> DFPattern:
    return is_op("multiply")(value, is_op("sigmoid")(value))


def doubled_beside_an_optional_part(value: DFPattern) -> DFPattern:
    clipped = is_op("nn.relu")(Any_()).optional(is_op("exp"))
    return is_op("add")(clipped, is_op("multiply")(value, value))


@pytest.mark.parametrize(
    ("pattern", "of", "parts", "first"),
    [
        (silu_of, lambda a, b: a * relay.sigmoid(b), "2 of 3", "one value in all places"),
        (
            lambda value: is_op("tanh")(silu_of(value)),
            lambda a, b: relay.exp(a * relay.sigmoid(b)),
            "2 of 4",
            "tanh",
        ),
        (
            lambda value: is_op("subtract")(silu_of(value), is_op("exp")(Any_())),
            lambda a, b: relay.subtract(a * relay.sigmoid(b), relay.tanh(a)),
            "3 of 5",
            "exp",
        ),
        (
            doubled_beside_an_optional_part,
            lambda a, b: relay.add(nn.relu(a), a * b),
            "3 of 4",
            "one value in all places of one pattern (anything",
        ),
    ],
)
def test_violated_condition_on_a_shared_value_counts_as_one_unmatched_part(
    pattern: Callable[[DFPattern], DFPattern],
    of: Callable[[Any, Any], relay.Expr],
    parts: str,
    first: str,
) -> None:
    a, b = relay.var("a", shape=(4,)), relay.var("b", shape=(4,))
    missed = told([entry("shared", pattern(Any_()))], of(a, b))
    one = next(e for e in missed if e.cause == "sub-pattern")
    assert str(one.nearest) == f"{NPU}.shared ({parts} parts match)"
    assert one.expected is not None and one.expected.startswith(first)
    right = told([entry("shared", pattern(Any_()))], of(a, a))
    of_same = next(e for e in right if e.name == one.name)
    if first.startswith("one value"):
        assert one.change is not None and "write a separate pattern (anything)" in one.change.what
        assert of_same.status == "offloaded"
    else:  # only the other mismatch is left
        matched, _, total = parts.split(" ")
        assert of_same.nearest is not None
        assert (of_same.nearest.matched, of_same.nearest.total) == (int(matched), int(total) - 1)


def test_composite_of_constants_alone_has_no_operand_to_annotate() -> None:
    table = [entry("sum", is_op("nn.relu")(is_op("add")(is_constant(), is_constant())))]
    one = told(table, x(4) * nn.relu(weight(4) + weight(4)))[0]
    assert one.reason.endswith(
        f"{NPU}.sum matches constants alone: its composite has no operands, and AnnotateTarget "
        f"begins a region at operands"
    )
    assert (one.expected, one.found) == ("an operand that is not a constant", "constants")
    assert one.change is not None and one.change.what.startswith("run FoldConstant before")


@pytest.mark.parametrize(
    "pattern",
    [Any_(), Any_() | is_op("nn.relu")(Any_()), Any_().optional(lambda p: is_op("tanh")(p))],
)
@pytest.mark.parametrize("accepts", [True, False])
def test_pattern_that_accepts_any_expression_matches_the_function(
    pattern: DFPattern, accepts: bool
) -> None:
    table = [entry("any", pattern, lambda e: accepts)]
    (one,) = told(table, relay.exp(x(4)))
    assert f"{NPU}.any matches the function @main itself" in one.reason
    after = MergeComposite(table)(relay.IRModule.from_expr(relay.exp(x(4))))
    swallowed = isinstance(after["main"].body, relay.Call) and not after["main"].params
    assert swallowed == accepts
    assert one.cause == ("no-operand" if accepts else "no-pattern")


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
    change = the(told(table, relay.exp(nn.relu(summed)) * summed), "nn.relu").change
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
