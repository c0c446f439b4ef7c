"""`explain` on the kinds of patterns: alternatives of operators, optional parts, dominators."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.lab.explaining import explain_patterns
from byoc_lab.passes import MergeComposite
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.patterns import (
    DFPattern,
    is_constant,
    is_op,
    is_tuple,
    wildcard,
)
from tests.lab.explaining.pieces import (
    CONV,
    NPU,
    Any_,
    conv,
    entry,
    only,
    told,
    weight,
    x,
)

ADDS = (is_op("add") | is_op("nn.bias_add"))(CONV, Any_())
BIAS_RELU = is_op("nn.relu")(CONV.optional(lambda v: is_op("nn.bias_add")(v, Any_())))
CONV_ = is_op("nn.conv2d")(Any_(), Any_())
OVER_PATH = (is_op("exp") | is_op("tanh"))(Any_())
DOMINATED = is_op("nn.relu")(Any_()).dominates(CONV, OVER_PATH)


pytestmark = pytest.mark.usefixtures("back_end")

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
    assert only(found, "tanh").cause == "no-pattern"
    assert only(found, "nn.conv2d").cause == "sub-pattern"
    assert "nn.bias_add" in only(found, "nn.conv2d").expected
    assert "tanh" in only(found, "nn.conv2d").found


def test_reason_names_each_alternative_that_no_module_has() -> None:
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
    found = only(told([entry("conv_relu", BIAS_RELU)], body), "nn.conv2d")
    assert found.cause == "sub-pattern"
    assert "no user: it is the result of @main" in found.reason


def test_other_operator_on_a_dominator_path_is_named() -> None:
    found = told([entry("dom", DOMINATED)], relay.sin(relay.tanh(conv())))
    assert "found sin" in only(found, "nn.conv2d").reason
    assert "as the user of tanh" in only(found, "nn.conv2d").reason


def test_value_used_outside_a_dominator_is_named() -> None:
    inner = relay.tanh(conv())
    found = told([entry("dom", DOMINATED)], relay.Tuple([nn.relu(inner), inner]))
    for name in ("nn.conv2d", "tanh", "nn.relu"):
        one = only(found, name)
        assert "whose operands all come from one nn.conv2d" in one.expected
        assert one.found.startswith("tanh (%1) of type") and "is also used outside: by" in one.found
        assert "compute tanh (%1) a second time for its users outside" in str(one.change)


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
    found = only(told(table, both), "nn.conv2d")
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
        (silu_of, lambda a, b: a * relay.sigmoid(b), "2 of 3", "one value for all uses"),
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
            "one value for all uses of one pattern object (anything",
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
