"""Reads modules, expressions, types and attributes from TVM's JSON, as
`tvm.ir.save_json` of TVM 0.6 to 0.16 wrote it.

The JSON is the flat list of nodes that `metadata.py` describes, here with nodes of every kind. Each
node is created after the nodes that it refers to, without recursion.

Source: `SaveJSON` of TVM 0.16, and `json_compact.py` for differences of 0.6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from byoc_lab.errors import ParseError
from byoc_lab.relay.ir import adt, expr, types
from byoc_lab.relay.ir.attrs import ATTRS_TYPES, Attrs, DictAttrs, attrs_type
from byoc_lab.relay.ir.dataflow import VarId
from byoc_lab.relay.ir.dims import Any as AnyDim
from byoc_lab.relay.ir.dims import symbol
from byoc_lab.relay.ir.foreign import named_op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.ir.span import SequentialSpan, SourceName, Span
from byoc_lab.relay.text.json.decoding import whole_json
from byoc_lab.relay.text.json.metadata import UNREADABLE, GraphReader, MetaTable, UnknownEntryError
from byoc_lab.relay.text.json.object_fields import is_object
from byoc_lab.relay.text.parser_meta import ElidedAttrs

Fields = dict[str, Any]
NoneType = type(None)
Kind = type | tuple[type, ...] | list[type]


def read_node_json(text: str) -> Any:
    """The root node in the JSON. Raises ParseError for text that TVM did not write."""
    try:
        return _NodeReader(whole_json(text)).whole()
    except UNREADABLE as error:
        what = f"no {error}" if isinstance(error, KeyError) else error
        raise ParseError(f"the JSON cannot be read: {what}", "JSON", 1, 1) from error


def read_nodes(text: str, arrays: Sequence[NDArray]) -> tuple[Any, ...]:
    """The nodes of a trace saved in format version 1, with separately stored arrays. Raises
    ParseError for other texts."""
    try:
        found = SeparateArrays(whole_json(text), arrays).whole()
    except UNREADABLE as error:
        raise ParseError(f"the JSON cannot be read: {error!r}", "JSON", 1, 1) from error
    if not isinstance(found, tuple):
        raise ParseError("the JSON must be a list of nodes", "JSON", 1, 1)
    return found


def read_table(graph: Any, arrays: Sequence[NDArray]) -> MetaTable:
    """The entries of a metadata section by type, with separately stored arrays. Entries of unknown
    types, such as a Target, are elided.

    Raises ParseError.
    """
    try:
        return _RecordedTable(graph, arrays).table()
    except UNREADABLE as error:
        raise ParseError(f"the metadata cannot be read: {error!r}", "metadata", 1, 1) from error


def metadata_reader(graph: Any) -> GraphReader:
    """A reader for a metadata section; it reads expressions and types if the section has any."""
    nodes = graph.get("nodes") if isinstance(graph, dict) else None
    keys = {str(n.get("type_key")) for n in nodes or () if isinstance(n, dict)}
    more = any(_kind(key) in _NODE_BUILDERS for key in keys - {"relay.Constant"})
    return _NodeReader(graph) if more else GraphReader(graph)


class _NodeReader(GraphReader):
    def __init__(self, graph: Any):
        super().__init__(graph)
        version = str(graph.get("attrs", {}).get("tvm_version", ""))
        # In later versions, a string is a separate node.
        self.plain_strings = version.startswith("0.6")

    def whole(self) -> Any:
        """The root, after everything below it."""
        stack, entered = [self.root], set()
        while stack:
            at = stack[-1]
            if at in self.made or at in entered:
                stack.pop()
                self.value(at)
                continue
            entered.add(at)
            missing = [n for n in self.references(at) if n not in self.made]
            if not entered.isdisjoint(missing):  # a node that waits for this node
                raise ValueError(f"node {at} is part of a reference cycle")
            stack += missing
        return self.made[self.root]

    def references(self, at: int) -> list[int]:
        """The nodes that are parts of node `at`."""
        node = self.node(at)
        found = list(map(int, node["data"])) if "data" in node else []
        attrs = node.get("attrs")
        if attrs:
            texts = [attrs[name] for name in _references(node.get("type_key", "")) if name in attrs]
            found += [int(text) for text in texts if str(text).isdecimal()]
        return found

    def make(self, node: dict[str, Any], depth: int) -> Any:
        key, attrs = node.get("type_key", ""), node.get("attrs", {})
        kind = _kind(key)
        if key in ATTRS_TYPES or kind not in _NODE_BUILDERS:
            return self.plain(node, depth)
        kinds, build = _NODE_BUILDERS[kind]
        found = {n: self.of_kind(attrs, n, wanted) for n, wanted in kinds.items() if n in attrs}
        made = build(self, {**attrs, **found, "name": self.name(node)})
        checked = self.of_kind(attrs, "_checked_type_", TYPE)
        span = self.of_kind(attrs, "span", (Span, NoneType))
        known = checked is not None or span is not None
        if (
            known
            and isinstance(made, expr.Expr)
            and not isinstance(made, (expr.Op, adt.Constructor))
        ):
            made = made.with_type(checked, span=span)
        return made

    def of_kind(self, attrs: Fields, name: str, kind: Kind) -> Any:
        """The value of a field. Raises ValueError if it is of another kind."""
        found = self.value(attrs[name]) if name in attrs else None
        if isinstance(kind, list):
            wanted, parts = tuple(kind), () if found is None else found
            good = isinstance(parts, tuple) and all(isinstance(part, wanted) for part in parts)
        else:
            good = isinstance(found, kind)
        if not good:
            raise ValueError(f"field {name!r} is a {type(found).__name__}, or holds invalid values")
        return found

    def plain(self, node: dict[str, Any], depth: int) -> Any:
        """Nodes that are not expressions: numbers, strings, containers, attributes, source
        locations."""
        key, attrs = node.get("type_key", ""), node.get("attrs", {})
        name = node.get("repr_str", node.get("global_key", ""))
        if key in ("Map", "StrMap") and "keys" not in node:
            flat = [self.value(i, depth) for i in node.get("data", ())]
            return dict(zip(flat[::2], flat[1::2], strict=True))
        if key == "SequentialSpan":
            return SequentialSpan(self.value(attrs["spans"], depth))
        if key == "Span":
            numbers = (int(attrs[n]) for n in ("line", "end_line", "column", "end_column"))
            return Span(self.value(attrs["source_name"], depth), *numbers)
        if key in ("SourceName", "EnvFunc"):
            return SourceName(name) if key == "SourceName" else str(name)
        if _kind(key) == "Op" and not str(name).startswith("tir."):
            return named_op(str(name))
        if _kind(key) == "Any":
            return AnyDim()  # a size that is known at run time only
        if key in ("Variable", "SizeVar"):  # the names in TVM 0.6
            return symbol(str(attrs["name"]), "tir.SizeVar" if key == "SizeVar" else "tir.Var")
        return super().make(node, depth)

    def name(self, node: dict[str, Any]) -> str:
        """The name of a named node: inline in 0.6, else a separate string node."""
        attrs = node.get("attrs", {})
        if "name_hint" in attrs:
            written = attrs["name_hint"]
            return str(written if self.plain_strings else self.value(written))
        if "var" in attrs and _kind(node["type_key"]) in ("TypeVar", "GlobalTypeVar"):
            return str(self.node(attrs["var"])["attrs"]["name"])  # TVM 0.6
        return ""


class SeparateArrays(_NodeReader):
    """Reads a graph whose arrays are stored separately."""

    def __init__(self, graph: Any, arrays: Sequence[NDArray]):
        super().__init__(graph)
        self.separate = arrays

    def array(self, index: Any) -> Any:
        number = int(index)
        if not 0 <= number < len(self.separate):
            raise ValueError(f"array {index} does not exist")
        return self.separate[number]


class _RecordedTable(SeparateArrays):
    """Reads a metadata section; unknown entries are accepted."""

    def entry(self, key: str, index: Any) -> Any:
        try:
            return super().entry(key, index)
        except UnknownEntryError:
            if key in ATTRS_TYPES:  # a part of it is unknown, such as the Target of a device
                return ElidedAttrs(attrs_type(key), dict(attrs_type(key).make()))
            return DictAttrs({"type_key": key}, elided=True)


@cache
def _references(key: str) -> tuple[str, ...]:
    """The fields of a node that may be other nodes."""
    if key in ATTRS_TYPES:
        schema = ATTRS_TYPES[key]
        return tuple(f.name for f in schema.fields if is_object(schema, f))
    if key == "DictAttrs":
        return ("__dict__",)
    kind = _kind(key)
    names = tuple(_NODE_BUILDERS[kind][0]) if kind in _NODE_BUILDERS else ()
    is_expression = issubclass(_NODES.get(kind, object), expr.Expr)
    return (*names, "_checked_type_", "span") if is_expression else names


@cache
def _kind(key: str) -> str:
    """The name of a node's class, without the namespace, which depends on the version."""
    name = key.rpartition(".")[2]
    # "" marks nodes of dimensions, which `metadata.py` reads.
    return "" if key.startswith("tir.") and name != "Any" else name


def _flag(text: Any) -> bool:
    return str(text) not in ("0", "")


def _device(fields: Fields) -> Attrs | None:
    device = fields.get("virtual_device_")
    open_device = device is None or device == attrs_type("VirtualDevice").make()
    return None if open_device else device


def _var(reader: _NodeReader, f: Fields) -> expr.Var:
    return expr.Var(f["vid"].name_hint, f["type_annotation"], vid=f["vid"], device=_device(f))


def _function(reader: _NodeReader, f: Fields) -> expr.Function:
    attrs = f.get("attrs") or DictAttrs()
    given = (f["params"], f["body"], f["ret_type"], f["type_params"], attrs)
    return expr.Function(*given, device=_device(f))


def _constant(reader: _NodeReader, f: Fields) -> expr.Constant:
    return expr.Constant(reader.array(f["data"]))


def _module(reader: _NodeReader, f: Fields) -> IRModule:
    return IRModule(f["functions"], f.get("type_definitions") or {}, f.get("attrs") or None)


def _relation(reader: _NodeReader, f: Fields) -> types.TypeRelation:
    return types.TypeRelation(f["func"], f["args"], int(f["num_inputs"]), f["attrs"])


TYPE, ATTRS = (types.Type, NoneType), (Attrs, NoneType)
EXPRS: Kind = [expr.Expr]
TYPES: Kind = [types.Type]
# Class name of a node -> the kinds of those fields that are nodes (in a list: an array of nodes, or
# None), and the function that creates the node from its fields.
_NODE_BUILDERS: dict[str, tuple[dict[str, Kind], Callable[[_NodeReader, Fields], Any]]] = {
    "Id": ({}, lambda r, f: VarId(f["name"])),
    "Var": ({"vid": VarId, "type_annotation": TYPE, "virtual_device_": ATTRS}, _var),
    "GlobalVar": ({}, lambda r, f: expr.GlobalVar(f["name"])),
    "Constant": ({}, _constant),
    "Call": (
        {"op": expr.Expr, "args": EXPRS, "attrs": ATTRS, "type_args": TYPES},
        lambda r, f: expr.Call(f["op"], f["args"], f["attrs"], f["type_args"]),
    ),
    "Tuple": ({"fields": EXPRS}, lambda r, f: expr.Tuple(f["fields"])),
    "TupleGetItem": (
        {"tuple_value": expr.Expr},
        lambda r, f: expr.TupleGetItem(f["tuple_value"], int(f["index"])),
    ),
    "Let": (
        {"var": expr.Var, "value": expr.Expr, "body": expr.Expr},
        lambda r, f: expr.Let(f["var"], f["value"], f["body"]),
    ),
    "If": (
        {"cond": expr.Expr, "true_branch": expr.Expr, "false_branch": expr.Expr},
        lambda r, f: expr.If(f["cond"], f["true_branch"], f["false_branch"]),
    ),
    "RefCreate": ({"value": expr.Expr}, lambda r, f: expr.RefCreate(f["value"])),
    "RefRead": ({"ref": expr.Expr}, lambda r, f: expr.RefRead(f["ref"])),
    "RefWrite": (
        {"ref": expr.Expr, "value": expr.Expr},
        lambda r, f: expr.RefWrite(f["ref"], f["value"]),
    ),
    "Function": (
        {
            "params": [expr.Var],
            "body": expr.Expr,
            "ret_type": TYPE,
            "type_params": [types.TypeVar],
            "attrs": ATTRS,
            "virtual_device_": ATTRS,
        },
        _function,
    ),
    "Match": (
        {"data": expr.Expr, "clauses": [adt.Clause]},
        lambda r, f: adt.Match(f["data"], f["clauses"], _flag(f["complete"])),
    ),
    "Clause": ({"lhs": adt.Pattern, "rhs": expr.Expr}, lambda r, f: adt.Clause(f["lhs"], f["rhs"])),
    "PatternWildcard": ({}, lambda r, f: adt.PatternWildcard()),
    "PatternVar": ({"var": expr.Var}, lambda r, f: adt.PatternVar(f["var"])),
    "PatternTuple": ({"patterns": [adt.Pattern]}, lambda r, f: adt.PatternTuple(f["patterns"])),
    "PatternConstructor": (
        {"constructor": adt.Constructor, "patterns": [adt.Pattern]},
        lambda r, f: adt.PatternConstructor(f["constructor"], f["patterns"]),
    ),
    "Constructor": (
        {"inputs": TYPES, "belong_to": types.GlobalTypeVar},
        lambda r, f: adt.Constructor(f["name"], f["inputs"], f["belong_to"]),
    ),
    "TypeData": (
        {
            "header": types.GlobalTypeVar,
            "type_vars": [types.TypeVar],
            "constructors": [adt.Constructor],
        },
        lambda r, f: adt.TypeData(f["header"], f["type_vars"], f["constructors"]),
    ),
    "TensorType": ({"shape": [object]}, lambda r, f: types.TensorType(f["shape"], f["dtype"])),
    "TupleType": ({"fields": TYPES}, lambda r, f: types.TupleType(f["fields"])),
    "FuncType": (
        {
            "arg_types": TYPES,
            "ret_type": types.Type,
            "type_params": [types.TypeVar],
            "type_constraints": TYPES,
        },
        lambda r, f: types.FuncType(
            f["arg_types"], f["ret_type"], f["type_params"], f["type_constraints"]
        ),
    ),
    "RefType": ({"value": types.Type}, lambda r, f: types.RefType(f["value"])),
    "TypeCall": (
        {"func": types.Type, "args": TYPES},
        lambda r, f: types.TypeCall(f["func"], f["args"]),
    ),
    "TypeVar": ({}, lambda r, f: types.TypeVar(f["name"], types.TypeKind(int(f["kind"])))),
    "GlobalTypeVar": (
        {},
        lambda r, f: types.GlobalTypeVar(f["name"], types.TypeKind(int(f["kind"]))),
    ),
    "IncompleteType": ({}, lambda r, f: types.IncompleteType(types.TypeKind(int(f["kind"])))),
    "TypeRelation": ({"func": object, "args": TYPES, "attrs": ATTRS}, _relation),
    "IRModule": (
        {"functions": dict, "type_definitions": (dict, NoneType), "attrs": (Attrs, dict, NoneType)},
        _module,
    ),
}
_NODES: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        expr.Var, expr.GlobalVar, expr.Constant, expr.Call, expr.Tuple, expr.TupleGetItem,
        expr.Let, expr.If, expr.RefCreate, expr.RefRead, expr.RefWrite, expr.Function, adt.Match,
    )
}  # fmt: skip
