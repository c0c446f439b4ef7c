"""Source locations as in TVM 0.16, for scripts that compare them.

TVM records the location of a node each time it parses a mention of the node, and overwrites the
previous location: the location of `%x` is its last mention, the location of a block's value is the
beginning of the block, and a variable without a mention has no location. A location with several
lines has the smallest column as its first and the greatest column as its last. The location of a
name is its `%` or `@`; the location of a number or of metadata is after its text.

Source: src/relay/parser/{tokenizer.h,parser.cc} of TVM 0.16, checked against what it prints.
"""

from __future__ import annotations

from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.ir.node import set_field
from byoc_lab.relay.ir.span import SourceName, Span
from byoc_lab.relay.text.lexer import Tokens
from byoc_lab.relay.text.parser_cursor import Places


class LastMentions(Places):
    """Gives the nodes of one text their source locations as TVM does."""

    follows_mentions = True

    def __init__(self, tokens: Tokens):
        super().__init__(tokens)
        self.source = SourceName(tokens.source.name)
        self.texts = tokens.texts

    def span(self, first: int, end: int) -> Span:
        while self.texts[first] == "-" and first + 1 < end:
            first += 1  # the sign of a number is part of it
        line, *columns = _columns(self.tokens, first)
        end_line, *last = _columns(self.tokens, end - 1)
        columns += last
        return Span(self.source, line, end_line, min(columns), max(columns))

    def declared(self, first: int, end: int) -> None:
        return None

    def operation(self, left: Expr, right: Expr, first: int, end: int) -> Span | None:
        spans = [s for s in (left.span, right.span) if s is not None]
        if not spans:
            return None
        return Span(
            spans[0].source_name,
            min(s.line for s in spans),
            max(s.end_line for s in spans),
            min(s.column for s in spans),
            max(s.end_column for s in spans),
        )

    def function_start(self, definition: int, parameters: int) -> int:
        return parameters

    def mentioned(self, node: Expr | None, first: int, end: int) -> None:
        if node is not None and not isinstance(node, Op):  # an Op is shared by all texts
            set_field(node, "span", self.span(first, end))


def _columns(tokens: Tokens, number: int) -> tuple[int, int, int]:
    """Line, first column and end of a token."""
    text = tokens.texts[number]
    line, column = tokens.source.place(tokens.starts[number])
    kind, behind = text[:1], column + len(text)
    if text.startswith("meta["):
        return line, column + 5, behind
    if kind.isdecimal() or text.startswith("inff"):
        return line, behind, behind + 1
    if not text or kind == "@" or (kind == "%" and not text[1:2].isdecimal() and "." not in text):
        return line, column, column + 1
    # A projection ends with a number, which comes after its operand.
    ends_behind = kind in (".", "%") and "." in text
    return line, column, behind + ends_behind
