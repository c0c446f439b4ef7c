"""Relay patterns on Relax modules: equal matches, and typed refusals."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

import byoc_lab
from byoc_lab import relax as lab
from byoc_lab import relay
from byoc_lab.backends import Refused
from byoc_lab.errors import ByocLabError, PatternTranslationError, PredicateError
from byoc_lab.relax.ir.calls import composite_names, operator_calls
from byoc_lab.relax.partition import partitioned, preparing_passes
from byoc_lab.relax.passes import applied
from byoc_lab.relax.patterns.translation import relax_entry, relax_name, relax_pattern
from byoc_lab.relay import Op, nn
from byoc_lab.relay.dataflow_pattern import (
    dominates,
    has_dtype,
    has_shape,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import FunctionPattern
from tests.relax.patterns.both_languages import (
    BIAS,
    CONV,
    DENSE,
    Network,
    in_both_languages,
)
from tests.relay.op.samples import SAMPLES

from ..test_partition import module, symbol, var
from ..tracing.networks import relax


def matched(network: Any, pattern: Any, check: Any = None) -> tuple[bool, bool]:
    """Whether an entry forms a composite of a network in Relay, and in Relax."""
    relay_mod, relax_mod = in_both_languages(network)
    merge = byoc_lab.passes.PASSES["MergeComposite"]([("npu.x", pattern, check)])
    nodes = post_order(merge(relay_mod)["main"].body)
    in_relay = any(isinstance(n, relay.Function) and "Composite" in n.attrs for n in nodes)
    entry = relax_entry("npu.x", pattern, check)
    return in_relay, "npu.x" in composite_names(partitioned(relax_mod, "test", [entry]))


X = relay.var("x", shape=(2, 8))
IMAGE = relay.var("x", shape=(1, 4, 8, 8))
RELU = is_op("nn.relu")(wildcard())
SHARED = wildcard()


def _conv(**attrs: Any) -> Any:
    weight = (4, 4 // attrs.get("groups", 1), 3, 3)
    return nn.conv2d(IMAGE, relay.var("w", shape=weight), **attrs)


def _any_conv() -> Any:
    return is_op("nn.conv2d")(wildcard(), wildcard())


@pytest.mark.parametrize(
    ("network", "pattern", "matches"),
    [
        (_conv(), _any_conv().has_attr({"groups": 1, "data_layout": "NCHW"}), True),
        (_conv(groups=2), _any_conv().has_attr({"groups": 1}), False),
        (_conv(strides=(2, 2)), _any_conv().has_attr({"strides": [2, 2]}), True),
        (_conv(), _any_conv().has_attr({"out_dtype": ""}), True),
        (_conv(out_dtype="float32"), _any_conv().has_attr({"out_dtype": "float32"}), True),
        (relay.sum(X, 1, keepdims=True), is_op("sum")(wildcard()).has_attr({"keepdims": 1}), True),
        (relay.sum(X, 1), is_op("sum")(wildcard()).has_attr({"keepdims": True}), False),
        (relay.cast(X, "int8"), is_op("cast")(wildcard()).has_attr({"dtype": "int8"}), True),
        (relay.cast(X, "int8"), is_op("cast")(wildcard()).has_attr({"dtype": "int16"}), False),
        (nn.leaky_relu(X, 0.5), is_op("nn.leaky_relu")(wildcard()).has_attr({"alpha": 0.5}), True),
        (nn.relu(X), is_op("nn.relu")(has_dtype("float32")), True),
        (nn.relu(X), is_op("nn.relu")(has_dtype("float16")), False),
        (nn.relu(X), is_op("nn.relu")(has_shape((2, 8))), True),
        (nn.relu(X), is_op("nn.relu")(has_shape((8, 2))), False),
        (nn.relu(X), RELU.has_type(relay.TensorType((2, 8), "float32")), True),
        (nn.relu(X), RELU.has_type(relay.TensorType((2, 8), "float16")), False),
        (X * X, is_op("multiply")(SHARED, SHARED), True),
        (X * relay.exp(X), is_op("multiply")(SHARED, SHARED), False),
        (X * relay.exp(X), is_op("multiply")(is_op("exp")(wildcard()), wildcard()), True),
        (relay.tanh(X), (is_op("nn.relu") | is_op("tanh"))(wildcard()), True),
        (relay.exp(X), (is_op("nn.relu") | is_op("tanh"))(wildcard()), False),
        (relay.exp(X), is_op("exp")(None), True),
        (X * relay.const(2.0), is_op("multiply")(wildcard(), is_expr(relay.const(2.0))), True),
        (X * relay.const(3.0), is_op("multiply")(wildcard(), is_expr(relay.const(2.0))), False),
        (relay.concatenate([X, X], 0), is_op("concatenate")(is_tuple(None)), True),
        (relay.concatenate([X, X], 0), is_op("concatenate")(is_tuple([wildcard()])), False),
        (
            relay.exp(relay.split(X, 2, axis=1)[1]),
            is_op("exp")(is_tuple_get_item(is_op("split")(wildcard()), 1)),
            True,
        ),
        (
            relay.exp(relay.split(X, 2, axis=1)[0]),
            is_op("exp")(is_tuple_get_item(is_op("split")(wildcard()), 1)),
            False,
        ),
        (
            nn.pad(IMAGE, ((0, 0), (0, 0), (1, 1), (1, 1))),
            is_op("nn.pad")(wildcard(), is_constant()),
            True,
        ),
        (nn.dense(X, relay.var("w", shape=(4, 8))), is_op("nn.dense")(wildcard(), BIAS), False),
        (
            nn.dense(X, relay.const(np.ones((4, 8), "float32"))),
            is_op("nn.dense")(wildcard(), has_shape((4, 8))),
            True,
        ),
        (
            nn.dense(X, relay.const(np.ones((4, 8), "float32"))),
            is_op("nn.dense")(wildcard(), has_shape((8, 4))),
            False,
        ),
    ],
)
def test_entry_matches_in_relax_as_in_relay(network: Any, pattern: Any, matches: bool) -> None:
    assert matched(network, pattern) == (matches, matches)


STACK = relay.var("x", shape=(4, 2, 8))
PRODUCT = is_op("nn.batch_matmul")(wildcard(), wildcard())


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("batch", [4, 1])
def test_batch_matmul_has_its_transposes_in_both_languages(
    transpose_a: bool, transpose_b: bool, batch: int
) -> None:
    a = relay.var("a", shape=(4, 8, 2) if transpose_a else (4, 2, 8))
    b = relay.var("b", shape=(batch, 3, 8) if transpose_b else (batch, 8, 3))
    given = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    network = nn.batch_matmul(a, b, **given)
    assert matched(network, PRODUCT) == (True, True)
    for more in (False, True):
        wanted = {**given, "transpose_b": more}
        assert matched(network, PRODUCT.has_attr(wanted)) == (more == transpose_b,) * 2


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (X, relay.var("w", shape=(8, 4))),
        (STACK, relay.var("w", shape=(8, 4))),
        (X, nn.relu(relay.var("w", shape=(8, 4)))),
    ],
)
def test_product_with_an_untransposed_matrix_is_a_matmul(a: Any, b: Any) -> None:
    network = nn.matmul(a, b)
    assert matched(network, is_op("nn.matmul")(wildcard(), wildcard())) == (True, True)
    plain = is_op("nn.matmul")(wildcard(), wildcard()).has_attr({"transpose_b": False})
    assert matched(network, plain) == (True, True)
    assert matched(network, is_op("nn.dense")(wildcard(), wildcard())) == (False, False)


def test_product_with_constants_is_a_dense_in_relax() -> None:
    network = nn.matmul(X, relay.const(np.ones((8, 4), "float32")))
    product = is_op("nn.matmul")(wildcard(), wildcard())
    assert matched(network, product) == (True, False)
    assert matched(network, product | is_op("nn.dense")(wildcard(), wildcard())) == (True, True)


@pytest.mark.parametrize(
    ("network", "operator", "others"),
    [
        (nn.global_avg_pool2d(IMAGE), "nn.global_avg_pool2d", ["nn.adaptive_avg_pool2d", "mean"]),
        (nn.global_max_pool2d(IMAGE), "nn.global_max_pool2d", ["max"]),
        (nn.batch_flatten(IMAGE), "nn.batch_flatten", ["reshape"]),
        (nn.fast_softmax(X), "nn.fast_softmax", ["nn.softmax"]),
    ],
)
def test_corresponding_relax_operator_is_an_alternative(
    network: Any, operator: str, others: list[str]
) -> None:
    def either(names: list[str]) -> Any:
        pattern = is_op(names[0])(wildcard())
        return pattern if len(names) == 1 else pattern | either(names[1:])

    assert matched(network, either([operator, *others])) == (True, True)
    callee = is_op(operator)
    for name in others:
        callee = callee | is_op(name)
    assert matched(network, callee(wildcard())) == (True, True)


def test_global_pool_also_matches_an_adaptive_pool_of_size_1() -> None:
    pool = relax.op.nn.adaptive_avg_pool2d
    mod = module([var("x", 1, 4, 8, 8)], lambda emit, x: emit(pool(x, 1)))
    either = is_op("nn.global_avg_pool2d")(wildcard()) | is_op("nn.adaptive_avg_pool2d")(wildcard())
    assert "npu.x" in composite_names(partitioned(mod, "test", [relax_entry("npu.x", either)]))


def test_wildcard_may_be_redirected() -> None:
    pattern = wildcard()
    pattern.redirect_to(RELU)
    assert matched(relay.exp(nn.relu(X)), is_op("exp")(pattern)) == (True, True)
    assert matched(relay.exp(X), is_op("exp")(pattern)) == (False, False)


def test_bias_add_is_an_add_in_relax() -> None:
    bias = relay.const(np.ones(4, "float32"))
    either = is_op("nn.bias_add")(CONV, BIAS) | is_op("add")(CONV, BIAS)
    weight = relay.const(np.ones((4, 4, 3, 3), "float32"))
    network = nn.bias_add(nn.conv2d(IMAGE, weight), bias)
    assert matched(network, either) == (True, True)
    callee = (is_op("nn.bias_add") | is_op("add"))(CONV, BIAS)
    assert matched(network, callee) == (True, True)


def in_relax(operator: str) -> tuple[str, ...]:
    return getattr(Op.get(operator).definition, "in_relax", ())


@pytest.mark.parametrize("operator", [n for n in Op.list_op_names() if in_relax(n)])
def test_alternatives_in_an_error_match_in_both_languages(operator: str) -> None:
    inputs = Op.get(operator).definition.inputs
    with pytest.raises(PatternTranslationError) as raised:
        relax_entry("npu.x", is_op(operator)(*(wildcard() for _ in inputs)))
    told = re.search("write (.*); Relax uses", str(raised.value))
    assert told is not None
    pattern = eval(told[1], {"is_op": is_op, **{name: wildcard() for name in inputs}})
    networks = [sample.function().body for sample in SAMPLES if sample.op == operator]
    assert (True, True) in (matched(network, pattern) for network in networks)


OPERATORS = sorted({sample.op for sample in SAMPLES if relax_name(sample.op)})
# No sample has calls of these: Relax rounds halves to even, and its not_equal is false for nan,
# so both are decomposed; the passes before partitioning decompose batch norms and fold constants.
IN_OTHERS = {"nn.batch_norm", "not_equal", "ones_like", "round", "zeros_like"}


@pytest.mark.parametrize("each_sample", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("operator", OPERATORS)
def test_operator_matches_if_relax_has_it(operator: str, each_sample: bool) -> None:
    """A wrongly translated name, or different operands, would never match."""
    name, found = relax_name(operator), 0
    inputs = relay.Op.get(operator).definition.inputs
    entry = relax_entry("npu.x", is_op(operator)(*(wildcard() for _ in inputs)))
    for sample in (each for each in SAMPLES if each.op == operator):
        try:
            _, mod = in_both_languages(sample.function())
        except ByocLabError:
            continue  # Relax cannot compute the sample
        if "npu.x" in composite_names(partitioned(mod, "test", [entry])):
            found += 1
            if not each_sample:
                break
        else:
            left = applied(preparing_passes(), mod, "test")
            assert name not in [c.name for c in operator_calls(left["main"])], sample.label
    assert (found == 0) == (operator in IN_OTHERS)


_RECURSIVE = wildcard()
_RECURSIVE.redirect_to(is_op("exp")(_RECURSIVE))


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (is_op("nn.bias_add")(CONV, BIAS), r'\("nn.bias_add"\)\(data, bias\) \| is_op\("add"\)\('),
        (CONV.optional(lambda p: is_op("nn.bias_add")(p, BIAS)), "operator add"),
        (is_op("nn.batch_flatten")(wildcard()), "no counterpart of nn.batch_flatten. .* reshape"),
        (
            is_op("nn.global_avg_pool2d")(CONV),
            r"the operator nn.adaptive_avg_pool2d or mean: write",
        ),
        (is_op("nn.fast_softmax")(RELU), r'is_op\("nn.fast_softmax"\)\(data\) \| is_op\("nn.softm'),
        (is_op("argmax")(wildcard()), "no counterpart of argmax"),
        (is_op("nn.relu"), "call it with patterns"),
        (is_op("exp")(is_op("nn.relu")), "call it with patterns"),
        (wildcard()(wildcard()), "its callee must be an operator"),
        (dominates(RELU, wildcard(), RELU), "Relax has no such pattern"),
        (is_op("exp")(is_var("x")), "every value is bound to a variable"),
        (is_if(wildcard(), wildcard(), wildcard()), "Relax has no such pattern"),
        (is_let(wildcard(), wildcard(), wildcard()), "Relax has no such pattern"),
        (FunctionPattern(None, wildcard())(wildcard()), "Relax has no such pattern"),
        (is_op("exp")(is_expr(relay.exp(X))), "an expression other than a constant"),
        (CONV.has_attr({"kernel_size": [3, 3]}), "relax.nn.conv2d has no attribute kernel_size"),
        (DENSE.has_attr({"units": 4}), "relax.matmul has no attribute units"),
        (
            is_op("nn.relu").has_attr({"TOpPattern": 0})(wildcard()),
            "attributes of values that are not calls",
        ),
        (wildcard().has_attr({"groups": 1}), "attributes of values that are not calls"),
        (has_shape((relay.Any(), 3)), "a size of its shape is not a number"),
        (RELU.has_type(relay.TupleType([])), "only types of tensors"),
        (_RECURSIVE, "refers to itself"),
    ],
)
def test_pattern_without_a_translation_is_refused(pattern: Any, message: str) -> None:
    with pytest.raises(PatternTranslationError, match=message) as caught:
        relax_pattern(pattern, "npu.entry")
    assert str(caught.value).startswith("entry 'npu.entry': ")


def test_check_gets_the_matched_part_in_relay() -> None:
    asked = []

    def check(call: Any) -> bool | Refused:
        asked.append(call)
        return Refused("4 units are too few")

    lab.register("npu", patterns=[("npu.dense", is_op("add")(DENSE, BIAS), check)])
    _, mod = in_both_languages(nn.dense(X, Network().const(4, 8)) + Network().const(4))
    found = byoc_lab.explain(mod, "npu")
    call = asked[0]
    assert call.is_op("add") and call.args[0].is_op("nn.dense")
    assert isinstance(call.args[0].args[0], relay.Var)
    assert call.args[0].args[1].checked_type.concrete_shape == (4, 8)
    assert "npu.dense refuses add: 4 units are too few" in next(
        e.reason for e in found.host if e.name == "add"
    )
    (report,) = byoc_lab.explain_patterns("npu", mod)
    assert report.status == "refused" and "4 units are too few" in report.reason


def test_check_is_not_called_for_unknown_sizes() -> None:
    asked: list[Any] = []
    lab.register("npu", patterns=[("npu.relu", RELU, lambda call: asked.append(call) or True)])
    mod = module([var("x", symbol("n"), 3)], lambda emit, x: emit(relax.op.nn.relu(x)))
    assert composite_names(lab.backends.get("npu").partition(mod)) == set() and asked == []
    (found,) = byoc_lab.explain(mod, "npu")
    assert found.cause == "check" and "the size n is not known" in found.reason


def test_check_that_raises_is_named() -> None:
    entry = relax_entry("npu.x", RELU, lambda call: call.nothing)
    _, mod = in_both_languages(nn.relu(X))
    with pytest.raises(PredicateError, match=r"the check of the pattern 'npu\.x' raised Attribute"):
        byoc_lab.explain_patterns([entry], mod)
