"""The metadata section of Relay text: JSON for values that have no form in a line of text.

A text refers to an entry as `meta[<type>][<index>]`. The JSON is a flat list of nodes that refer to
each other by index (0 is "nothing"); arrays are base64 of a small binary header and the raw bytes,
so constants are exact. Nodes without a use in byoc_lab (virtual devices, spans, the checked type of
a constant) are written as TVM requires and skipped when reading.

Source: `SaveJSON`/`LoadJSON` and `NDArray::Save` of TVM 0.16, checked against their output.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from byoc_lab.errors import AttributeValueError
from byoc_lab.relay.ir.attrs import (
    ATTRS_TYPES,
    Attrs,
    AttrsType,
    DictAttrs,
    boolean,
    dtype,
    number,
    string,
)
from byoc_lab.relay.ir.dims import Any as AnyDim
from byoc_lab.relay.ir.dims import SizeName, Symbolic
from byoc_lab.relay.ir.expr import Constant, Expr
from byoc_lab.relay.ir.ndarray import numpy_dtype
from byoc_lab.relay.ir.source_map import Source
from byoc_lab.relay.text.dim_expressions import EXPRESSIONS, SYMBOLS, Tree, from_node, tree_of
from byoc_lab.relay.text.dim_expressions import type_key as length_key
from byoc_lab.relay.text.json.decoding import decode_json
from byoc_lab.relay.text.json.object_fields import is_object

COMPILER_ATTRS_KEY = "relay.attrs.CompilerAttrs"
MetaTable = dict[str, list[Any]]
_MAGIC = 0xDD5E40F096B4A13F
_HEADER = struct.Struct("<QQiiiBBH")  # magic, reserved, device type and id, rank, code, bits, lanes
_CODES = {"i": 0, "u": 1, "b": 1, "f": 2}
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat"}
_CPU = (1, 0)
_MAX_DEPTH = 64
_MAX_PARTS = 1_000_000  # maximum number of parts of a value, each counted as often as it is printed
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|(.))")
_SURROGATE = re.compile(r"[\ud800-\udfff]")  # half of a surrogate pair, which UTF-8 cannot encode
# The exceptions that reading JSON of an unexpected structure may raise.
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


def type_key(value: Any) -> str:
    """The type name under which the section stores a value."""
    if isinstance(value, Constant):
        return "relay.Constant"
    if isinstance(value, Symbolic):
        return length_key(value)
    if isinstance(value, (DictAttrs, Mapping)):
        return "Map"
    if isinstance(value, Attrs):
        return value.type_key
    if isinstance(value, (tuple, list)):
        return "Array"
    raise AttributeValueError(f"a {type(value).__name__} cannot be written as metadata: {value!r}")


# Arrays ------------------------------------------------------------------------------------------


def encode_array(array: np.ndarray) -> str:
    """An array as base64 of TVM's binary form. Raises AttributeValueError if that form lacks the
    dtype."""
    if array.dtype.name == "bfloat16":
        code, bits = 4, 16
    elif array.dtype.kind in _CODES:
        code = _CODES[array.dtype.kind]
        bits = 1 if array.dtype.kind == "b" else array.dtype.itemsize * 8
    else:
        raise AttributeValueError(f"constants of dtype {array.dtype.name} cannot be written")
    data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    header = _HEADER.pack(_MAGIC, 0, *_CPU, array.ndim, code, bits, 1)
    sizes = struct.pack(f"<{array.ndim + 1}q", *array.shape, len(data))
    return base64.b64encode(header + sizes + data).decode("ascii")


def decode_array(text: str) -> np.ndarray:
    """The array of a base64 blob. Raises ValueError for damaged data."""
    try:
        blob = base64.b64decode(text, validate=True)
        magic, _, _, _, rank, code, bits, lanes = _HEADER.unpack_from(blob)
        if magic != _MAGIC or lanes != 1 or code not in _KINDS or not 0 <= rank <= 64:
            raise ValueError(
                f"it must begin with {_MAGIC:#x} and hold plain numbers; found {magic:#x}, "
                f"rank {rank}, type code {code}, {lanes} lanes"
            )
        *shape, size = struct.unpack_from(f"<{rank + 1}q", blob, _HEADER.size)
        kind = _dtype(code, bits)
        data = blob[_HEADER.size + 8 * (rank + 1) :]
        if min(shape, default=0) < 0 or len(data) != size:
            raise ValueError(f"it declares {size} bytes of data, but has {len(data)}")
        return np.frombuffer(data, kind).reshape(shape)
    except (binascii.Error, struct.error, TypeError, ValueError) as error:
        raise ValueError(f"an array in the metadata is damaged: {error}") from None


def _dtype(code: int, bits: int) -> np.dtype:
    if (code, bits) == (1, 1):
        return np.dtype("bool")
    dtype = numpy_dtype(f"{_KINDS[code]}{bits}")
    return dtype if _KINDS[code] == "bfloat" else dtype.newbyteorder("<")


# Reading -----------------------------------------------------------------------------------------


def read_metadata(
    source: Source, start: int, reader: Callable[[Any], GraphReader] | None = None
) -> tuple[MetaTable, int]:
    """The entries of the JSON that begins at `start`, by type, and the offset of its end.

    `reader` creates the values; the reader of `reader.py` also supports expressions and types.
    Raises ParseError, also for entries of an unsupported type.
    """
    begin = next((i for i in range(start, len(source.text)) if not source.text[i].isspace()), start)
    try:
        graph, end = decode_json(source.text, begin)
        return (reader or GraphReader)(graph).table(), end
    except json.JSONDecodeError as error:
        message = f"the metadata section is not valid JSON: {error.msg}"
        raise source.error(message, error.pos) from None
    except UNREADABLE as error:
        what = f"no {error}" if isinstance(error, KeyError) else error
        raise source.error(f"the metadata section cannot be read: {what}", begin) from None


class UnknownEntryError(ValueError):
    """An entry has a type that byoc_lab does not know."""


class GraphReader:
    """Creates the values of the nodes of one JSON graph; raises ValueError for any fault in the
    graph."""

    def __init__(self, graph: Any):
        if not isinstance(graph, dict) or not isinstance(graph.get("nodes"), list):
            raise ValueError("it must be a JSON object with 'root' and 'nodes'")
        self.nodes: list[dict[str, Any]] = graph["nodes"]
        self.arrays: list[str] = graph.get("b64ndarrays", [])
        self.root = int(graph["root"])
        self.made: dict[int, Any] = {}
        self.parts: dict[int, int] = {}  # the number of values that each value consists of
        self.counts: list[int] = []  # numbers of parts of the values being created, innermost last

    def table(self) -> MetaTable:
        root = self.node(self.root)
        entries = zip(root.get("keys", ()), root.get("data", ()), strict=True)
        return {k: [self.entry(k, i) for i in self.node(n).get("data", ())] for k, n in entries}

    def entry(self, key: str, index: Any) -> Any:
        value, found = self.value(index), self.node(index).get("type_key")
        if found != key:
            raise ValueError(f"an entry of type {found!r} is listed under type {key!r}")
        return value

    def node(self, index: Any) -> dict[str, Any]:
        number = int(index)
        if not 0 <= number < len(self.nodes) or not isinstance(self.nodes[number], dict):
            raise ValueError(f"node {index} does not exist")
        return self.nodes[number]

    def value(self, index: Any, depth: int = 0) -> Any:
        """The value of the node with that index, always the same object."""
        number = int(index)
        if number not in self.made:
            node = self.node(number)
            if depth > _MAX_DEPTH:
                raise ValueError(f"it is nested deeper than {_MAX_DEPTH}")
            self.counts.append(1)
            made = self.make(node, depth + 1)
            if isinstance(made, int) and not -(2**63) <= made < 2**64:
                raise ValueError(f"node {number} is an integer of more than 64 bits")
            parts = self.counts.pop()  # an expression is printed once, wherever it is used
            self.made[number], self.parts[number] = made, 1 if isinstance(made, Expr) else parts
        if self.counts:
            self.counts[-1] += self.parts[number]
            if self.counts[-1] > _MAX_PARTS:
                raise ValueError(f"a value has more than {_MAX_PARTS:,} parts")
        return self.made[number]

    def make(self, node: dict[str, Any], depth: int) -> Any:
        key, attrs = node.get("type_key", ""), node.get("attrs", {})
        if key == "":
            return None
        if key == "relay.Constant":
            return Constant(self.array(attrs["data"]))
        if key == "runtime.String":
            if "repr_b64" in node:  # a non-ASCII string: 8 bytes of length, then bytes
                return base64.b64decode(node["repr_b64"])[8:].decode("utf-8")
            return str(node.get("repr_str", ""))
        if key == "IntImm":
            return bool(int(attrs["value"])) if attrs["dtype"] == "bool" else int(attrs["value"])
        if key == "FloatImm":
            return float(attrs["value"])
        if key == "Array":
            return tuple(self.value(i, depth) for i in node.get("data", ()))
        if key in ("Map", "StrMap"):
            keys, data = node.get("keys", ()), node.get("data", ())
            return {str(k): self.value(i, depth) for k, i in zip(keys, data, strict=True)}
        if key == "DictAttrs":
            return DictAttrs(self.value(attrs["__dict__"], depth))
        if key in SYMBOLS or key in EXPRESSIONS:
            return from_node(key, attrs, lambda index: self.value(index, depth))
        if key == "Op":
            return str(node.get("repr_str", ""))
        if key == "tir.Any":
            return AnyDim()
        if key in ATTRS_TYPES:
            schema = ATTRS_TYPES[key]
            known = {n: str(v) for n, v in attrs.items() if n in schema.by_name}
            return schema.make({n: self.field(schema, n, v) for n, v in known.items()})
        raise UnknownEntryError(f"entries of type {key!r} are not supported here")

    def array(self, index: Any) -> np.ndarray:
        """The array of that index in the section's separate list of arrays."""
        number = int(index)
        if not 0 <= number < len(self.arrays):
            raise ValueError(f"array {index} does not exist")
        return decode_array(self.arrays[number])

    def field(self, schema: AttrsType, name: str, text: str) -> Any:
        """The value of a field: a literal for plain numbers and strings, else an index."""
        field = schema.by_name[name]
        if field.kind is string:  # later versions store more fields as objects
            at = int(text) if text.isdigit() else -1
            is_index = 0 <= at < len(self.nodes)
            known = is_index and self.node(at).get("type_key") == "runtime.String"
            return self.value(at) if known else text
        if is_object(schema, field):
            return self.value(text)
        if field.kind is boolean:
            return text not in ("0", "")
        return float(text) if field.kind is number else text if field.kind is dtype else int(text)


# Writing -----------------------------------------------------------------------------------------


def write_metadata(table: Mapping[str, list[Any]], writer: NodeGraphWriter | None = None) -> str:
    """The JSON of a section with these entries, as TVM 0.16 lays it out.

    Expressions and types need the `writer` of `writer.py`. Raises AttributeValueError for an
    unsupported value.
    """
    writer = writer or NodeGraphWriter()
    lists: list[int] = []
    root = writer.reserve({"type_key": "Map", "keys": list(table), "data": lists})
    for key, items in table.items():
        entries: list[int] = []
        lists.append(writer.reserve({"type_key": "Array", "data": entries}))
        add = writer.dict_attrs if key == "DictAttrs" else writer.add
        entries += [add(item) for item in items]
    return writer.text(root)


def encoded(value: Any, indent: int | None = None) -> str:
    """JSON that TVM's reader understands."""
    written = _ESCAPE.sub(_raw, json.dumps(value, indent=indent, ensure_ascii=False))
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def _raw(escape: re.Match[str]) -> str:
    """A control character, unescaped: TVM's reader supports few escapes and needs none for these
    characters."""
    code, short = escape.groups()
    return chr(int(code, 16)) if code else {"b": "\b", "f": "\f"}.get(short, escape[0])


class NodeGraphWriter:
    """Lists nodes, which refer to each other by index."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = [{"type_key": ""}]
        self.arrays: list[str] = []
        self.device: int | None = None
        self.names: dict[SizeName, int] = {}

    def text(self, root: int) -> str:
        """The JSON of all nodes, with the index of the root node."""
        graph = {
            "root": root,
            "nodes": self.nodes,
            "b64ndarrays": self.arrays,
            "attrs": {"tvm_version": "0.16.0"},
        }
        return encoded(graph, indent=2)

    def reserve(self, node: dict[str, Any]) -> int:
        """The index of a new node; the nodes that it refers to come after it."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def add(self, value: Any) -> int:
        if value is None:
            return 0
        if isinstance(value, Constant):
            return self.constant(value)
        if isinstance(value, Symbolic):
            return self.length(tree_of(value))
        if isinstance(value, (bool, np.bool_)):
            return self.number("IntImm", "bool", int(value))
        if isinstance(value, (int, np.integer)):
            fits = -(2**31) <= value < 2**31
            return self.number("IntImm", "int32" if fits else "int64", int(value))
        if isinstance(value, (float, np.floating)):
            fits = abs(float(value)) <= float(np.finfo(np.float32).max)
            return self.number("FloatImm", "float32" if fits else "float64", float(value))
        if isinstance(value, str):
            return self.reserve(
                {"type_key": "runtime.String", **({"repr_str": value} if value else {})}
            )
        if isinstance(value, Attrs) and not isinstance(value, DictAttrs):
            return self.attrs(value)
        key = type_key(value)
        node: dict[str, Any] = {"type_key": key}
        at = self.reserve(node)
        if key == "Map":
            if len(value):
                node["keys"] = list(value)
                node["data"] = [self.add(v) for v in value.values()]
        else:
            node["data"] = [self.add(v) for v in value]
        return at

    def length(self, tree: Tree) -> int:
        """The node of a symbolic dimension; a name that occurs twice is one node."""
        if isinstance(tree, int):
            return self.add(tree)
        if isinstance(tree, SizeName):
            if tree not in self.names:
                fields = {"dtype": "int32"}
                at = self.names[tree] = self.reserve({"type_key": tree.key, "attrs": fields})
                fields["name"] = str(self.add(tree.name))
                kind = {"type_key": "PrimType", "attrs": {"dtype": "int32"}}
                fields |= {"span": "0", "type_annotation": str(self.reserve(kind))}
            return self.names[tree]
        key, a, b = tree
        fields = {}
        at = self.reserve({"type_key": key, "attrs": fields})
        fields |= {"a": str(self.length(a)), "b": str(self.length(b)), "dtype": "int32"}
        fields["span"] = "0"
        return at

    def dict_attrs(self, value: Any) -> int:
        fields: dict[str, str] = {}
        at = self.reserve({"type_key": "DictAttrs", "attrs": fields})
        fields["__dict__"] = str(self.add(value))
        return at

    def number(self, key: str, dtype: str, value: float) -> int:
        fields = {"dtype": dtype, "span": "0", "value": str(value)}
        return self.reserve({"type_key": key, "attrs": fields})

    def constant(self, value: Constant) -> int:
        self.arrays.append(encode_array(value.data.view()))
        fields = {"_checked_type_": "0", "data": str(len(self.arrays) - 1), "span": "0"}
        at = self.reserve({"type_key": "relay.Constant", "attrs": fields})
        fields["virtual_device_"] = str(self.virtual_device())
        return at

    def virtual_device(self) -> int:
        """The node for "any device", which TVM's reader needs on every constant."""
        if self.device is None:
            fields = {"device_type_int": "-1"}
            self.device = self.reserve({"type_key": "VirtualDevice", "attrs": fields})
            fields["memory_scope"] = str(self.reserve({"type_key": "runtime.String"}))
            fields.update(target="0", virtual_device_id="-1")
        return self.device

    def attrs(self, value: Attrs) -> int:
        fields: dict[str, str] = {}
        at = self.reserve({"type_key": value.type_key, "attrs": fields})
        assert value.schema is not None  # DictAttrs are written as a Map
        for field in sorted(value.schema.fields, key=lambda f: f.name):
            if field.name not in value:  # TVM lacks this field, and the value is its default
                continue
            item = value[field.name]
            if item is None:
                fields[field.name] = "0"
            elif is_object(value.schema, field):
                fields[field.name] = str(self.add(item))
            elif isinstance(item, bool):
                fields[field.name] = str(int(item))
            elif isinstance(item, float):
                fields[field.name] = f"{item:.17g}"
            else:
                fields[field.name] = str(item)
        return at
