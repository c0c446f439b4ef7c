"""Single tokens: words, literals, strings, and hints for invalid tokens."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from byoc_lab.relay.ir.types import DTYPE, SHORT_DTYPES
from byoc_lab.relay.text.lexer import STRING

_ESCAPE = re.compile(r"((?:\\x[0-9A-Fa-f]{2})+)|\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}


def is_word(token: str) -> bool:
    """Whether a token is a name, an operator or a keyword."""
    return (token[:1].isalpha() or token[:1] == "_") and not token.startswith("meta[")


def is_string(token: str) -> bool:
    """Whether a token is a complete string, including its closing quote."""
    return token[:1] == '"' and STRING.fullmatch(token) is not None


def near(word: str, known: Iterable[str]) -> str:
    """A suggestion to append to a message: "; did you mean 'a' or 'b'?", or nothing."""
    found = difflib.get_close_matches(word, list(known), n=3)
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""


def names_dtype(token: str) -> bool:
    """Whether a token is a dtype: "float32", or "float", which TVM accepts for it."""
    return token in SHORT_DTYPES or DTYPE.fullmatch(token) is not None


def literal_dtype(
    kind: str, suffix: str | None, letter: str, default: str, widths: Iterable[str]
) -> str:
    width = (suffix or "").removeprefix(letter) or default
    if width not in widths:
        raise KeyError(width)
    return kind + width


def unescape(token: str) -> str:
    """The text of a string token; an unknown escape is left unchanged."""
    if "\\" not in token:
        return token[1:-1]
    return _ESCAPE.sub(_unescaped, token[1:-1])


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:  # TVM writes non-ASCII characters byte by byte
        try:
            return bytes.fromhex(found[1].replace("\\x", "")).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return found[0]
    return _ESCAPED.get(found[2], found[0])


def minus_hint(token: str, signs: int) -> str:
    return "a minus sign needs a number; write negative(...)" if signs and token else ""


def token_hint(token: str) -> str:
    """A hint for a token that users often write, but that does not exist in Relay."""
    if token == "in":
        return "Relay text has no `in`: end the value with ';'"
    if token == "#":
        return "comments begin with //"
    if token[:1] == '"' and not is_string(token):
        return "a string is not closed on its line"
    if token == "\N{HORIZONTAL ELLIPSIS}":
        return "the text is abridged here; replace the dots by the omitted text"
    if token.endswith("Node") and token[:1].isupper():
        return "this is a dump of C++ objects; print the expression with astext() instead"
    if token == "*/":
        return "no comment is open here"
    return ""
