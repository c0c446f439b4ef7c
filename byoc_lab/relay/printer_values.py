"""How values are written: attributes, scalars, names of variables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from byoc_lab.errors import AttributeValueError
from byoc_lab.relay.attrs import REQUIRED, Attrs, DictAttrs, same_value
from byoc_lab.relay.expr import Call, Constant, Op
from byoc_lab.relay.metadata import COMPILER_ATTRS_KEY, MetaTable, type_key
from byoc_lab.relay.printer import Style

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"})


class ValuePrinter:
    """Writes attributes and constants, and collects what has to go into the metadata."""

    def __init__(self, style: Style, show_meta_data: bool, exact: bool):
        self.style = style
        self.show_meta_data = show_meta_data
        self.exact = exact
        self.metadata: MetaTable = {}
        self.entries: dict[tuple[str, int], str] = {}

    def meta(self, key: str, value: Any) -> str:
        """`meta[T][i]`: the same value object always has the same index."""
        at = (key, id(value))
        if at not in self.entries:
            items = self.metadata.setdefault(key, [])
            items.append(value)  # which also keeps its id from being used again
            self.entries[at] = f"meta[{key}][{len(items) - 1}]"
        return self.entries[at]

    def constant(self, node: Constant) -> tuple[str, bool]:
        """A constant as text, and whether that is an entry of the metadata."""
        array = node.data.numpy()
        if array.ndim == 0 and not node.elided:
            name = array.dtype.name
            if name == "bool":
                return str(bool(array)), False
            if name in self.style.suffixes:
                value = array[()]
                text = str(value) if array.dtype.kind == "i" else self.digits(value)
                return text + self.style.suffixes[name], False
        return self.meta("relay.Constant", node), True

    def digits(self, value: Any) -> str:
        """A floating point number without its suffix."""
        text = f"{value:g}"
        if self.exact and math.isfinite(value) and type(value)(text) != value:
            text = str(value) if isinstance(value, np.floating) else repr(value)
        return text

    def value(self, value: Any) -> str:
        """An attribute value. Raises AttributeValueError for one that has no text."""
        if value is None:
            return "None"
        if isinstance(value, (bool, np.bool_)):
            return str(bool(value))
        if isinstance(value, str):
            return f'"{value.translate(_ESCAPES)}"'
        if isinstance(value, (int, np.integer)):
            return str(int(value))
        if isinstance(value, (float, np.floating)):
            return self.digits(value) + "f"
        if isinstance(value, (tuple, list)):
            return f"[{', '.join(map(self.value, value))}]"
        if isinstance(value, (Mapping, DictAttrs)):
            return self.dictionary(value)
        if isinstance(value, (Constant, Attrs)):
            return self.meta(type_key(value), value)
        raise AttributeValueError(f"a {type(value).__name__} is no attribute value: {value!r}")

    def dictionary(self, value: Any) -> str:
        elided = getattr(value, "elided", False)
        if self.show_meta_data or self.style.old_attributes or elided:
            return self.meta("Map", value)
        return f"{{{', '.join(f'{self.value(k)}={self.value(v)}' for k, v in value.items())}}}"

    def pairs(self, values: Any) -> list[str]:
        return [f"{key}={self.value(value)}" for key, value in values.items()]

    def call_attributes(self, call: Call) -> list[str]:
        """What follows the arguments of a call."""
        attrs = call.attrs
        if attrs is None:
            return []
        if isinstance(call.op, Op):
            schema = call.op.definition.attrs
            # TVM's annotation operators do not say that they have attributes, so its printer does
            # not write them field by field where the text is to be read again.
            known = schema is not None and schema.type_key != COMPILER_ATTRS_KEY
            declared = schema.type_key if known else None
            if attrs.type_key != declared:
                elided = getattr(attrs, "elided", False)
                if self.show_meta_data or self.style.old_attributes or elided:
                    return [self.meta(attrs.type_key, attrs)]
            return self.fields(attrs)
        new = not self.style.old_attributes
        return self.fields(attrs) + [f'attrs_type_key="{attrs.type_key}"'] * new

    def fields(self, attrs: Attrs) -> list[str]:
        """The fields that differ from their default, and those that have none."""
        if attrs.schema is None:
            return [f"__dict__={self.dictionary(attrs)}"]
        changed = {
            f.name: attrs[f.name]
            for f in attrs.schema.fields
            if f.default is REQUIRED or not _is_default(attrs[f.name], f.default)
        }
        return self.pairs(changed)


def _is_default(value: Any, default: Any) -> bool:
    """Whether TVM's printer takes a value for the default: floats may be 1e-9 off."""
    if isinstance(value, float) and isinstance(default, float):
        return abs(value - default) < 1e-9 or value == default
    return same_value(value, default)


class Names:
    """Names for variables: their own, made unique by a number."""

    def __init__(self) -> None:
        self.taken: dict[str, int] = {}

    def fresh(self, hint: str) -> str:
        """`%hint`, `%hint1`, ...; a hint that begins with no letter gets a `v` in front."""
        name = hint if hint[:1].isascii() and hint[:1].isalpha() else "v" + hint
        if name not in self.taken:
            self.taken[name] = 0
            return "%" + name
        # Other hints may have taken the name that is next in turn.
        while True:
            self.taken[name] += 1
            numbered = f"{name}{self.taken[name]}"
            if numbered not in self.taken:
                self.taken[numbered] = 0
                return "%" + numbered
