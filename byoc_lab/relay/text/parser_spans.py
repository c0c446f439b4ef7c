"""Places as TVM 0.16 gives them, for who compares texts: see `span.follow_tvm`.

TVM notes the place of a node when it reads a mention of it, over what was noted before: `%x` is
where it was mentioned last, the value of a block where the block begins, and a variable nobody
mentions is nowhere. A place that runs over several lines has the smallest of its columns as the
first and the greatest as the last.

TVM's columns are not quite those of the text either. `%` and `@` stand for the whole name; a number
stands behind itself, metadata behind its bracket. And where a name begins like `meta[` or `inff`,
the letters that they have in common are counted twice, so that all that follows on the line is
shifted.

Source: src/relay/parser/{tokenizer.h,parser.cc} of TVM 0.16, checked against what it prints.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.ir.node import set_field
from byoc_lab.relay.ir.span import SourceName, Span
from byoc_lab.relay.text.lexer import Tokens

_WORD = re.compile(r"[A-Za-z_/][\w/]*")
_MISTAKEN = ("meta[", "inff")  # TVM tries these first where a name may begin


class LastMentions:
    """Gives the nodes of one text their places, as TVM does."""

    def __init__(self, tokens: Tokens):
        self.source = SourceName(tokens.source.name)
        self.texts = tokens.texts
        self.places = list(_places(tokens))

    def span(self, first: int, end: int) -> Span:
        """From token number `first` to the one before number `end`."""
        while self.texts[first] == "-" and first + 1 < end:
            first += 1  # the sign of a number is part of it
        line, *columns = self.places[first]
        end_line, *last = self.places[end - 1]
        columns += last
        return Span(self.source, line, end_line, min(columns), max(columns))

    def mention(self, node: Expr, first: int, end: int) -> None:
        """Note that `node` is what these tokens say."""
        if not isinstance(node, Op):  # there is one object for all texts
            set_field(node, "span", self.span(first, end))


def merged(spans: Sequence[Span | None]) -> Span | None:
    """What TVM takes for the place of several."""
    known = [s for s in spans if s is not None]
    if not known:
        return None
    return Span(
        known[0].source_name,
        min(s.line for s in known),
        max(s.end_line for s in known),
        min(s.column for s in known),
        max(s.end_column for s in known),
    )


def _places(tokens: Tokens) -> list[tuple[int, int, int]]:
    """Line, first column and end of every token, as TVM counts them."""
    found = []
    here, shift = 0, 0
    for text, start in zip(tokens.texts, tokens.starts, strict=True):
        line, column = tokens.source.place(start)
        if line != here:
            here, shift = line, 0
        first = column + shift
        kind = text[:1]
        if kind.isalpha() or kind in ("_", "%", "@"):
            if text.startswith("meta["):
                found.append((line, first + 5, first + len(text)))
                continue
            for word in _WORD.finditer(text):
                extra = _counted_twice(word.group())
                shift += extra
                first += extra * (word.start() == 0)
        if not text:
            found.append((line, first, first + 1))
        elif kind.isdecimal() or text.startswith("inff"):
            behind = first + len(text)
            found.append((line, behind, behind + 1))
        elif kind == "@" or (kind == "%" and not text[1:2].isdecimal() and "." not in text):
            found.append((line, first, first + 1))
        else:
            # A projection ends with a number, which stands behind itself.
            ends_behind = (kind in (".", "%")) and "." in text
            found.append((line, first, column + shift + len(text) + ends_behind))
    return found


def _counted_twice(word: str) -> int:
    for mistaken in _MISTAKEN:
        common = 0
        while common < min(len(word), len(mistaken)) and word[common] == mistaken[common]:
            common += 1
        if common:
            return common
    return 0
