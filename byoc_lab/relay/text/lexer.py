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
from itertools import count, islice

from byoc_lab.relay.ir.source_map import Source

MAX_TOKENS = 3_300_000
"""The maximum number of tokens of a text (about 150,000 operators). `budget` limits the memory of
nodes; this limit stops longer texts earlier, because reading tokens takes minutes."""
MAX_KNOWN = 40_000
"""The maximum number of tokens in the dictionary (one megabyte) through which equal tokens share
one string."""
_numbers = count()


def many(item: str) -> str:
    """A regular expression for any number of `item`, like `(item)*`.

    For `(item)*`, Python keeps 160 bytes per repetition, even of one character; the returned
    expression releases them every 200 repetitions.
    """
    group = f"_{next(_numbers)}"
    return rf"(?:(?=(?P<{group}>(?:{item}){{1,200}}))(?P={group}))*"


def _word() -> str:
    # `/` is a character of Relay's names. TVM's parser refuses `.`, `:`, `::` and `-`, but its
    # printer writes such names, which importers create: accepted if unambiguous.
    return r"[^\W\d]\w*" + many(r"/\w+")


STRING_PATTERN = r'"[^"\\\n]*' + many(r'\\.[^"\\\n]*') + '"'
STRING = re.compile(STRING_PATTERN)
_COMMENT = r"//[^\n]*|/\*[^*/]*" + many(r"(?:\*(?!/)|/(?!\*))[^*/]*") + r"\*/"
_TOKENS = (
    r"%\d+",
    "%/?" + _word() + many(r"(?:\.|::|:(?=\d)|-(?=[^\W\d]))[\w/]+"),
    r"meta\[[^\[\]\n]*\]\[[^\[\]\n]*\]",
    r"METADATA:[\s\S]*",
    r"v\d+\.\d+\.\d+\b",
    "@?" + _word() + many(r"\." + _word()),
    r"\.\s*\d+",
    r"\d+\.?\d*(?:[eE][+-]?\d+)?(?:[fi]\d*(?!\w))?",
    STRING_PATTERN,
    r'"[^\n]*',  # an unclosed string is one token, so that each character is read only once
    r"->|=>|[<>=!:]=|;;|\*/",
    r"\#\[metadata\][\s\S]*",
    r"\#\[version[^\[\]\n]*\]",
    r"/\*[\s\S]*",  # a nested comment, or one that never ends: see _without_comments
    r"[\s\S]",
)
_MASTER = re.compile(rf"\s*(?:{_COMMENT}|(?P<token>{'|'.join(_TOKENS)})|\Z)")
_TOKEN = _MASTER.groupindex["token"]
_COMMENT_OR_STRING = re.compile(rf'{STRING_PATTERN}|"[^\n]*|//[^\n]*|/\*')
_COMMENT_MARK = re.compile(r"/\*|\*/")
KEYWORDS = {"let", "fn", "def", "if", "else", "type", "match", "extern", "free_var"}
KEYWORDS |= {"ref", "ref_read", "ref_write"}
METADATA_MARKS = ("#[metadata]", "METADATA:")
_BATCH = 1024  # number of tokens whose matches are in memory at a time
_METADATA_LINE = re.compile(
    "|".join(f"^{re.escape(mark)}" for mark in METADATA_MARKS), re.MULTILINE
)


@dataclass(frozen=True)
class Tokens:
    """The tokens of (a part of) a source; token i is `texts[i]` at `starts[i]`."""

    source: Source
    texts: list[str]
    starts: Sequence[int]
    metadata: int | None  # offset of the metadata section, whose JSON is not split into tokens

    def end(self, i: int) -> int:
        return self.starts[i] + len(self.texts[i])


def tokenize(source: Source, start: int = 0, end: int | None = None) -> Tokens:
    """The tokens of `source.text[start:end]`.

    The only error here is a comment without an end. A character that cannot begin a token becomes a
    token, and the parser reports it together with the expected token.
    """
    text = source.text
    end = len(text) if end is None else end
    mark = _METADATA_LINE.search(text, start, end)
    # The metadata section is long, so only its heading is matched.
    found = _MASTER.finditer(text, start, mark.end() if mark else end)
    texts: list[str] = []
    starts = array("I")  # at most MAX_CHARACTERS of the parser: four bytes
    known: dict[str, str] = {}  # most texts have few different tokens
    while batch := list(islice(found, _BATCH)):
        tokens = [match for match in batch if match[_TOKEN]]
        starts.extend([match.start(_TOKEN) for match in tokens])
        words = [match[_TOKEN] for match in tokens]
        if len(known) > MAX_KNOWN:
            known.clear()
        texts += map(known.setdefault, words, words)
        if texts and texts[-1].startswith("/*"):
            texts.pop()
            at = starts.pop()
            found = _MASTER.finditer(_without_comments(source, at, end), at, end)
        if len(texts) > MAX_TOKENS:
            raise source.error(
                f"the text has more than {MAX_TOKENS:,} tokens, the limit; parse its functions as "
                f"several texts",
                starts[MAX_TOKENS],
            )
    metadata = None
    if texts and texts[-1].startswith(METADATA_MARKS):
        texts.pop()
        metadata = end = starts.pop()
    texts.append("")
    starts.append(end)
    return Tokens(source, texts, starts, metadata)


def _without_comments(source: Source, start: int, end: int) -> str:
    """The text with blanks in place of every comment between `start` and `end`."""
    text, last = source.text, 0
    kept: list[str] = []
    for begin, stop in comments(source, start, end):
        kept += text[last:begin], re.sub(r"[^\n]", " ", text[begin:stop])
        last = stop
    return "".join((*kept, text[last:]))


def comments(source: Source, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The start and end of each comment in a part of a text; comments in /* */ nest. Raises
    ParseError for a comment that does not end."""
    text, at = source.text, start
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
        if not found.group().startswith('"'):
            yield found.start(), at


def metadata_start(text: str) -> int:
    """The start of a text's metadata section, which is not Relay; the end of a text without one."""
    mark = _METADATA_LINE.search(text)
    return mark.start() if mark else len(text)
