"""The base of the parser: the position in the text, errors, types, attribute values.

Source of the grammar: the 0.0.5 reader of TVM 0.16; `parser.py` lists the differences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from math import isinf
from typing import Any, NoReturn

from byoc_lab.errors import UnknownNameError
from byoc_lab.relay.ir.attrs import DType
from byoc_lab.relay.ir.dims import Any as AnyDim
from byoc_lab.relay.ir.dims import Dim, as_dim
from byoc_lab.relay.ir.expr import Expr, Span
from byoc_lab.relay.ir.types import (
    DTYPE,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
    scalar_type,
)
from byoc_lab.relay.text.budget import NODE, TOKEN, budget, described
from byoc_lab.relay.text.lexer import STRING_PATTERN, Tokens, tokenize
from byoc_lab.relay.text.parser_meta import MetaEntries
from byoc_lab.relay.text.parser_tokens import (
    is_string,
    is_word,
    literal_dtype,
    minus_hint,
    names_dtype,
    near,
    token_hint,
    unescape,
)

# Types and attribute values are small in real programs; deeper nesting is an accident or an attack.
MAX_NESTING = 100
_FAR = 200  # number of tokens: more than repeated types and attribute lists have

_NUMBER = re.compile(r"(\d+\.?\d*(?:[eE][+-]?\d+)?)([fi]\d*)?")
# Suffixes of numbers: TVM writes an int64 as 3i64.
_DIMENSION = re.compile(r"([0-9]{1,19})(?:i\d+)?")
_FLOAT_WORD = re.compile(r"(inf|nan)(f\d*)")
_META = re.compile(r"meta\[\s*([\w.]+)\s*\]\[\s*(\d{1,9})\s*\]")
_TYPE_COMMENT = re.compile(r"\s*/\*\s*ty=(.*?)\s*(?:span=[^*]*)?\*/")
_NAME_COMMENT = re.compile(rf"\s*/\*\s*name=({STRING_PATTERN})\s*\*/")
_PLAIN_WORDS = {"True": True, "False": False, "None": None, "nullptr": None}


class Places:
    """Gives each node its span: the tokens that it was read from. A subclass may define other
    spans."""

    follows_mentions = False
    """Whether `mentioned` is called for each mention of a node."""

    def __init__(self, tokens: Tokens):
        self.tokens = tokens

    def span(self, first: int, end: int) -> Span:
        """The span from token number `first` to the token before number `end`."""
        return self.tokens.source.span(self.tokens.starts[first], self.tokens.end(end - 1))

    def declared(self, first: int, end: int) -> Span | None:
        """The span of a variable that these tokens declare."""
        return self.span(first, end)

    def operation(self, left: Expr, right: Expr, first: int, end: int) -> Span | None:
        """The span of an infix operator with its operands, which begin at token number `first`."""
        return self.span(first, end)

    def function_start(self, definition: int, parameters: int) -> int:
        """The token at which the span of a global function begins: `def`, or the begin of its
        parameter list."""
        return definition

    def mentioned(self, node: Expr | None, first: int, end: int) -> None:
        """Record that `node` was read from the tokens from number `first` to before number
        `end`."""


class Cursor:
    """A position among tokens. `tok` is the next token, `i` its number."""

    def __init__(self, tokens: Tokens, meta: MetaEntries, places: type[Places] = Places):
        self.tokens = tokens
        self.meta = meta
        self.texts = tokens.texts
        self.source = tokens.source
        self.i = 0
        self.type_vars: dict[str, TypeVar] = {}
        self.type_names: dict[str, GlobalTypeVar] = {}
        self.types_read: dict[tuple[str, ...], TensorType] = {}
        # Whether a type `(T)` means `(T,)`, as in all versions but 0.0.4.
        self.parens_are_tuples = True
        self.places = places(tokens)
        size = len(self.source.text)
        self.max_nodes = (budget(size) - TOKEN * len(self.texts)) // NODE
        self.nodes = 0

    @property
    def tok(self) -> str:
        return self.texts[self.i]

    def peek(self) -> str:
        """The token after the next one; "" past the end."""
        at = self.i + 1
        return self.texts[at] if at < len(self.texts) else ""

    def take(self, token: str) -> bool:
        """Consume `token` if it comes next; return whether it did."""
        if self.texts[self.i] == token and token:
            self.i += 1
            return True
        return False

    def expect(self, token: str, where: str = "", opened: int = 0) -> None:
        """Consume `token`, or fail. `{}` in `where` is replaced by the line of token number
        `opened`."""
        if self.texts[self.i] != token:
            where = where and f" {where.format(self.line_of(opened))}"
            self.unexpected(f"'{token}'{where}", kind="token", token=token)
        self.i += 1

    def span(self, first: int, end: int | None = None) -> Span:
        """The span from token number `first` to the last token read, or to the token before number
        `end`."""
        self.count_node()
        return self.places.span(first, max(self.i if end is None else end, first + 1))

    def count_node(self) -> None:
        """Count a created node or type: raises ParseError if the memory budget is exceeded (see
        `budget`)."""
        self.nodes += 1
        if self.nodes > self.max_nodes:
            self.fail(
                f"the text has more than {self.max_nodes:,} nodes and types, "
                f"{described(len(self.source.text))}; parse its functions as several texts"
            )

    def mentioned(self, node: Expr | None, first: int) -> None:
        """Record that `node` was read from the tokens from number `first` to the last one read."""
        if self.places.follows_mentions:
            self.places.mentioned(node, first, max(self.i, first + 1))

    def fail(self, reason: str, at: int | None = None, **facts: Any) -> NoReturn:
        """Raise a ParseError at token number `at` (default: the next token). facts: see
        `DiagnosticError`."""
        at = self.i if at is None else at
        error = self.source.error(reason, self.tokens.starts[at])
        error.span = self.source.span(self.tokens.starts[at], self.tokens.end(at))
        error.facts = facts
        raise error

    def unexpected(self, wanted: str, hint: str = "", **facts: Any) -> NoReturn:
        """Raise a ParseError that `wanted` was expected instead of the next token."""
        hint = hint or token_hint(self.texts[self.i])
        message = f"expected {wanted}, found {self.found()}{hint and '; ' + hint}"
        self.fail(message, **(facts and {**facts, "found": self.tok}))

    def found(self) -> str:
        token = self.texts[self.i]
        if not token:
            return "the end of the text" if self.tokens.metadata is None else "the metadata section"
        shown = token if len(token) <= 40 else token[:37] + "..."
        return ascii(shown) if not shown.isprintable() else f"'{shown}'"

    def line_of(self, at: int) -> int:
        return self.source.place(self.tokens.starts[at])[0]

    def upto(self, close: str) -> tuple[str, ...]:
        """The next tokens up to the first `close`; empty if it is far away."""
        try:
            end = self.texts.index(close, self.i, self.i + _FAR)
        except ValueError:
            return ()
        return tuple(self.texts[self.i : end + 1])

    def sequence_of(self, item: Callable[[], Any], close: str, what: str) -> list[Any]:
        """`item, item, ... close`; after the opening bracket; a trailing comma is allowed."""
        items = []
        while not self.take(close):
            items.append(item())
            if not self.take(",") and self.tok != close:
                self.unexpected(f"',' or '{close}' {what}", kind="list", token=close)
        return items

    # Types ---------------------------------------------------------------------------------------

    def type(self, depth: int = 0) -> Type:
        """type := Tensor[(dims), dtype] | dtype | (types) | fn (types) -> type | _ | T[types]"""
        if depth > MAX_NESTING:
            self.fail(f"a type is nested deeper than {MAX_NESTING}")
        at, token = self.i, self.tok
        self.i += bool(token)
        if token == "Tensor":
            return self.tensor_type()
        self.count_node()
        if token == "(":
            fields = self.sequence_of(lambda: self.type(depth + 1), ")", "in a tuple type")
            lone = len(fields) == 1 and self.texts[self.i - 2] != ","
            return fields[0] if lone and not self.parens_are_tuples else TupleType(fields)
        if token == "fn":
            params = self.type_params() if self.take("[") else []
            self.expect("(", "before the argument types of a function type")
            args = self.sequence_of(lambda: self.type(depth + 1), ")", "in a function type")
            self.expect("->", "before the result type")
            return FuncType(args, self.type(depth + 1), params)
        if token == "ref" and self.take("("):
            inner = self.type(depth + 1)
            self.expect(")", "after the type of a reference")
            return RefType(inner)
        if token == "_" or token.startswith("meta[IncompleteType]"):
            return IncompleteType()
        if token in self.type_vars:
            return self.type_vars[token]
        if token in self.type_names:
            within = f"among the types that {token} takes"
            given = self.take("[")
            types = self.sequence_of(lambda: self.type(depth + 1), "]", within) if given else []
            return TypeCall(self.type_names[token], types)
        if names_dtype(token):
            return scalar_type(token)
        self.i = at
        kind = "type variable" if is_word(token) else "type"
        known = ["Tensor", "float32", "float16", "int8", "int32", "int64", "uint8", "bool"]
        known += self.type_names
        self.unexpected("a type", near(token, known).removeprefix("; "), kind=kind, name=token)

    def tensor_type(self) -> TensorType:
        # Equal types are common, and constructing them is expensive.
        key = self.upto("]")
        known = self.types_read.get(key)
        if known is not None:
            self.i += len(key)
            return known
        self.expect("[", "after 'Tensor'")
        self.expect("(", "before the shape, as in Tensor[(1, 3), float32]")
        dims = self.sequence_of(self.dimension, ")", "in a shape")
        self.expect(",", "between shape and dtype")
        if not names_dtype(self.tok):
            self.unexpected("a dtype such as float32", near(self.tok, ["float32", "int32"])[2:])
        dtype = self.tok
        self.i += 1
        self.expect("]", "after the dtype")
        self.count_node()
        made = TensorType(dims, dtype)
        if key:
            self.types_read[key] = made
        return made

    def dimension(self) -> Dim:
        token = self.tok
        if token.startswith("meta[tir."):
            return as_dim(self.meta_value())
        digits = _DIMENSION.fullmatch(token)
        if token != "?" and digits is None:
            self.unexpected("a dimension (a number, or ? when known only at run time)")
        self.i += 1
        return AnyDim() if digits is None else int(digits[1])

    def type_params(self) -> list[TypeVar]:
        """Read the names up to the `]`, which are in scope from then on."""

        def param() -> TypeVar:
            if not is_word(self.tok):
                self.unexpected("the name of a type parameter")
            self.type_vars[self.tok] = made = TypeVar(self.tok)
            self.i += 1
            return made

        return self.sequence_of(param, "]", "among type parameters")

    # Attribute values ----------------------------------------------------------------------------

    def value(self, depth: int = 0) -> Any:
        """value := number | "string" | True | None | [values] | {"key"=value} | dtype | meta"""
        if depth > MAX_NESTING:
            self.fail(f"an attribute value is nested deeper than {MAX_NESTING}")
        token = self.tok
        first = token[:1]
        if first.isdecimal() or first == "-" or _FLOAT_WORD.fullmatch(token):
            return self.number()[0]
        if is_string(token):
            self.i += 1
            return unescape(token)
        if token in _PLAIN_WORDS:
            self.i += 1
            return _PLAIN_WORDS[token]
        if token in ("[", "{"):
            self.count_node()
        if self.take("["):
            return tuple(self.sequence_of(lambda: self.value(depth + 1), "]", "in a list"))
        if self.take("("):
            inner = self.value(depth + 1)
            self.expect(")", "after a value")
            return inner
        if self.take("{"):
            return dict(self.sequence_of(lambda: self.entry(depth + 1), "}", "in a dictionary"))
        if DTYPE.fullmatch(token):
            self.i += 1
            return DType(token)
        if token.startswith("meta["):
            return self.meta_value()
        self.unexpected("an attribute value", f'write "{token}"' if is_word(token) else "")

    def entry(self, depth: int) -> tuple[str, Any]:
        if not is_string(self.tok):
            self.unexpected("a quoted key")
        key = unescape(self.tok)
        self.i += 1
        self.expect("=", "after a key")
        return key, self.value(depth)

    def meta_value(self, keys: Iterable[str] = ()) -> Any:
        """The value of the next token, `meta[T][i]`; see `MetaEntries` for texts without metadata.
        If `keys` are given, only entries of these types are accepted."""
        at = self.i
        found = _META.fullmatch(self.tok)
        if found is None:
            self.fail(f"expected meta[<type>][<index>], found {self.found()}")
        key, index = found[1], int(found[2])
        if keys and key not in keys:
            message = f"expected a value, found an entry of type {key}"
            self.fail(message, kind="metadata type", type=key)
        self.i += 1
        have = self.meta.count(key)
        if have is not None and index >= have:
            message = f"the metadata has {have} entries of type {key}, but not number {index}"
            kind = "metadata index" if have else "metadata type"
            self.fail(message, at, kind=kind, type=key, index=index)
        try:
            return self.meta.get(key, index, self.span(at), lambda: self.stated_type(at))
        except UnknownNameError as error:
            self.fail(str(error), at, kind="metadata type", type=key)

    def stated_type(self, at: int) -> TensorType:
        """The tensor type in the comment `/* ty=... */` after token `at`."""
        text, end = self.source.text, self.tokens.end(at)
        comment = _TYPE_COMMENT.match(text, end)
        if comment is None:
            self.fail(
                "this constant is in a metadata section that the text lacks, and no "
                "/* ty=Tensor[...] */ follows that states its type",
                at,
                kind="metadata type",
                type="relay.Constant",
            )
        part = Cursor(tokenize(self.source, comment.start(1), comment.end(1)), self.meta)
        ty = part.type()
        if not isinstance(ty, TensorType) or not ty.is_static:
            self.fail(f"a constant must have a tensor type with a known shape, found {ty}", at)
        return ty

    def real_name(self, at: int) -> str | None:
        """The name in a comment `/* name="input.1" */` after token `at`; None without such a
        comment."""
        comment = _NAME_COMMENT.match(self.source.text, self.tokens.end(at))
        return unescape(comment[1]) if comment else None

    def number(self) -> tuple[int | float, str]:
        """Read a number literal, including its sign; returns the number and its dtype."""
        at = self.i
        while self.take("-"):  # `--5` is 5, as in TVM
            pass
        signs = self.i - at
        token = self.tok
        word = _FLOAT_WORD.fullmatch(token)
        read = word or _NUMBER.fullmatch(token)
        if read is None:
            self.unexpected("a number" if signs else "an expression", minus_hint(token, signs))
        self.i += 1
        digits, suffix = read.groups()
        text = "-" * (signs % 2) + digits
        try:
            if word or (suffix or "").startswith("f") or not digits.isdecimal():
                if suffix and not suffix.startswith("f"):
                    self.fail(f"'{token}' has digits after the point and an integer suffix", at)
                found = float(text)
                if word is None and isinf(found):
                    raise OverflowError
                return found, literal_dtype("float", suffix, "f", "32", ("16", "32", "64"))
            value = int(text)
        except OverflowError:
            message = f"'{token}' does not fit float64"
            self.fail(message, at, kind="overflow", digits=digits, suffix=suffix)
        except (ValueError, KeyError):
            self.fail(f"'{token}' is not a number of Relay", at)
        if not -(2**63) <= value < 2**63:
            self.fail(f"'{token}' does not fit 64 bits", at)
        small = -(2**31) <= value < 2**31
        try:
            widths = ("8", "16", "32", "64")
            return value, literal_dtype("int", suffix, "i", "32" if small else "64", widths)
        except KeyError:
            self.fail(f"'{token}' is not a number of Relay: integers are i8, i16, i32, i64", at)
