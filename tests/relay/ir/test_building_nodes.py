"""ScopeBuilder and the functions that change some fields of a node."""

from __future__ import annotations

import copy
import pickle

import pytest

from byoc_lab import relay
from byoc_lab.compat import with_fields
from byoc_lab.errors import AttributeValueError, WellFormedError
from byoc_lab.relay import structural_equal
from byoc_lab.relay.ir.integers import IntImm
from byoc_lab.relay.op.framework import op_attrs


def test_a_scope_is_a_chain_of_lets() -> None:
    x, condition = relay.var("x", shape=(2,)), relay.var("c", "bool")
    sb = relay.ScopeBuilder()
    y = sb.let("y", relay.nn.relu(x))
    z = sb.let(("z", relay.TensorType((2,))), y + y)
    with sb.if_scope(condition):
        w = sb.let(relay.var("w"), relay.exp(z))
        sb.ret(w)
    with sb.else_scope():
        sb.ret(y)
    text = """fn (%x: Tensor[(2), float32], %c: bool) {
      let %y = nn.relu(%x);
      let %z: Tensor[(2), float32] = add(%y, %y);
      if (%c) { let %w = exp(%z); %w } else { %y }
    }"""
    built = relay.Function([x, condition], sb.get())
    assert structural_equal(built, relay.parse_expr(text))


def test_a_scope_is_ended_once() -> None:
    sb = relay.ScopeBuilder()
    with pytest.raises(WellFormedError, match="no result"):
        sb.get()
    with pytest.raises(WellFormedError, match="must follow an if_scope"), sb.else_scope():
        pass
    with pytest.raises(WellFormedError, match="no result"), sb.if_scope(relay.var("c")):
        pass
    sb.ret(relay.const(1))
    with pytest.raises(WellFormedError, match="already"):
        sb.ret(relay.const(2))
    with sb.if_scope(relay.var("c")):
        sb.ret(relay.const(1))
    with pytest.raises(WellFormedError, match="no else_scope"):
        sb.get()


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
def test_some_fields_change_and_the_others_stay(kind: str) -> None:
    node, changes = NODES[kind]
    change = getattr(with_fields, f"{kind}WithFields")
    ((name, value),) = changes.items()
    changed = change(node, **changes)
    assert type(changed) is type(node) and getattr(changed, name) == value
    assert change(node) is node
    assert change(node, **{name: getattr(node, name)}) is node


def test_a_variable_takes_another_one_s_identity() -> None:
    other = relay.var("other")
    changed = with_fields.VarWithFields(x, vid=other.vid)
    assert (changed.vid, changed.name_hint) == (other.vid, "other")
    assert changed.type_annotation == x.type_annotation


def test_dimensions_are_integers_with_a_value() -> None:
    (two,) = x.type_annotation.shape
    assert (two, two.value, two.dtype, str(two)) == (2, 2, "int32", "2")
    for twin in (copy.deepcopy(two), pickle.loads(pickle.dumps(two))):
        assert isinstance(twin, IntImm) and (twin, twin.dtype) == (2, "int32")


def test_attributes_are_of_the_class_that_tvm_names() -> None:
    pool = relay.nn.max_pool2d(relay.var("image", shape=(1, 3, 8, 8))).attrs
    assert type(pool).__name__ == "MaxPool2DAttrs" and isinstance(pool, op_attrs.MaxPool2DAttrs)
    assert not isinstance(pool, op_attrs.AvgPool2DAttrs)
    assert "MaxPool2DAttrs" in dir(op_attrs)
    assert type(pool.replace(strides=(2, 2))) is type(pool)
    for made in (pool, relay.Function([x], x).with_attr("Primitive", 1).attrs):
        for twin in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
            assert twin == made and type(twin) is type(made)
    assert pool.keys()[0] == pool.items()[0][0] == "pool_size", "lists, to be counted off"
    with pytest.raises(AttributeError, match=r"no attributes of type 'relay.attrs.PoolAttrs'"):
        _ = op_attrs.PoolAttrs


def test_what_is_no_name_and_no_number_is_refused() -> None:
    with pytest.raises(TypeError, match="named by a string, found 1"):
        relay.var(1)
    with pytest.raises(TypeError, match="numbers or arrays of them, found 'text'"):
        relay.const("text")


def test_nodes_in_words_are_few_words():
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
        "function of 1 parameters": relay.Function([x], x),
        "function dnnl.conv": relay.Function([x], x, attrs={"Composite": "dnnl.conv"}),
        "constant Tensor[(2), int8]": relay.const([1, 2], "int8"),
        "let %x": relay.Let(x, x, x),
        "If": relay.If(x, x, x),
    }
    assert {text: relay.describe(node) for text, node in words.items()} == {t: t for t in words}
    assert relay.describe(5) == "int"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("flaot32", "did you mean 'float32'"),
        ("unit8", "did you mean 'uint8'"),
        ("?", "as float32, "),
    ],
)
def test_a_dtype_that_there_is_not(name: str, hint: str) -> None:
    with pytest.raises(AttributeValueError, match=hint):
        relay.var("x", shape=(2,), dtype=name)


@pytest.mark.parametrize(
    "name", ["int4", "float32x4", "bool", "bfloat16", "custom[posites2]8", "handle"]
)
def test_dtypes_that_there_are(name: str) -> None:
    assert relay.TensorType((2,), name).dtype == name
