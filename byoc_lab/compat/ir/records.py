"""Attribute records by their TVM name: `tvm.ir.make_node`, and TVM's example record."""

from __future__ import annotations

from typing import Any

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


def from_1_to_10(value: Any) -> int:
    if not 1 <= integer(value) <= 10:
        raise ValueError
    return integer(value)


# No operator has these attributes: they are TVM's example, for scripts that use it.
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


__all__ = ["Attrs", "DictAttrs", "make_node"]
