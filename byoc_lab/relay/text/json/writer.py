"""Writes modules, expressions, types and attributes as TVM's JSON (`tvm.ir.save_json`).

TVM 0.16 and `reader.py` read it, with types and spans. Each node is listed after the nodes that it
refers to, without recursion. Source: `SaveJSON` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from byoc_lab.relay.ir import adt, expr, types
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.dataflow import VarId
from byoc_lab.relay.ir.dims import Any as AnyDim
from byoc_lab.relay.ir.foreign import ForeignOp
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.ir.span import SequentialSpan, Span
from byoc_lab.relay.text.json.metadata import NodeGraphWriter, encode_array


class Written(str):
    """A field value that is written literally; all other values are nodes."""

    __slots__ = ()


def write_node_json(root: Any) -> str:
    """The JSON of a node. Raises AttributeValueError for a value without JSON form."""
    writer = NodeWriter()
    return writer.text(writer.whole(root))


def metadata_writer(table: Mapping[str, list[Any]]) -> NodeGraphWriter:
    """A writer for a metadata section; it writes expressions and types if the table has any."""
    return NodeWriter() if any(key in _KEYS for key in table) else NodeGraphWriter()


def node_key(value: Any) -> str | None:
    """TVM's type key of an expression or type; None for constants and other values."""
    if isinstance(value, expr.Op):
        return "Op"
    key, _ = _KINDS.get(type(value), (None, None))
    return key if key in _KEYS else None


class NodeWriter(NodeGraphWriter):
    def __init__(self) -> None:
        super().__init__()
        self.placed: dict[int, int] = {}  # key: id of a node
        self.kept: list[Any] = []  # keeps nodes alive, so that their ids are not reused

    def whole(self, root: Any) -> int:
        """The index of the root, after everything below it."""
        placed = self.placed
        stack: list[tuple[Any, dict[str, Any] | None]] = [(root, None)]
        while stack:
            node, fields = stack.pop()
            if id(node) in placed:
                continue
            if fields is None:
                fields = self.fields(node)
                below = [n for v in fields.values() for n in _nodes_in(v) if id(n) not in placed]
                if below:
                    stack.append((node, fields))
                    stack += [(n, None) for n in reversed(below)]
                    continue
            placed[id(node)] = self.node(node, fields)
            self.kept.append(node)
        return placed[id(root)] if id(root) in placed else self.add(root)

    def fields(self, node: Any) -> dict[str, Any]:
        """The fields of a node under TVM's names."""
        if isinstance(node, Attrs):
            return dict(node.items())
        if type(node) not in _KINDS:
            return {}
        _, fields = _KINDS[type(node)]
        found = fields(node)
        if isinstance(node, expr.Expr):
            checked = node.checked_type if node.is_typed else None
            found |= {"_checked_type_": checked, "span": node.span}
        return found

    def node(self, node: Any, fields: dict[str, Any]) -> int:
        """The index of a new node with these fields; nodes in the fields have been placed
        before."""
        if isinstance(node, expr.Op):
            name = node.full_name if isinstance(node, ForeignOp) else node.name
            return self.reserve({"type_key": "Op", "repr_str": name})
        if isinstance(node, Attrs):
            return self.dict_attrs(node) if node.schema is None else self.attrs(node)
        if type(node) not in _KINDS:
            return self.add(node)
        key, _ = _KINDS[type(node)]
        if isinstance(node, expr.Expr) and not isinstance(node, adt.Constructor):
            device = getattr(node, "device", None)
            fields["virtual_device_"] = device if device is not None else _OPEN
        written = {name: self.field(value) for name, value in sorted(fields.items())}
        return self.reserve({"type_key": key, "attrs": written})

    def field(self, value: Any) -> str:
        if isinstance(value, NDArray):  # an index in the list of arrays
            self.arrays.append(encode_array(value.view()))
            return str(len(self.arrays) - 1)
        return value if isinstance(value, Written) else str(self.add(value))

    def add(self, value: Any) -> int:
        if id(value) in self.placed:
            return self.placed[id(value)]
        if value is _OPEN:
            return self.virtual_device()
        if isinstance(value, (expr.Expr, types.Type)) and not isinstance(value, expr.Constant):
            return self.whole(value)
        if value is _NO_SOURCES:
            return self.node(value, self.fields(value))
        if isinstance(value, AnyDim):
            return self.reserve({"type_key": "tir.Any", "attrs": {"dtype": "int32", "span": "0"}})
        if isinstance(value, Span):
            name = value.source_name
            named = {"type_key": "SourceName", "repr_str": str(name)}
            source = 0 if name is None else self.reserve(named)
            places = ("line", "end_line", "column", "end_column")
            fields = {"source_name": str(source)}
            fields |= {name: str(getattr(value, name)) for name in places}
            if isinstance(value, SequentialSpan):
                fields["spans"] = str(self.add(value.spans))
                return self.reserve({"type_key": "SequentialSpan", "attrs": fields})
            return self.reserve({"type_key": "Span", "attrs": fields})
        if isinstance(value, Mapping):
            return self.map(value)
        return super().add(value)

    def map(self, value: Mapping[Any, Any]) -> int:
        """The node of a map; its keys are written literally if all of them are strings."""
        items = list(value.items())
        if not items:
            return self.reserve({"type_key": "Map"})
        if all(isinstance(k, str) for k, _ in items):
            data = [self.add(v) for _, v in items]
            return self.reserve(
                {"type_key": "Map", "keys": [str(k) for k, _ in items], "data": data}
            )
        data = [self.add(part) for item in items for part in item]
        return self.reserve({"type_key": "Map", "data": data})


def _nodes_in(value: Any) -> Sequence[Any]:
    """The nodes in a field: the field itself, or the elements of containers."""
    if value is None or isinstance(value, (str, int, float)):
        return ()
    if isinstance(value, _NODES):
        return (value,)
    if isinstance(value, Mapping):
        return [n for item in value.items() for part in item for n in _nodes_in(part)]
    if isinstance(value, (tuple, list)):
        return [n for part in value for n in _nodes_in(part)]
    return ()


_NODES = (expr.Expr, types.Type, adt.Pattern, adt.Clause, VarId, Attrs)
_OPEN = object()  # any device


def _literal(value: Any) -> Written:
    return Written(int(value) if isinstance(value, bool) else value)


def _module(mod: IRModule) -> dict[str, Any]:
    return {
        "functions": dict(mod.functions),
        "type_definitions": dict(mod.type_definitions),
        "attrs": mod.attrs if len(mod.attrs) else None,
        "global_var_map_": {gv.name_hint: gv for gv in mod.functions},
        "global_type_var_map_": {v.name_hint: v for v in mod.type_definitions},
        "source_map": _NO_SOURCES,
        "global_infos": {},
    }


class _Sources:
    """The source texts of a module; the list is always empty."""


_NO_SOURCES = _Sources()
_NOTHING = {"span": None}

# A node's class -> TVM's type key, and its fields. Every expression also has its type and span.
_KINDS: dict[type, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    VarId: ("relay.Id", lambda n: {"name_hint": n.name_hint}),
    expr.Var: (
        "relay.Var",
        lambda n: {"vid": n.vid, "type_annotation": n.type_annotation, "virtual_device_": n.device},
    ),
    expr.GlobalVar: ("GlobalVar", lambda n: {"name_hint": n.name_hint, "struct_info_": None}),
    expr.Constant: ("relay.Constant", lambda n: {"data": n.data}),
    expr.Call: (
        "relay.Call",
        lambda n: {"op": n.op, "args": n.args, "attrs": n.attrs, "type_args": n.type_args},
    ),
    expr.Tuple: ("relay.Tuple", lambda n: {"fields": n.fields}),
    expr.TupleGetItem: (
        "relay.TupleGetItem",
        lambda n: {"tuple_value": n.tuple_value, "index": _literal(n.index)},
    ),
    expr.Let: ("relay.Let", lambda n: {"var": n.var, "value": n.value, "body": n.body}),
    expr.If: (
        "relay.If",
        lambda n: {"cond": n.cond, "true_branch": n.true_branch, "false_branch": n.false_branch},
    ),
    expr.RefCreate: ("relay.RefCreate", lambda n: {"value": n.value}),
    expr.RefRead: ("relay.RefRead", lambda n: {"ref": n.ref}),
    expr.RefWrite: ("relay.RefWrite", lambda n: {"ref": n.ref, "value": n.value}),
    expr.Function: (
        "relay.Function",
        lambda n: {
            "params": n.params,
            "body": n.body,
            "ret_type": n.ret_type,
            "type_params": n.type_params,
            "attrs": n.attrs if len(n.attrs) else None,
            "virtual_device_": n.device,
        },
    ),
    adt.Match: (
        "relay.Match",
        lambda n: {"data": n.data, "clauses": n.clauses, "complete": _literal(n.complete)},
    ),
    adt.Clause: ("relay.Clause", lambda n: {"lhs": n.lhs, "rhs": n.rhs}),
    adt.PatternWildcard: ("relay.PatternWildcard", lambda n: {"span": n.span}),
    adt.PatternVar: ("relay.PatternVar", lambda n: {"var": n.var, "span": n.span}),
    adt.PatternTuple: ("relay.PatternTuple", lambda n: {"patterns": n.patterns, "span": n.span}),
    adt.PatternConstructor: (
        "relay.PatternConstructor",
        lambda n: {"constructor": n.constructor, "patterns": n.patterns, "span": n.span},
    ),
    adt.Constructor: (
        "relay.Constructor",
        lambda n: {
            "name_hint": n.name_hint,
            "inputs": n.inputs,
            "belong_to": n.belong_to,
            "tag": _literal(n.tag),
        },
    ),
    adt.TypeData: (
        "relay.TypeData",
        lambda n: {
            "header": n.header,
            "type_vars": n.type_vars,
            "constructors": n.constructors,
            "span": None,
        },
    ),
    types.TensorType: (
        "relay.TensorType",
        lambda n: {"shape": n.shape, "dtype": _literal(n.dtype), **_NOTHING},
    ),
    types.TupleType: ("TupleType", lambda n: {"fields": n.fields, **_NOTHING}),
    types.FuncType: (
        "FuncType",
        lambda n: {
            "arg_types": n.arg_types,
            "ret_type": n.ret_type,
            "type_params": n.type_params,
            "type_constraints": n.type_constraints,
            **_NOTHING,
        },
    ),
    types.RefType: ("relay.RefType", lambda n: {"value": n.value, **_NOTHING}),
    types.TypeCall: ("TypeCall", lambda n: {"func": n.func, "args": n.args, **_NOTHING}),
    types.TypeVar: (
        "TypeVar",
        lambda n: {"name_hint": n.name_hint, "kind": _literal(int(n.kind)), **_NOTHING},
    ),
    types.GlobalTypeVar: (
        "GlobalTypeVar",
        lambda n: {"name_hint": n.name_hint, "kind": _literal(int(n.kind))},
    ),
    types.IncompleteType: ("IncompleteType", lambda n: {"kind": _literal(int(n.kind)), **_NOTHING}),
    types.TypeRelation: (
        "TypeRelation",
        lambda n: {
            "func": n.func,
            "args": n.args,
            "num_inputs": _literal(n.num_inputs),
            "attrs": n.attrs,
            **_NOTHING,
        },
    ),
    IRModule: ("IRModule", _module),
    _Sources: ("SourceMap", lambda n: {"source_map": {}}),
}

# The classes of nodes that may be attribute values.
_KEYS = {"Op"} | {
    key
    for kind, (key, _) in _KINDS.items()
    if issubclass(kind, (expr.Expr, types.Type)) and kind is not expr.Constant
}
