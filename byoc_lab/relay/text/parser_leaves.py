"""Expressions of one token: literals, globals, metadata, operators; and the node of a call."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Call, Constant, Expr, GlobalVar, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.text.json.metadata import COMPILER_ATTRS_KEY
from byoc_lab.relay.text.lexer import KEYWORDS, Tokens
from byoc_lab.relay.text.parser_adt import DataTypeParser
from byoc_lab.relay.text.parser_attrs import AttributeParser
from byoc_lab.relay.text.parser_cursor import Places
from byoc_lab.relay.text.parser_meta import MetaEntries
from byoc_lab.relay.text.parser_tokens import is_word


class LeafParser(DataTypeParser, AttributeParser):
    """Reads operands of one token. `known` is a module whose functions and types the text may
    use."""

    def __init__(
        self,
        tokens: Tokens,
        meta: MetaEntries,
        known: IRModule | None = None,
        places: type[Places] = Places,
    ):
        super().__init__(tokens, meta, known, places)
        self.globals = {gv.name_hint: gv for gv in known} if known else {}
        self.literals: dict[tuple[str, str], NDArray] = {}

    def leaf(self) -> Expr:
        """An operand of one token: a literal, a global, metadata, an operator."""
        at, token = self.i, self.tok
        start = token[:1]
        if start.isdecimal() or start == "-" or token.startswith(("inff", "nanf")):
            number, dtype = self.number()
            return self.literal(number, dtype, at)
        if token in ("True", "False"):
            self.i += 1
            return self.literal(token == "True", "bool", at)
        if start == "@" and len(token) > 1:
            self.i += 1
            name = token[1:]
            if name not in self.globals:
                self.count_node()
                span = self.places.declared(at, max(self.i, at + 1))
                self.globals[name] = GlobalVar(self.real_name(at) or name, span)
            return self.globals[name]
        if token.startswith("meta["):
            return self.meta_value(("relay.Constant",))
        if token in self.constructors:
            self.i += 1
            return self.constructed(at)
        if is_word(token) and token not in KEYWORDS:
            self.i += 1
            return self.operator(token, at)
        if token == "}" and self.texts[self.i - 1] == ";":
            hint = "a block ends with its value, without a ';'"
            self.unexpected("an expression", hint, kind="expression")
        self.unexpected("an expression", kind="expression")

    def literal(self, value: int | float | bool, dtype: str, at: int) -> Constant:
        key = (repr(value), dtype)  # -0.0 and 0.0 are equal but different literals
        if key not in self.literals:
            try:
                with np.errstate(over="ignore"):
                    read = np.array(value, dtype)
            except OverflowError:
                self.does_not_fit(value, dtype, at)
            # As in TVM, 65505f16 is out of range, although it rounds to the largest float16.
            inexact = read.dtype.kind == "f" and not np.isinf(value)
            if inexact and abs(value) > float(np.finfo(read.dtype).max):
                self.does_not_fit(value, dtype, at)
            self.literals[key] = NDArray(read)
        return Constant(self.literals[key], self.span(at))

    def does_not_fit(self, value: float, dtype: str, at: int) -> NoReturn:
        digits = self.texts[self.i - 1].partition("f" if "float" in dtype else "i")[0]
        self.fail(f"{value} does not fit {dtype}", at, kind="number", digits=digits, dtype=dtype)

    def call(self, callee: Expr, args: list[Expr], attrs: Attrs | None, at: int) -> Call:
        if attrs is None and isinstance(callee, Op):
            schema = callee.definition.attrs
            # TVM's annotation operators declare no attributes, so calls may lack them.
            if schema is not None and schema.type_key != COMPILER_ATTRS_KEY:
                attrs = self.checked(schema, {}, {}, at)
        return Call(callee, args, attrs, span=self.span(at))
