"""The metadata section: constants and attributes are written and read back bit by bit."""

from __future__ import annotations

import base64
import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from byoc_lab import relay
from byoc_lab.errors import AttributeValueError, ParseError
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir.attrs import DictAttrs
from byoc_lab.relay.ir.source_map import Source
from byoc_lab.relay.text.json.metadata import (
    decode_array,
    encode_array,
    read_metadata,
    write_metadata,
)
from tests.relay.text.texts import PRINTED, code_of
from tests.sweeps import some

# Written by TVM 0.16 for relay.const(np.ones((2,), "float32")).
ONES = "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAACAPwAAgD8="
WITH_METADATA = [p for p in PRINTED if p.stem.endswith("_metadata")]
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "float32", "float64"]


def read(text: str):
    return read_metadata(Source(text), 0)[0]


# Arrays ------------------------------------------------------------------------------------------


def test_array_is_encoded_as_by_tvm():
    assert encode_array(np.ones(2, "float32")) == ONES
    array = decode_array(ONES)
    assert array.dtype == "float32" and array.tolist() == [1, 1]


@settings(max_examples=some(100))
@given(
    st.sampled_from(DTYPES).flatmap(
        lambda d: hnp.arrays(d, hnp.array_shapes(min_dims=0, min_side=0))
    )
)
def test_arrays_are_restored_bit_by_bit(array: np.ndarray):
    again = decode_array(encode_array(array))
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    assert again.tobytes() == array.tobytes()


def test_byte_order_and_memory_layout_do_not_matter():
    array = np.arange(6, dtype=">f4").reshape(2, 3).T
    again = decode_array(encode_array(array))
    assert again.dtype == "float32" and (again == array).all()


def test_bfloat16_array_is_decoded_bit_for_bit():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    again = decode_array(encode_array(array))
    assert again.dtype == array.dtype and again.tobytes() == array.tobytes()


def test_dtype_without_json_form_is_refused():
    with pytest.raises(AttributeValueError, match="complex64"):
        encode_array(np.zeros(1, "complex64"))


def _blob(**changes: int) -> str:
    fields = (
        dict(magic=0xDD5E40F096B4A13F, rank=1, code=2, bits=32, lanes=1, dim=1, size=4) | changes
    )
    f = fields
    head = struct.pack(
        "<QQiiiBBH", f["magic"], 0, 1, 0, f["rank"], f["code"], f["bits"], f["lanes"]
    )
    data = head + struct.pack("<qq", f["dim"], f["size"]) + b"\0" * 4
    return base64.b64encode(data).decode()


def test_undamaged_blob_is_decoded():
    assert decode_array(_blob()).tolist() == [0]


@pytest.mark.parametrize(
    "blob",
    [
        "",
        "AAAA",
        "not base64!",
        ONES[:-8],
        _blob(magic=1),
        _blob(rank=-1),
        _blob(rank=40),
        _blob(code=3),
        _blob(bits=24),
        _blob(lanes=4),
        _blob(dim=2),
        _blob(dim=-1),
        _blob(dim=2**62),
        _blob(size=5),
        "\ud800",
        7,
    ],
)
def test_damaged_arrays_are_refused(blob):
    with pytest.raises(ValueError, match="damaged"):
        decode_array(blob)


# The section -------------------------------------------------------------------------------------


def test_metadata_values_of_every_kind_are_read_back():
    value = {
        "i": 1,
        "big": 2**40,
        "f": 0.1,
        "s": "x",
        "empty": "",
        "t": True,
        "l": [1, ["a"]],
        "n": None,
    }
    table = read(write_metadata({"Map": [value, {}]}))
    assert table["Map"] == [{**value, "l": (1, ("a",))}, {}]
    assert table["Map"][0]["t"] is True


def test_attributes_with_a_schema_are_read_back():
    call = relay.nn.conv2d(relay.var("x"), relay.var("w"), channels=16, kernel_size=(3, 3))
    norm = relay.nn.batch_norm(*[relay.var("x")] * 5, epsilon=1 / 3, center=False).astuple()
    attrs = [call.attrs, norm.attrs]
    for a in attrs:
        table = read(write_metadata({a.type_key: [a]}))
        assert table[a.type_key] == [a]


def test_section_has_the_structure_that_tvm_expects():
    one, two = relay.const(np.ones(2, "float32")), relay.const(np.zeros(1, "int8"))
    graph = json.loads(write_metadata({"relay.Constant": [one, two]}))
    nodes = graph["nodes"]
    assert nodes[0] == {"type_key": ""} and nodes[graph["root"]]["keys"] == ["relay.Constant"]
    first = nodes[nodes[nodes[graph["root"]]["data"][0]]["data"][0]]
    assert first["type_key"] == "relay.Constant" and first["attrs"]["data"] == "0"
    device = nodes[int(first["attrs"]["virtual_device_"])]
    assert device["type_key"] == "VirtualDevice" and graph["b64ndarrays"][0] == ONES
    assert sum(n["type_key"] == "VirtualDevice" for n in nodes) == 1


def test_modules_printed_by_tvm_contain_metadata():
    assert sum(ONES[:20] in p.read_text() for p in WITH_METADATA) >= 3


@pytest.mark.parametrize("path", WITH_METADATA, ids=lambda p: p.stem)
def test_constants_of_tvm_are_restored(path):
    text = code_of(path)
    mod = relay.parse(text, infer=False)
    assert not mod.notes
    for options in ({"exact": True}, {"exact": False}, {"for_tvm": True}):
        again = relay.parse(mod.astext(**options), infer=False)
        relay.assert_structural_equal(again, mod)
    blobs = json.loads(text.split("#[metadata]")[1])["b64ndarrays"]
    written = json.loads(mod.astext(exact=False, for_tvm=True).split("#[metadata]")[1])[
        "b64ndarrays"
    ]
    assert written == blobs


def test_entry_used_twice_is_one_object():
    mod = IRModule()
    shared, equal = relay.const(np.ones(3, "float32")), relay.const(np.ones(3, "float32"))
    mod["main"] = relay.Function([], relay.Tuple([shared, equal, shared]))
    fields = relay.parse(mod.astext(), infer=False)["main"].body.fields
    assert fields[0] is fields[2] is not fields[1]


def test_attribute_dictionaries_of_calls_are_shared():
    attrs = DictAttrs({"k": "v"})
    calls = [relay.Call(relay.GlobalVar("g"), [], attrs) for _ in range(2)]
    text = relay.Tuple(calls).astext(exact=False)
    assert text.count("meta[Map][0]") == 2
    one, two = relay.parse_expr(text).fields
    assert one.attrs is two.attrs and one.attrs == attrs


def test_metadata_section_of_the_old_format_is_read():
    func = relay.Function([], relay.const(np.arange(3, dtype="int8")))
    text = relay.print_text(func, style="0.0.4")
    assert "\nMETADATA:\n{" in text
    relay.assert_structural_equal(relay.parse(text, infer=False)["main"], func)


# Faults -----------------------------------------------------------------------------------------


def _text(section: str) -> str:
    head = '#[version = "0.0.5"]\ndef @main() {\n  meta[relay.Constant][0]\n}\n#[metadata]\n'
    return head + section


def _graph(**node) -> str:
    nodes = [
        {"type_key": ""},
        {"type_key": "Map", "keys": ["relay.Constant"], "data": [2]},
        {"type_key": "Array", "data": [3]},
        node,
    ]
    return json.dumps({"root": 1, "nodes": nodes, "b64ndarrays": [ONES]})


def test_undamaged_graph_is_parsed():
    good = _graph(type_key="relay.Constant", attrs={"data": "0"})
    assert relay.parse(_text(good))["main"].body.numpy().tolist() == [1, 1]


@pytest.mark.parametrize(
    "section, message",
    [
        ("", "not valid JSON"),
        ('{"root": 1', "not valid JSON"),
        ("[" * 100_000, "JSON|cannot be read"),
        ("[]", "JSON object"),
        ('{"nodes": []}', "no 'root'"),
        ('{"root": 9, "nodes": []}', "node 9 does not exist"),
        (_graph(type_key="relay.Constant", attrs={"data": "7"}), "array 7 does not exist"),
        (_graph(type_key="relay.Constant"), "no 'data'"),
        (_graph(type_key="Target", attrs={}), "'Target'"),
        (_graph(type_key="Array", data=[3]), "deeper"),
        (_graph(type_key="Array", data=[99]), "node 99 does not exist"),
        (_graph(type_key="Array", data=["x"]), "cannot be read"),
        (_graph(type_key=None), "None"),
        (_graph(type_key="relay.Constant", attrs={"data": "0"}) + " def", "nothing may follow"),
    ],
)
def test_damaged_section_is_refused(section: str, message: str):
    with pytest.raises(ParseError, match=message) as caught:
        relay.parse(_text(section), "bad.relay")
    assert caught.value.source == "bad.relay" and caught.value.line >= 5


def test_missing_entry_is_named():
    text = _text(_graph(type_key="relay.Constant", attrs={"data": "0"}))
    with pytest.raises(ParseError, match="but not number 3"):
        relay.parse(text.replace("[0]", "[3]", 1))
    with pytest.raises(ParseError, match="entry of type Map"):
        relay.parse(text.replace("relay.Constant][0]", "Map][0]", 1))


def test_entry_of_another_type_is_refused():
    text = relay.const(np.ones(2, "int8")).astext()
    wrong = text.replace('"relay.Constant"\n      ]', '"relay.attrs.ClipAttrs"\n      ]')
    assert wrong != text
    message = "an entry of type 'relay.Constant' is listed under type 'relay.attrs.ClipAttrs'"
    with pytest.raises(ParseError, match=message):
        relay.parse_expr(wrong)


def test_function_attributes_may_be_expressions_and_types() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(3, 2))
    values = {
        "v": y,
        "t": relay.TensorType((3,), "int8"),
        "e": relay.nn.relu(y),
        "g": relay.GlobalVar("g"),
    }
    more = {"l": [relay.const(1), y], "p": relay.TupleType([relay.TensorType((4,))])}
    mod = IRModule.from_expr(relay.Function([x], relay.nn.relu(x)).with_attrs({**values, **more}))
    attrs = relay.parse(mod.astext())["main"].attrs
    assert attrs["v"].name_hint == "y" and attrs["v"].type_annotation == y.type_annotation
    assert attrs["e"].args[0] is attrs["v"] is attrs["l"][1]
    assert (attrs["t"], attrs["p"]) == (values["t"], more["p"])
    assert attrs["g"].name_hint == "g" and attrs["l"][0].numpy() == 1
    relay.assert_structural_equal(attrs["e"], values["e"], map_free_vars=True)
    assert (
        relay.parse(mod.astext()).astext()
        == relay.parse(relay.parse(mod.astext()).astext()).astext()
    )
