"""Covering of patterns: a pattern reported as shadowed never matches."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.lab.linting.covering import always_takes_part, covers
from byoc_lab.passes import InferType, MergeComposite
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import DFPattern, is_constant, is_op, is_var, wildcard
from tests.sweeps import some

UNARY, BINARY = ("tanh", "nn.relu", "exp"), ("subtract", "maximum")


@st.composite
def tree(draw: st.DrawFn, depth: int = 3) -> object:
    """A pattern as data: a string for a leaf, or an operator with its operands."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(["any", "constant", "variable"]))
    if draw(st.booleans()):
        return (draw(st.sampled_from(UNARY)), draw(tree(depth - 1)))
    return (draw(st.sampled_from(BINARY)), draw(tree(depth - 1)), draw(tree(depth - 1)))


calls = tree().filter(lambda t: isinstance(t, tuple))


def pattern(data: object) -> DFPattern:
    if isinstance(data, tuple):
        return is_op(data[0])(*map(pattern, data[1:]))
    return {"any": wildcard, "constant": is_constant, "variable": is_var}[str(data)]()


def witness(data: object) -> Expr:
    """An expression that the pattern matches; a wildcard leaf becomes a call."""
    if isinstance(data, tuple):
        return Call(Op.get(data[0]), [witness(d) for d in data[1:]])
    if data == "constant":
        return relay.const(1.0)
    x = relay.var("x", shape=())
    return x if data == "variable" else Call(Op.get("sigmoid"), [x])


def composites(body: Expr, table: list[tuple[str, DFPattern]]) -> list[str]:
    mod = MergeComposite(table)(InferType()(IRModule.from_expr(body)))
    nodes = (n for f in mod.functions.values() for n in post_order(f))
    return [
        str(n.attrs["Composite"])
        for n in nodes
        if isinstance(n, Function) and "Composite" in n.attrs
    ]


@settings(max_examples=some(150))
@given(calls, calls)
def test_shadowed_pattern_never_matches(first: object, second: object) -> None:
    body = witness(second)
    assert "t.second" in composites(body, [("t.second", pattern(second))])
    table = [("t.first", pattern(first)), ("t.second", pattern(second))]
    if always_takes_part(pattern(first), pattern(second)):
        made = composites(body, table)
        assert "t.second" not in made and "t.first" in made


@given(calls)
def test_pattern_covers_itself_and_more_specific_patterns(data: object) -> None:
    assert covers(pattern(data), pattern(data))
    assert covers(wildcard(), pattern(data))
    assert not covers(pattern(data), wildcard())
    longer = is_op("sigmoid")(pattern(data))
    assert always_takes_part(pattern(data), longer)
    assert not always_takes_part(longer, pattern(data))


def test_covering_compares_attributes_and_alternatives() -> None:
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    grouped = is_op("nn.conv2d")(wildcard(), wildcard()).has_attr({"groups": 4})
    assert covers(conv, grouped) and not covers(grouped, conv)
    either = is_op("tanh")(wildcard()) | is_op("exp")(wildcard())
    assert covers(either, is_op("exp")(wildcard())) and not covers(is_op("exp")(wildcard()), either)
    optional = conv.optional(is_op("nn.relu"))
    assert covers(optional, conv) and not covers(conv, optional)
    assert not always_takes_part(is_op("nn.relu")(wildcard()), optional)
    assert not always_takes_part(wildcard(), conv), "a wildcard moves no operator"


def test_pattern_whose_first_alternative_needs_more_nodes_is_not_proved_to_match() -> None:
    """The first alternative also contains the sigmoid, which another node uses."""
    longer = is_op("tanh")(is_op("sigmoid")(wildcard()))
    tanh = is_op("tanh")(wildcard())
    inner = relay.sigmoid(relay.var("x", shape=()))
    body = relay.Tuple([relay.tanh(inner), inner])
    assert composites(body, [("t.first", longer | tanh), ("t.second", tanh)]) == ["t.second"]
    assert not always_takes_part(longer | tanh, tanh)
    assert always_takes_part(tanh | longer, tanh)
    either = (is_op("exp") | is_op("tanh"))(wildcard())
    assert always_takes_part(either, tanh) and always_takes_part(is_op("exp")(tanh) | tanh, tanh)


def test_pattern_of_any_callee_matches_the_composites_of_an_earlier_entry() -> None:
    anything = wildcard()(wildcard())
    table = [("t.first", anything), ("t.second", wildcard()(wildcard()))]
    assert "t.second" in composites(relay.tanh(relay.var("x", shape=())), table)
    assert not always_takes_part(anything, wildcard()(wildcard()))
