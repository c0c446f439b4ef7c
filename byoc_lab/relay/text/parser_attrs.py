"""Attributes of functions and calls: `key=value`, checked against the operator's definition."""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import AttributeValueError
from byoc_lab.relay.ir.attrs import ATTRS_TYPES, Attrs, AttrsType, DictAttrs, attrs_type
from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.text.lexer import Tokens
from byoc_lab.relay.text.parser_cursor import Cursor, Places
from byoc_lab.relay.text.parser_meta import MetaEntries
from byoc_lab.relay.text.parser_tokens import is_string, is_word, near, unescape

_DEVICE_FIELDS = {
    "device_type": "device_type_int",
    "virtual_device_id": "virtual_device_id",
    "memory_scope": "memory_scope",
}


class AttributeParser(Cursor):
    """Reads lists of attributes."""

    def __init__(self, tokens: Tokens, meta: MetaEntries, places: type[Places] = Places):
        super().__init__(tokens, meta, places)
        self.dict_attrs: dict[int, DictAttrs] = {}  # one object for each entry of the metadata
        self.attrs_read: dict[tuple[Expr, tuple[str, ...]], Attrs] = {}

    def value(self, depth: int = 0) -> Any:
        if self.tok == "VirtualDevice" and self.peek() == "(":
            self.i += 2
            return self.virtual_device()
        return super().value(depth)

    def virtual_device(self) -> Attrs:
        """device := 'VirtualDevice' '(' ('?' | (KEY '=' value),*) ')': a device written outside the
        metadata.

        KEY is device_type, virtual_device_id or memory_scope; targets are not supported.
        """
        at, values = self.i, {}
        if self.take("?"):  # any device
            self.expect(")", "after the '?' of a device")
            return attrs_type("VirtualDevice").make()
        while not self.take(")"):
            key = self.tok
            if key not in _DEVICE_FIELDS or self.peek() != "=":
                self.unexpected(f"{', '.join(_DEVICE_FIELDS)} of a device")
            self.i += 2
            quoted = self.take("'")
            values[_DEVICE_FIELDS[key]] = self.tok if quoted else self.value()
            if quoted:
                self.i += 1
                self.expect("'", "after the memory scope")
            if not self.take(",") and self.tok != ")":
                self.unexpected("',' or ')' in a device")
        try:
            return attrs_type("VirtualDevice").make(values)
        except AttributeValueError as error:
            self.fail(str(error), at)

    def device_of_variable(self) -> Attrs | None:
        """Read `{virtual_device=D}` after the name of a variable."""
        self.expect("{")
        at = self.i
        values, _ = self.attributes("}")
        device = self.device_among(values, at)
        if values:
            self.fail(f"a variable has a virtual_device, found {', '.join(values)}", at)
        return device

    def device_among(self, values: dict[str, Any], at: int) -> Attrs | None:
        """Remove `virtual_device` from attributes and return it; None if it is absent or
        undecided."""
        device = values.pop("virtual_device", None)
        if device is None:
            return None
        if not isinstance(device, Attrs) or device.schema is not attrs_type("VirtualDevice"):
            self.fail(f"a virtual_device must be a VirtualDevice, found {device!r}", at)
        return None if device == attrs_type("VirtualDevice").make() else device

    def at_attribute(self) -> bool:
        """Whether the next tokens are `key=`. A key that is not a name is in quotes."""
        token = self.tok
        return self.peek() == "=" and (is_word(token) or is_string(token))

    def attributes(self, end: str = ")") -> tuple[dict[str, Any], dict[str, int]]:
        """Read `key=value, ... )`; returns the values, and for each key the number of its token."""
        values: dict[str, Any] = {}
        places: dict[str, int] = {}
        while not self.take(end):
            at = self.i
            if not self.at_attribute():
                self.unexpected("an attribute, key=value (arguments come before attributes)")
            key = unescape(self.tok) if is_string(self.tok) else self.tok
            if key in values:
                line = self.line_of(places[key])
                self.fail(f"the attribute {key!r} is given twice: first in line {line}", at)
            self.i += 2
            values[key], places[key] = self.value(), at
            if not self.take(",") and self.tok != end:
                self.unexpected(f"',' or '{end}' among the attributes")
        return values, places

    def call_attributes(self, callee: Expr, at: int) -> Attrs:
        """Read the attributes of the call at token `at`, including its `)`.

        Calls of an operator with equal attributes share a record."""
        key = callee, self.upto(")")
        known = self.attrs_read.get(key)
        if known is not None:
            self.i += len(key[1])
            return known
        start = self.i
        made = self.new_attributes(callee, at)
        if isinstance(callee, Op) and self.i == start + len(key[1]):
            self.attrs_read[key] = made
        return made

    def new_attributes(self, callee: Expr, at: int) -> Attrs:
        values, places = self.attributes()
        stated = values.pop("attrs_type_key", None)
        if "__dict__" in values:
            content = values.pop("__dict__")
            if values or not isinstance(content, (dict, DictAttrs)):
                self.fail("__dict__ must be a dictionary and the only attribute", at)
            if isinstance(content, dict):
                content = self.dict_attrs.setdefault(id(content), DictAttrs(content))
            return content
        schema = callee.definition.attrs if isinstance(callee, Op) else None
        if stated and (schema is None or schema.type_key != stated):
            schema = self.stated_schema(stated, places["attrs_type_key"])
        if schema is not None:
            return self.checked(schema, values, places, at)
        if isinstance(callee, Op) and not stated:
            self.fail(
                f"{callee.name} has no attributes, found {', '.join(map(repr, values))}",
                at,
                kind="attributes type",
            )
        return DictAttrs(values)

    def stated_schema(self, key: Any, at: int) -> AttrsType | None:
        if key == "DictAttrs":
            return None
        if key not in ATTRS_TYPES:
            self.fail(f"no attributes of type {key!r} are known{near(str(key), ATTRS_TYPES)}", at)
        return ATTRS_TYPES[key]

    def checked(
        self, schema: AttrsType, values: dict[str, Any], places: dict[str, int], at: int
    ) -> Attrs:
        """A record of these values; a ParseError points at the wrong value."""
        try:
            return schema.make(values)
        except AttributeValueError as error:
            for key, value in values.items():
                if key not in schema.by_name:
                    hint = near(key, schema.by_name)
                    names = ", ".join(schema.by_name)
                    self.fail(
                        f"{schema.type_key} has no attribute {key!r}{hint}; possible: {names}",
                        places[key],
                    )
                try:
                    schema.by_name[key].convert(value, schema.type_key)
                except AttributeValueError as wrong:
                    self.fail(str(wrong), places[key])
            self.fail(str(error), at)
