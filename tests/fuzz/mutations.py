"""Valid texts, and changes that keep most of their structure.

A change of one token among thousands gets past the parser, to type inference and passes. Random
characters fail in the lexer; `tests/relay/text/test_bad_text.py` tests them.
"""

from __future__ import annotations

import random as _random
import re
from functools import cache
from itertools import pairwise

from byoc_lab import relay
from byoc_lab.errors import ParseError
from byoc_lab.relay.ir.source_map import Source
from byoc_lab.relay.text.lexer import METADATA_MARKS, tokenize
from tests.relay.op.samples import SAMPLES
from tests.relay.text.texts import PRINTED, THREADS, code_of

LONGEST = 6_000
NUMBERS = ["0", "1", "2", "-1", "3", "7", "255", "1000000007", "-2147483648", "4294967296"]
FLOATS = ["0f", "-0f", "1.5f", "1e30f", "inff", "-inff", "nanf", "1e-40f", "0.5f16", "1e300f64"]
STRINGS = ['""', '"NCHW"', '"NHWC"', '"NCHW8c"', '"OIHW"', '"float32"', '"int8"', '"é"', '"dnnl"']
DTYPES = ["float32", "float64", "float16", "int8", "uint8", "int32", "int64", "bool", "bfloat16"]
PIECES = ["()", "(%x,)", "True", "None", "fn () { 1 }", "ref(1)", "[]", "{}", "let %q = 1;", "%0"]
PIECES += ['Compiler="dnnl"', "Primitive=1", 'Composite="dnnl.conv2d"', 'global_symbol="main"']
MARK = 'annotation.compiler_{}({}, compiler="{}")'

_INTEGER = re.compile(r"-?\d+")
_FLOAT = re.compile(r"\d+\.?\d*(e[+-]?\d+)?f\d*")
_DIMENSIONS = re.compile(r"Tensor\[\(([^)]*)\), (\w+)\]")


@cache
def seeds() -> tuple[str, ...]:
    """Golden texts, code blocks of the threads, and one call of each operator."""
    texts = [code_of(p) for p in (*PRINTED, *THREADS)]
    for sample in SAMPLES:
        mod = relay.IRModule.from_expr(sample.function())
        texts.append(relay.transform.InferType()(mod).astext(show_types=False))
    return tuple(t for t in texts if len(t) < LONGEST)


def spoiled(random: _random.Random) -> str:
    """A text with one to four changes."""
    text = random.choice(seeds())
    for _ in range(random.choice([1, 1, 1, 2, 3, 4])):
        text = random.choice(_CHANGES)(text, random)
    return text


def _program(text: str) -> tuple[list[str], str]:
    """The tokens of a text, each with its preceding white space, and the metadata section."""
    at = min((text.index(m) for m in METADATA_MARKS if m in text), default=len(text))
    tokens = tokenize(Source(text), 0, at)
    ends = [0, *(tokens.end(i) for i in range(len(tokens.texts)))]
    return [text[a:b] for a, b in pairwise(ends)], text[at:]


def _tokens(change):
    """Turns a change of the list of tokens into a change of the text."""

    def changed(text: str, random: _random.Random) -> str:
        try:
            pieces, metadata = _program(text)
        except ParseError:  # a comment without an end
            return text
        if len(pieces) < 3:
            return text
        change(pieces, random)
        return "".join(pieces) + "\n" + metadata

    return changed


@_tokens
def _delete(pieces, random) -> None:
    at = random.randrange(len(pieces))
    del pieces[at : at + random.choice([1, 1, 2, 5])]


@_tokens
def _duplicate(pieces, random) -> None:
    at = random.randrange(len(pieces))
    pieces[at:at] = pieces[at : at + random.choice([1, 1, 2, 5, 20])]


@_tokens
def _swap(pieces, random) -> None:
    a, b = random.randrange(len(pieces)), random.randrange(len(pieces))
    pieces[a], pieces[b] = pieces[b], pieces[a]


@_tokens
def _copy_over(pieces, random) -> None:
    """Replaces one token by another of its kind: a variable, an operator, an attribute."""
    at = random.randrange(len(pieces))
    alike = [p for p in pieces if p.strip()[:1] == pieces[at].strip()[:1] and p != pieces[at]]
    if alike:
        pieces[at] = random.choice(alike)


@_tokens
def _replace(pieces, random) -> None:
    pieces[random.randrange(len(pieces))] = " " + random.choice(
        [*NUMBERS, *FLOATS, *STRINGS, *DTYPES, *PIECES, random.choice(relay.Op.list_op_names())]
    )


@_tokens
def _value(pieces, random) -> None:
    """Replaces a number, string or dtype by another."""
    kinds = ((_FLOAT, FLOATS), (_INTEGER, NUMBERS), (re.compile(r'".*"'), STRINGS))
    places = [
        (i, choices)
        for i, piece in enumerate(pieces)
        for kind, choices in (*kinds, (re.compile("|".join(DTYPES)), DTYPES))
        if kind.fullmatch(piece.strip())
    ]
    if places:
        at, choices = random.choice(places)
        pieces[at] = " " + random.choice(choices)


@_tokens
def _annotate(pieces, random) -> None:
    """Inserts a begin or an end around a use of a variable or number."""
    uses = [
        i
        for i in range(len(pieces) - 1)
        if pieces[i].strip()[:1] == "%" and pieces[i + 1].strip()[:1] in (",", ")")
    ]
    for _ in range(random.choice([1, 2, 6])):
        if uses:
            at = random.choice(uses)
            kind, compiler = random.choice(["begin", "end"]), random.choice(["dnnl", "dnnl", "x"])
            pieces[at] = " " + MARK.format(kind, pieces[at].strip(), compiler)


@_tokens
def _operator(pieces, random) -> None:
    """Replaces an operator; the attributes stay."""
    names = set(relay.Op.list_op_names())
    places = [i for i, piece in enumerate(pieces) if piece.strip() in names]
    if places:
        pieces[random.choice(places)] = " " + random.choice(sorted(names))


def _type(text: str, random: _random.Random) -> str:
    """Replaces the shape or dtype of one tensor type."""
    found = list(_DIMENSIONS.finditer(text))
    if not found:
        return text
    match = random.choice(found)
    dims = [d for d in match[1].split(", ") if d]
    change = random.randrange(4)
    if change == 0 and dims:
        at = random.randrange(len(dims))
        dims[at] = random.choice(["0", "1", "2", "5", "?", "1000003"])
    elif change == 1 and dims:
        del dims[random.randrange(len(dims))]
    elif change == 2:
        dims.insert(random.randint(0, len(dims)), random.choice(["0", "1", "3", "?"]))
    dtype = random.choice(DTYPES) if change == 3 else match[2]
    new = f"Tensor[({', '.join(dims)}), {dtype}]"
    whole = random.random() < 0.5  # in every occurrence, so that the module may still be well-typed
    return (
        text.replace(match[0], new) if whole else text[: match.start()] + new + text[match.end() :]
    )


def _metadata(text: str, random: _random.Random) -> str:
    """Changes a character of the metadata section."""
    at = min((text.index(m) for m in METADATA_MARKS if m in text), default=None)
    if at is None:
        return text
    place = random.randrange(at, len(text))
    return (
        text[:place] + random.choice(["", "0", "9", '"', "}", "A", "\n", "-"]) + text[place + 1 :]
    )


_CHANGES = (
    _delete,
    _duplicate,
    _swap,
    _copy_over,
    _copy_over,
    _replace,
    _value,
    _value,
    _value,
    _annotate,
    _annotate,
    _operator,
    _type,
    _type,
    _metadata,
)
