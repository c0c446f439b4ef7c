"""Relay text to tokens: one regular expression, offsets instead of line numbers.

A token is a string; its first character determines its kind (`%0` a graph binding, `%x` a local,
`@f` a global, `"..."` a string, a digit a number, a letter a word or `meta[T][i]`), so that no
table of kinds is needed. The last token is always "", the end.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from byoc_lab.relay.ir.source_map import Source

# `/` is a character of Relay's names. `.`, `:`, `::` and `-` are not for TVM's parser, but its
# printer writes such names, which importers create: they are accepted where this is unambiguous.
_WORD = r"[^\W\d](?:\w|/(?=\w))*"
_SKIP = r"(?:\s|//[^\n]*|/\*[^*/]*(?:(?:\*(?!/)|/(?!\*))[^*/]*)*\*/)*"
_STRING = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
STRING = re.compile(_STRING)
_TOKENS = (
    r"%\d+",
    rf"%/?{_WORD}(?:(?:\.|::|:(?=\d)|-(?=[^\W\d]))[\w/]+)*",
    r"meta\[[^\[\]\n]*\]\[[^\[\]\n]*\]",
    r"METADATA:[\s\S]*",
    r"v\d+\.\d+\.\d+\b",
    rf"@?{_WORD}(?:\.{_WORD})*",
    r"\.\s*\d+",
    r"\d+\.?\d*(?:[eE][+-]?\d+)?(?:[fi]\d*(?!\w))?",
    _STRING,
    r'"[^\n]*',  # a string that is not closed is one token, so that each character is read once
    r"->|=>|[<>=!:]=|;;|\*/",
    r"\#\[metadata\][\s\S]*",
    r"\#\[version[^\[\]\n]*\]",
    r"/\*[\s\S]*",  # a comment in a comment, or one that never ends: see _without_comments
    r"[\s\S]",
)
_MASTER = re.compile(f"({_SKIP})({'|'.join(_TOKENS)}|\\Z)")
_COMMENT_OR_STRING = re.compile(rf'{_STRING}|"[^\n]*|//[^\n]*|/\*')
_COMMENT_MARK = re.compile(r"/\*|\*/")
KEYWORDS = {"let", "fn", "def", "if", "else", "type", "match", "extern", "free_var"}
KEYWORDS |= {"ref", "ref_read", "ref_write"}
METADATA_MARKS = ("#[metadata]", "METADATA:")
_STRETCH = 1 << 14  # characters; the tokens of a chunk fit a processor's cache
_METADATA_LINE = re.compile(
    "|".join(f"^{re.escape(mark)}" for mark in METADATA_MARKS), re.MULTILINE
)


@dataclass(frozen=True)
class Tokens:
    """The tokens of (a part of) a source; token i is `texts[i]` at `starts[i]`."""

    source: Source
    texts: list[str]
    starts: Sequence[int]
    metadata: int | None  # offset of the metadata section, whose JSON has no tokens

    def end(self, i: int) -> int:
        return self.starts[i] + len(self.texts[i])


def tokenize(source: Source, start: int = 0, end: int | None = None) -> Tokens:
    """The tokens of `source.text[start:end]`.

    Only a comment without an end is an error here: a character that begins no token becomes a token
    itself, and the parser, which knows what it expected, reports it.
    """
    end = len(source.text) if end is None else end
    texts: list[str] = []
    starts = array("q")
    known: dict[str, str] = {}  # equal tokens are one string: a text has few different ones
    for at, parts in _stretches(source, start, end):
        starts += array("q", accumulate(map(len, parts), initial=at))[1::2]
        texts += map(known.setdefault, parts[1::2], parts[1::2])
    metadata = None
    if texts and texts[-1].startswith(METADATA_MARKS):
        texts.pop()
        metadata = end = starts.pop()
    texts.append("")
    starts.append(end)
    return Tokens(source, texts, starts, metadata)


def _stretches(source: Source, start: int, end: int) -> Iterator[tuple[int, list[str]]]:
    """Chunks of the text: the offset of each, and the skipped text before its first token,
    that token, the skipped text before the next one, and so on. Chunks limit the memory."""
    text = source.text
    mark = _METADATA_LINE.search(text, start, end)
    last = mark.end() if mark else end  # the metadata after the heading is long
    at, cut = start, start
    while cut < last:
        at, cut = cut, text.find(";\n", cut + _STRETCH, last) + 1 or last
        pairs = _pairs(text, at, cut)
        if pairs and pairs[-1][1].startswith("/*"):
            cut = last = end
            pairs = _pairs(_without_comments(source, at, end), at, end)
        if pairs:
            yield at, list(chain.from_iterable(pairs))
            if pairs[-1][1].startswith(METADATA_MARKS):
                return


def _pairs(text: str, start: int, end: int) -> list[tuple[str, str]]:
    """The skipped text before each token of a chunk, and the token."""
    pairs = _MASTER.findall(text, start, end)
    while pairs and not pairs[-1][1]:
        pairs.pop()  # the end of the text matches, too
    return pairs


def _without_comments(source: Source, start: int, end: int) -> str:
    """The text with blanks in place of every comment between `start` and `end`; comments nest."""
    text, last, at = source.text, 0, start
    kept: list[str] = []
    while found := _COMMENT_OR_STRING.search(text, at, end):
        at = found.end()
        if found.group() == "/*":
            depth = 1
            for mark in _COMMENT_MARK.finditer(text, at, end):
                depth += 1 if mark.group() == "/*" else -1
                if depth == 0:
                    break
            else:
                raise source.error("this comment never ends: expected '*/'", found.start())
            at = mark.end()
            kept += text[last : found.start()], re.sub(r"[^\n]", " ", text[found.start() : at])
            last = at
    return "".join((*kept, text[last:]))
