"""Printing of values: attributes, scalars, names of variables."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from byoc_lab.errors import AttributeValueError
from byoc_lab.relay.ir.attrs import REQUIRED, Attrs, DictAttrs, same_value
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op
from byoc_lab.relay.ir.foreign import ForeignOp
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.text import printer_exact
from byoc_lab.relay.text.json.metadata import MetaTable, type_key
from byoc_lab.relay.text.json.writer import node_key
from byoc_lab.relay.text.printer_lines import Style

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# Control characters, quotes, backslashes, non-ASCII characters.
_ESCAPED = re.compile(r"[^ !#-\[\]-~]")

_WORD = re.compile(r"[^\W\d][\w/]*(?:\.[^\W\d][\w/]*)*")


def quoted(text: str) -> str:
    """A quoted string as TVM writes it: non-ASCII characters byte by byte, `\\xC3\\xA9`."""

    def escape(found: re.Match[str]) -> str:
        code = found[0].encode("utf-8", "surrogatepass")
        return _ESCAPES.get(found[0]) or "".join(f"\\x{byte:02X}" for byte in code)

    return f'"{_ESCAPED.sub(escape, text)}"'


class ValuePrinter:
    """Writes attributes and constants, and collects the entries of the metadata."""

    def __init__(self, style: Style, show_meta_data: bool, exact: bool, for_tvm: bool):
        self.style = style
        self.show_meta_data = show_meta_data
        self.exact = exact
        self.for_tvm = for_tvm
        self.metadata: MetaTable = {}
        self.entries: dict[tuple[str, int], str] = {}

    def meta(self, key: str, value: Any) -> str:
        """The text `meta[T][i]` for a value; the same object always has the same index."""
        at = (key, id(value))
        if at not in self.entries:
            items = self.metadata.setdefault(key, [])
            items.append(value)  # also keeps the object alive, so that its id is not reused
            self.entries[at] = f"meta[{key}][{len(items) - 1}]"
        return self.entries[at]

    def constant(self, node: Constant) -> tuple[str, bool]:
        """A constant as text, and whether the text is a reference to the metadata."""
        array = node.data.view()
        if array.ndim == 0 and not node.elided:
            text = self.scalar(array[()])
            if text is not None:
                return text, False
        return self.meta("relay.Constant", node), True

    def scalar(self, value: Any) -> str | None:
        """A scalar as text; None if it must be put into the metadata."""
        name = value.dtype.name
        if name == "bool":
            return str(bool(value))
        suffix = self.style.suffixes.get(name)
        if suffix is None:
            return None
        if self.exact:
            return printer_exact.scalar(value, suffix)
        return (str(value) if value.dtype.kind == "i" else f"{value:g}") + suffix

    def value(self, value: Any) -> str:
        """An attribute value as text. Raises AttributeValueError if it has no text form."""
        if value is None:
            return "None"
        if isinstance(value, (bool, np.bool_)):
            return str(bool(value))
        if isinstance(value, str):
            return self.string(value)
        if isinstance(value, (int, np.integer)):
            out_of_range = self.exact and value == -(2**63)  # the parser reads it as -(2**63)
            return self.meta("IntImm", int(value)) if out_of_range else str(int(value))
        if isinstance(value, (float, np.floating)):
            return self.float(float(value))
        if isinstance(value, (tuple, list)):
            return f"[{', '.join(map(self.value, value))}]"
        if isinstance(value, (Mapping, DictAttrs)):
            return self.dictionary(value)
        if isinstance(value, Attrs) and value.type_key == "VirtualDevice":
            return self.device(value)
        if isinstance(value, (Constant, Attrs)):
            return self.meta(type_key(value), value)
        if isinstance(value, (Expr, Type)) and (key := node_key(value)):
            return self.meta(key, value)
        kind = type(value).__name__
        raise AttributeValueError(f"a {kind} cannot be written as an attribute value: {value!r}")

    def string(self, value: str) -> str:
        if self.exact and not printer_exact.is_plain(value):
            return self.meta("runtime.String", value)
        return quoted(value)

    def float(self, value: float) -> str:
        text = printer_exact.number(value) if self.exact else None
        if text is None and self.exact and not math.isnan(value):  # NaN cannot be parsed
            return self.meta("FloatImm", value)
        return text or f"{value:g}f"

    def device(self, value: Attrs) -> str:
        """A virtual device: a reference to the metadata if that is shown, else its fields."""
        if self.show_meta_data:
            return self.meta("VirtualDevice", value)
        return repr(value)

    def dictionary(self, value: Any) -> str:
        elided = getattr(value, "elided", False)
        if self.show_meta_data or self.style.old_attributes or elided:
            return self.meta("Map", value)
        return f"{{{', '.join(f'{self.value(k)}={self.value(v)}' for k, v in value.items())}}}"

    def pairs(self, values: Any) -> list[str]:
        """The text `key=value, ...` of attributes without schema."""
        return [f"{_key(key)}={self.undeclared_value(value)}" for key, value in values.items()]

    def undeclared_value(self, value: Any) -> str:
        if isinstance(value, (tuple, list)):
            return f"[{', '.join(map(self.undeclared_value, value))}]"
        if self.exact and isinstance(value, (bool, np.bool_)):
            return self.meta("IntImm", bool(value))  # TVM would parse True as the number 1
        if self.exact and isinstance(value, (float, np.floating)) and math.isinf(value):
            return self.meta("FloatImm", float(value))  # TVM parses it as a float64
        return self.value(value)

    def call_attributes(self, call: Call) -> list[str]:
        """The attributes after the arguments of a call."""
        attrs = call.attrs
        if attrs is None:
            return []
        if isinstance(call.op, ForeignOp):
            return self.pairs(attrs)
        if isinstance(call.op, Op):
            if attrs.type_key != call.op.attrs_type_key:
                elided = getattr(attrs, "elided", False)
                own = attrs.schema is not None and attrs.schema is call.op.definition.attrs
                complete = self.show_meta_data and (self.for_tvm or not own)
                if complete or self.style.old_attributes or elided:
                    return [self.meta(attrs.type_key, attrs)]
            return self.fields(attrs)
        new = not self.style.old_attributes
        return self.fields(attrs) + [f'attrs_type_key="{attrs.type_key}"'] * new

    def fields(self, attrs: Attrs) -> list[str]:
        """The fields that differ from their default, and those without a default."""
        if attrs.schema is None:
            # TVM's printer writes `__dict__`, which its parser would read as an attribute.
            as_pairs = self.exact and not getattr(attrs, "elided", False)
            return self.pairs(attrs) if as_pairs else [f"__dict__={self.dictionary(attrs)}"]
        return [
            f"{f.name}={self.value(attrs[f.name])}"
            for f in attrs.schema.fields
            if f.default is REQUIRED or not self.is_default(attrs[f.name], f.default)
        ]

    def is_default(self, value: Any, default: Any) -> bool:
        """Whether a value is omitted because it is the default; as in TVM, floats may differ by
        1e-9."""
        if not self.exact and isinstance(value, float) and isinstance(default, float):
            return abs(value - default) < 1e-9 or value == default
        return same_value(value, default)


def _key(key: str) -> str:
    """An attribute key; in quotes (which only byoc_lab's `parse` accepts) if it is not a valid
    name."""
    return key if _WORD.fullmatch(key) else quoted(key)


def with_letter(hint: str) -> str:
    """`hint`, with a `v` in front unless it begins with a letter."""
    return hint if hint[:1].isascii() and hint[:1].isalpha() else "v" + hint


class Names:
    """Unique names for variables: the variable's name, followed by a number if it is already
    used."""

    def __init__(self) -> None:
        self.taken: dict[str, int] = {}

    def fresh(self, hint: str) -> str:
        """A new name: `%hint`, `%hint1`, ...; `v` is prepended if the hint does not begin with a
        letter."""
        name = with_letter(hint)
        if name not in self.taken:
            self.taken[name] = 0
            return "%" + name
        # The next name may already be used for another hint.
        while True:
            self.taken[name] += 1
            numbered = f"{name}{self.taken[name]}"
            if numbered not in self.taken:
                self.taken[numbered] = 0
                return "%" + numbered
