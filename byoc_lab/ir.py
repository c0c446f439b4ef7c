"""`tvm.ir`, as far as Relay scripts use it."""

from __future__ import annotations

from typing import Any

from byoc_lab import passes as transform
from byoc_lab.passes.framework import instrument
from byoc_lab.relay.analysis.affine_type import TensorAffineType, TupleAffineType
from byoc_lab.relay.analysis.structural import assert_structural_equal, structural_equal
from byoc_lab.relay.analysis.structural_hash import structural_hash
from byoc_lab.relay.ir.attrs import (
    Attr,
    Attrs,
    AttrsType,
    DictAttrs,
    attrs_type,
    integer,
    integers,
    string,
)
from byoc_lab.relay.ir.expr import GlobalVar, Op, Span
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from byoc_lab.relay.op import register_op_attr


def from_1_to_10(value: Any) -> int:
    if not 1 <= integer(value) <= 10:
        raise ValueError
    return integer(value)


# No operator has these: they are TVM's example of attributes, for scripts that need some.
AttrsType(
    "attrs.TestAttrs",
    (
        Attr("axis", from_1_to_10, 10, "An axis."),
        Attr("name", string, doc="A name."),
        Attr("padding", integers, (0, 0), "Padding."),
    ),
)


def make_node(type_key: str, **fields: Any) -> Attrs:
    """An attributes record of a TVM type key: "DictAttrs", "relay.attrs.Conv2DAttrs", ..."""
    return DictAttrs(fields) if type_key == "DictAttrs" else attrs_type(type_key).make(fields)


__all__ = [
    "Attrs",
    "DictAttrs",
    "FuncType",
    "GlobalTypeVar",
    "GlobalVar",
    "IRModule",
    "IncompleteType",
    "Op",
    "Span",
    "TensorAffineType",
    "TensorType",
    "TupleAffineType",
    "TupleType",
    "Type",
    "TypeCall",
    "TypeVar",
    "assert_structural_equal",
    "instrument",
    "make_node",
    "register_op_attr",
    "structural_equal",
    "structural_hash",
    "transform",
]  # fmt: skip
