"""JSON of nodes: files of TVM 0.6 to 0.16 are read, and every node is written and read back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from byoc_lab import relay
from byoc_lab.errors import AttributeValueError, ParseError
from byoc_lab.relay import testing
from byoc_lab.relay.text.json.reader import read_node_json
from byoc_lab.relay.text.json.writer import write_node_json
from tests.relay.text import rich
from tests.sweeps import some

X = relay.var("x", shape=(2, 3))


def again(node: Any) -> Any:
    return read_node_json(write_node_json(node))


def graph(*nodes: dict[str, Any], version: str = "0.6.0", root: int = 1) -> str:
    """JSON with node 1 as the root, and an array of the two int32 numbers 0 and 1."""
    arrays = ["P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAAgAQACAAAAAAAAAAgAAAAAAAAAAAAAAAEAAAA="]
    document = {"root": root, "nodes": [{"type_key": ""}, *nodes], "b64ndarrays": arrays}
    return json.dumps({**document, "attrs": {"tvm_version": version}})


# Files of TVM -----------------------------------------------------------------------------------


def test_names_are_plain_strings_in_version_0_6() -> None:
    in_place = {"type_key": "Variable", "attrs": {"dtype": "int32", "name": "in0"}}
    fields = {"kind": "0", "span": "0", "var": "2"}
    for kind in (relay.TypeVar, relay.GlobalTypeVar):
        key = f"relay.{kind.__name__}"
        read = read_node_json(graph({"type_key": key, "attrs": fields}, in_place))
        assert type(read) is kind and read.name_hint == "in0"
    operator = graph({"type_key": "relay.Op", "global_key": "nn.conv2d"})
    assert read_node_json(operator) is relay.op.get("nn.conv2d")
    name = {"_checked_type_": "0", "name_hint": "f", "span": "0"}
    assert read_node_json(graph({"type_key": "relay.GlobalVar", "attrs": name})).name_hint == "f"
    shape = {"dtype": "float32", "shape": "2", "span": "0"}
    sizes = [{"type_key": "IntImm", "attrs": {"dtype": "int32", "value": v}} for v in ("16", "8")]
    tensor = graph({"type_key": "relay.TensorType", "attrs": shape},
                   {"type_key": "Array", "data": [3, 4]}, *sizes)  # fmt: skip
    assert read_node_json(tensor) == relay.TensorType((16, 8))


def test_numbers_and_strings_of_attributes_may_be_nodes() -> None:
    """In TVM 0.16, batch_dims and mode of take are objects; those of conv2d_transpose are not."""
    take = {
        "type_key": "relay.attrs.TakeAttrs",
        "attrs": {"axis": "2", "batch_dims": "3", "mode": "4"},
    }
    nodes = [
        {"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": value}}
        for value in ("1", "5")
    ]
    mode = {"type_key": "runtime.String", "repr_str": "wrap"}
    read = read_node_json(graph(take, *nodes, mode, version="0.16.0"))
    assert dict(read.items()) == {"batch_dims": 5, "axis": 1, "mode": "wrap"}
    take["attrs"]["mode"] = "wrap"  # before TVM made it an object
    assert read_node_json(graph(take, *nodes, mode, version="0.8.0")) == read
    written = {n["type_key"]: n.get("attrs") for n in json.loads(write_node_json(read))["nodes"]}
    assert written["relay.attrs.TakeAttrs"].keys() == take["attrs"].keys()
    assert {"IntImm", "runtime.String"} < written.keys()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "Expecting"),
        ("[]", "'root' and 'nodes'"),
        (
            graph({"type_key": "relay.Tuple", "attrs": {"fields": "1"}}),
            "node 1 is part of a reference cycle",
        ),
        (graph({"type_key": "relay.Tuple", "attrs": {"fields": "9"}}), "node 9 does not exist"),
        (graph({"type_key": "relay.Tuple", "attrs": {}}), "no 'fields'"),
        (graph({"type_key": "relay.Nonsense"}), "relay.Nonsense"),
        (graph({"type_key": "Op", "repr_str": "nn.conv9d"}), "no operator is named 'nn.conv9d'"),
        (graph({"type_key": "relay.Constant", "attrs": {"data": "1"}}), "array 1 does not exist"),
        (graph({"type_key": "relay.attrs.CastAttrs", "attrs": {"dtype": "f"}}), "'dtype' must be"),
        (graph({"type_key": "Array", "data": ["x"]}), "invalid literal"),
    ],
)
def test_other_json_is_refused(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        read_node_json(text)


# Round trips ------------------------------------------------------------------------------------


@settings(max_examples=some(40))
@given(mod=rich.modules())
def test_module_is_restored(mod: relay.IRModule) -> None:
    relay.assert_structural_equal(again(mod), mod)


def test_types_locations_and_devices_are_restored() -> None:
    mod = relay.parse("""
type L[A] { Nil, Cons(A, L[A]) }
def @first[A](%l: L[A], %d: A) -> A {
  match? (%l) { Cons(%h, _) => { %h }, _ => { %d }, }
}
def @main(%x {virtual_device=VirtualDevice(device_type=1)}: Tensor[(2, ?), float32], Primitive=1) {
  let %r = ref(%x);
  ref_write(%r, abs(%x));
  (if (True) { ref_read(%r) } else { %x }, fn (%y: int8) { (%y,).0 })
}
""")
    back = again(mod)
    relay.assert_structural_equal(back, mod)
    assert back.astext() == mod.astext()
    for one, other in zip(
        relay.ir.visit.post_order(back["main"]), relay.ir.visit.post_order(mod["main"]), strict=True
    ):
        assert one.span == other.span or isinstance(one, relay.Op)
        assert one.is_typed == other.is_typed
        assert not one.is_typed or str(one.checked_type) == str(other.checked_type)


def test_networks_are_restored() -> None:
    mod, params = testing.mobilenet.get_workload()
    weights = {name: params[name] for name in list(params)[:4]}
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], weights)
    relay.assert_structural_equal(again(mod), mod)


def test_types_and_attributes_alone_are_restored() -> None:
    a = relay.TypeVar("a")
    for ty in (
        relay.TensorType((relay.Any(), 3), "bool"),
        relay.FuncType([a, relay.TupleType([a])], relay.RefType(a), [a]),
        relay.GlobalTypeVar("L")(relay.TensorType((), "int64")),
    ):
        assert relay.structural_equal(again(ty), ty)
    assert isinstance(again(relay.IncompleteType()), relay.IncompleteType)
    attrs = relay.nn.conv2d(X, X, padding=(1, 2), channels=4).attrs
    assert again(attrs) == attrs
    assert again(attrs).padding == (1, 2, 1, 2)


def test_variables_may_be_keys_and_functions_values_of_attributes() -> None:
    inner = relay.Function([X], relay.abs(X))
    function = relay.Function([X], X).with_attr("q", {X: relay.const([1.0]), "f": inner})
    back = again(function)
    (key, value), (_, found) = back.attrs["q"].items()
    assert key is back.params[0] and value.numpy().tolist() == [1.0]
    assert relay.structural_equal(found, inner)


def test_shared_nodes_stay_shared_at_any_depth() -> None:
    deep: relay.Expr = X
    for _ in range(6_000):
        deep = relay.add(deep, deep)
    back = again(relay.Function([X], deep))
    assert back.body.args[0] is back.body.args[1]
    assert relay.structural_equal(back, relay.Function([X], deep))


def test_constants_are_restored_bit_by_bit() -> None:
    for kind in ("float16", "float32", "int8", "uint64", "bool"):
        data = np.arange(6).reshape(2, 3).astype(kind)
        found = again(relay.const(data, kind)).numpy()
        assert found.dtype == data.dtype and found.tobytes() == data.tobytes()


def test_attribute_without_json_form_is_refused() -> None:
    with pytest.raises(AttributeValueError, match="cannot be written as metadata: <object"):
        write_node_json(relay.Function([X], X).with_attr("q", object()))


@pytest.mark.parametrize("field", ["fields", "_checked_type_", "span"])
def test_fields_of_another_type_are_refused(field: str) -> None:
    x = relay.var("x", shape=(2,))
    mod = relay.transform.InferType()(relay.IRModule.from_expr(relay.Tuple([x, x])))
    graph = json.loads(write_node_json(mod["main"].body))
    text = next(n for n, node in enumerate(graph["nodes"]) if node["type_key"] == "runtime.String")
    graph["nodes"][graph["root"]]["attrs"][field] = str(text)
    with pytest.raises(ParseError, match=f"field '{field}' is a str, or holds invalid values"):
        read_node_json(json.dumps(graph))
