"""Nodes: copies with changed fields, identity of variables, short descriptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from byoc_lab import relay
from byoc_lab.compat.ir import with_fields
from byoc_lab.errors import ArgumentError, ByocLabError, InputError

x = relay.var("x", shape=(2,))


NODES = {
    "Call": (x + x, {"op": relay.op.get("multiply")}),
    "Constant": (relay.const(1), {"data": relay.const(2).data}),
    "Function": (relay.Function([x], x), {"body": x + x}),
    "If": (relay.If(x, x, x), {"cond": relay.var("c", "bool")}),
    "Let": (relay.Let(x, x, x), {"value": relay.const(1)}),
    "RefCreate": (relay.RefCreate(x), {"value": relay.const(1)}),
    "RefRead": (relay.RefRead(x), {"ref": relay.var("r")}),
    "RefWrite": (relay.RefWrite(x, x), {"value": relay.const(1)}),
    "Tuple": (relay.Tuple([x, x]), {"fields": (x,)}),
    "TupleGetItem": (relay.TupleGetItem(x, 0), {"index": 1}),
    "Var": (x, {"type_annotation": relay.TensorType((3,))}),
}


@pytest.mark.parametrize("kind", NODES)
def test_given_fields_change_and_other_fields_stay(kind: str) -> None:
    node, changes = NODES[kind]
    change = getattr(with_fields, f"{kind}WithFields")
    ((name, value),) = changes.items()
    changed = change(node, **changes)
    assert type(changed) is type(node) and getattr(changed, name) == value
    assert change(node) is node
    assert change(node, **{name: getattr(node, name)}) is node


def test_changed_variable_may_take_another_identity() -> None:
    other = relay.var("other")
    changed = with_fields.VarWithFields(x, vid=other.vid)
    assert (changed.vid, changed.name_hint) == (other.vid, "other")
    assert changed.type_annotation == x.type_annotation


def test_wrong_node_arguments_are_refused() -> None:
    with pytest.raises(ArgumentError, match="named by a string, found 1"):
        relay.var(1)
    with pytest.raises(ArgumentError, match="numbers or arrays of them, found 'text'"):
        relay.const("text")
    for dtype in ("float\N{FULLWIDTH DIGIT THREE}", "int8\n", "", "handle", "int8x4"):
        with pytest.raises(InputError, match=r"relay\.const: 1 cannot become "):
            relay.const(1, dtype)
    with pytest.raises(InputError, match="cannot become int64"):
        relay.const(2**70, "int64")
    assert relay.const(1, "bfloat16").data.dtype == "bfloat16"


def test_nodes_of_objects_other_than_nodes_are_refused() -> None:
    x: Any = relay.var("x", shape=(2,))
    for make in (
        lambda: relay.Tuple([1]),
        lambda: relay.Function([1], x),
        lambda: relay.Function([x], 1),
        lambda: relay.Call(x, [1]),
        lambda: x + "y",
        lambda: relay.bind(x, {1: x}),
        lambda: relay.var("x", "int8", (1,)),
    ):
        with pytest.raises(ByocLabError):
            make()


def test_descriptions_are_short():
    x, f = relay.var("x", shape=(2,)), relay.GlobalVar("f")
    pair = relay.Tuple([x, x])
    first = relay.TupleGetItem(pair, 0)
    chain: relay.Expr = f
    for _ in range(5_000):
        chain = relay.TupleGetItem(relay.Call(chain, [x]), 0)
    words = {
        "variable %x": x,
        "call of global @f": f(x),
        "call of a call": relay.Call(f(x), [x]),
        "projection .0 of Tuple": first,
        "projection .1 of a projection": relay.TupleGetItem(first, 1),
        "projection .0 of abs(...)": relay.TupleGetItem(relay.abs(x), 0),
        "projection .0 of a call": chain,
        "function of 1 parameter": relay.Function([x], x),
        "function dnnl.conv": relay.Function([x], x, attrs={"Composite": "dnnl.conv"}),
        "constant Tensor[(2), int8]": relay.const([1, 2], "int8"),
        "let %x": relay.Let(x, x, x),
        "If": relay.If(x, x, x),
    }
    assert {text: relay.describe(node) for text, node in words.items()} == {t: t for t in words}
    assert relay.describe(5) == "int"


@pytest.mark.parametrize(
    "made",
    [
        lambda part: relay.Let(x, part, x),
        lambda part: relay.Let(x, x, part),
        lambda part: relay.Let(part, x, x),
        lambda part: relay.If(part, x, x),
        lambda part: relay.If(x, part, x),
        lambda part: relay.If(x, x, part),
        lambda part: relay.TupleGetItem(part, 0),
        lambda part: relay.RefCreate(part),
        lambda part: relay.RefRead(part),
        lambda part: relay.RefWrite(part, x),
        lambda part: relay.RefWrite(x, part),
        lambda part: relay.Function([x], part),
        lambda part: relay.Tuple([part]),
        lambda part: relay.Call(relay.Op.get("exp"), [part]),
        lambda part: relay.Call(part, [x]),
    ],
)
@pytest.mark.parametrize("part", [None, 1, "x", [x], object()])
def test_parts_must_be_expressions(made: Callable[[Any], Any], part: Any) -> None:
    with pytest.raises(ArgumentError, match="must be an expression, found"):
        made(part)


@pytest.mark.parametrize("index", [None, "0", 1.5, x])
def test_a_projection_without_a_number_is_refused(index: Any) -> None:
    with pytest.raises(ArgumentError, match="needs the number of a field, found"):
        relay.TupleGetItem(x, index)
