"""The attribute classes of operators, by TVM's names: `op_attrs.Conv2DAttrs`."""

from __future__ import annotations

from byoc_lab.errors import UnknownNameError
from byoc_lab.relay.ir.attrs import ATTRS_TYPES, Attrs, attrs_class


def __getattr__(name: str) -> type[Attrs]:
    if not name.endswith("Attrs"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return attrs_class(name)
    except UnknownNameError as unknown:
        raise AttributeError(str(unknown)) from unknown


def __dir__() -> list[str]:
    return sorted(schema.record.__name__ for schema in ATTRS_TYPES.values())
