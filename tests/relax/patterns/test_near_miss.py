"""The part of a Relax pattern that fails at the call where most of the pattern matches."""

from __future__ import annotations

import random
from typing import Any

import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")


from tvm import relax
from tvm.relax.dpl import is_const, is_op, is_shape, is_tuple, is_tuple_get_item, wildcard

from byoc_lab.relax.patterns.near_miss import NearMiss, NearMisses
from byoc_lab.relax.patterns.reading import RelaxFunction, RelaxPattern
from byoc_lab.relay.patterns.below import operators_of
from byoc_lab.relay.patterns.matcher import COMMUTATIVE
from byoc_lab.relay.patterns.patterns import ConstantPattern

from ..test_partition import const, module, symbol, var
from ..tracing.drawn import drawn_module, drawn_table
from ..tracing.networks import SMALL, chain

MAIN = SMALL["main"]
CONV = is_op("relax.nn.conv2d")(wildcard(), wildcard())
SAME = wildcard()
ADD, ERF = is_op("relax.add"), is_op("relax.erf")
CONCAT, SPLIT = is_op("relax.concat"), is_op("relax.split")


def nearest_miss(pattern: Any, function: Any) -> NearMiss | None:
    return NearMisses(RelaxPattern(pattern), RelaxFunction(function)).nearest()


def miss(pattern: Any) -> NearMiss:
    found = nearest_miss(pattern, MAIN)
    assert found is not None
    return found


def test_matching_pattern_has_no_failing_part() -> None:
    assert nearest_miss(is_op("relax.nn.relu")(ADD(CONV, wildcard())), MAIN) is None


@pytest.mark.parametrize(
    ("pattern", "kind", "path", "wanted", "found"),
    [
        (
            is_op("relax.nn.relu")(CONV),
            "CallPattern", ".args[0]", "a call of nn.conv2d", "a call of add",
        ),
        (
            is_op("relax.nn.conv2d")(wildcard(), is_const()),
            "ConstantPattern", ".args[1]", "a constant", "the parameter %w",
        ),
        (CONV.has_attr({"groups": 2}), "AttrPattern", "", "nn.conv2d with groups=2", "groups=1"),
        (
            CONV.has_dtype("int8"),
            "DataTypePattern", "", "nn.conv2d of dtype int8", "one of dtype float32",
        ),
        (
            CONV.has_shape((1, 5, 8, 8)),
            "ShapePattern", "", "nn.conv2d of shape (1, 5, 8, 8)", "one of shape (1, 4, 8, 8)",
        ),
        (
            is_op("relax.erf")(),
            "CallPattern", "", "a call of erf with 0 operands (not 1)", "a call of erf",
        ),
        (
            is_op("relax.erf")(wildcard(), wildcard()),
            "CallPattern", "", "a call of erf with 2 operands (not 1)", "a call of erf",
        ),
        (
            is_op("relax.add")(CONV, wildcard()) & is_op("relax.nn.relu")(wildcard()),
            "CallPattern", "", "a call of nn.relu", "a call of add",
        ),
        (
            ERF(is_op("relax.nn.gelu")(wildcard()) | is_op("relax.tanh")(wildcard())),
            "CallPattern", ".args[0]", "a call of nn.gelu or tanh", "a call of nn.relu",
        ),
        (
            ERF(is_op("relax.nn.gelu")(wildcard()) | is_const()),
            "CallPattern", ".args[0]", "a call of nn.gelu or a constant", "a call of nn.relu",
        ),
        (
            ERF(~is_op("relax.nn.relu")(wildcard())),
            "NotPattern", ".args[0]", "anything but nn.relu", "a call of nn.relu",
        ),
        (
            ADD(SAME, SAME),
            "WildcardPattern", "",
            "one value for all uses of one pattern object (anything; create one for each value)",
            "different values",
        ),
        (
            is_op("relax.erf")(is_tuple_get_item(wildcard(), 0)),
            "TupleGetItemPattern", ".args[0]", "field 0 of anything", "a call of nn.relu",
        ),
        (
            is_op("relax.erf")(is_tuple([wildcard()])),
            "TuplePattern", ".args[0]", "a tuple of 1", "a call of nn.relu",
        ),
    ],
)  # fmt: skip
def test_failing_part_is_named(pattern: Any, kind: str, path: str, wanted: str, found: str) -> None:
    got = miss(pattern)
    assert (type(got.stop.pattern).__name__, got.stop.path, got.wanted) == (kind, path, wanted)
    assert got.found == found


def test_call_with_the_most_matching_parts_is_chosen() -> None:
    got = miss(is_op("relax.nn.relu")(ADD(CONV.has_attr({"groups": 4}), wildcard())))
    assert got.call.variable == "d" and (got.fit.matched, got.fit.total) == (3, 4)
    assert str(got) == (
        "at %d, operand .args[0].args[0] must be nn.conv2d with groups=4, found groups=1"
    )


def test_operands_of_a_commutative_operator_are_tried_in_both_orders() -> None:
    got = miss(ADD(wildcard(), is_op("relax.nn.conv2d")(wildcard(), is_const())))
    assert type(got.stop.pattern) is ConstantPattern and got.call.variable == "c"


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "subtract", "equal"])
def test_tvm_tries_both_orders_only_for_commutative_operators(name: str) -> None:
    operator = getattr(relax.op, name)
    main = module([var("x", 2)], lambda emit, x: emit(operator(x, const(2))))["main"]
    pattern = is_op(f"relax.{name}")(is_const(), wildcard())
    assert (nearest_miss(pattern, main) is None) == (name in COMMUTATIVE)


def test_missing_operator_is_named() -> None:
    got = miss(is_op("relax.nn.softmax")(CONV))
    assert got.fit.matched == 0 and str(got) == "the function has no call of nn.softmax"


def test_operators_of_a_pattern_are_listed() -> None:
    assert operators_of(RelaxPattern(is_op("relax.nn.relu")(CONV)).root) == {"nn.relu", "nn.conv2d"}


def test_nearest_miss_of_a_deep_pattern_in_a_long_chain_is_found() -> None:
    pattern = wildcard()
    for _ in range(30):
        pattern = ADD(pattern, is_const())
    assert nearest_miss(pattern, chain(200)["main"]) is None
    found = nearest_miss(is_op("relax.tanh")(pattern), chain(200)["main"])
    assert found is not None and found.fit.matched == 0


def tuples() -> Any:
    """concat of the parts of a split."""

    def body(emit: Any, x: Any) -> Any:
        parts = emit(relax.op.split(x, 2, axis=1))
        return emit(relax.op.concat((parts[0], parts[1]), axis=1))

    return module([var("x", 2, 4)], body)["main"]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (
            CONCAT(is_tuple([wildcard()] * 3)),
            "operand .args[0] must be a tuple of 3, found a tuple of 2",
        ),
        (
            CONCAT(is_tuple([is_tuple_get_item(SPLIT(wildcard()), 1), wildcard()])),
            ".args[0][0] must be field 1 of split, found field 0 of a call of split",
        ),
        (
            SPLIT(wildcard()).has_attr({"indices_or_sections": 3}),
            "the call must be split with indices_or_sections=3, found indices_or_sections=2",
        ),
        (
            SPLIT(wildcard()).has_dtype("int8"),
            "the call must be split of dtype int8, found one of type",
        ),
    ],
)
def test_failing_tuple_patterns_are_described(pattern: Any, message: str) -> None:
    assert message in str(nearest_miss(pattern, tuples()))


def test_required_shape_operand_is_named() -> None:
    def body(emit: Any, x: Any) -> Any:
        return emit(relax.op.reshape(x, (2, 4)))

    pattern = is_op("relax.reshape")(wildcard(), is_shape([4, 2]))
    found = nearest_miss(pattern, module([var("x", 8)], body)["main"])
    wanted = "operand .args[1] must be the shape (4, 2), found ShapeExpr R.shape([2, 4])"
    assert found and wanted in str(found)


@pytest.mark.parametrize(
    ("call", "counts"),
    [
        (lambda x: relax.op.clip(x, 0, 6), True),
        (lambda x: relax.op.reshape(x, (2, 4)), True),
        (lambda x: relax.op.strided_slice(x, [0], [0], [4]), True),
        (lambda x: relax.op.add(x, x), False),
    ],
)
def test_omitted_number_and_shape_operands_are_named(call: Any, counts: bool) -> None:
    mod = module([var("x", 8)], lambda emit, x: emit(call(x)))
    made = mod["main"].body.blocks[0].bindings[0].value
    found = str(nearest_miss(is_op(made.op.name)(wildcard()), mod["main"]))
    assert f"with 1 operand (not {len(made.args)})" in found
    assert ("numbers and shapes are operands, too" in found) == counts


def test_condition_on_a_value_of_unknown_shape_is_named() -> None:
    main = module([var("x", symbol("n"), 4)], lambda emit, x: emit(relax.op.erf(x)))
    found = nearest_miss(ERF(wildcard().has_shape((2, 4))), main["main"])
    assert (
        str(found)
        == "at %lv, operand .args[0] must be anything of shape (2, 4), found one of shape (n, 4)"
    )


def judged(seed: int) -> tuple[int, int]:
    """The numbers of matches and mismatches of a drawn table in a drawn module.

    TVM's matcher confirms each: for the pattern, and for the part stated as failing.
    """
    draw = random.Random(seed)
    function = RelaxFunction(drawn_module(draw)["main"])
    matches = mismatches = 0
    for _, pattern, *_ in drawn_table(draw):
        read = RelaxPattern(pattern)
        for fit, call in NearMisses(read, function).fits:
            assert (not fit.stops) == pattern.match(call.call, function.values)
            matches += not fit.stops
            for stop in fit.stops:
                found = function.sources[stop.found]
                assert not read.sources[stop.pattern].match(found, function.values) or stop.reused
                mismatches += 1
    return matches, mismatches


def test_matches_and_failing_parts_equal_those_of_tvm_s_matcher() -> None:
    counts = [judged(seed) for seed in range(40)]
    assert sum(n for n, _ in counts) > 100 and sum(n for _, n in counts) > 100
