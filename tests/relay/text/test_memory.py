"""The memory that reading a text takes: 20 times the text, and its nodes; never more than 2 GB."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from byoc_lab import relay
from byoc_lab.errors import ByocLabError, ParseError
from byoc_lab.relay.ir.source_map import Source
from byoc_lab.relay.text import lexer
from byoc_lab.relay.text.lexer import MAX_TOKENS, tokenize
from byoc_lab.relay.text.parser import MAX_CHARACTERS

CONSTANT = 1_000_000  # bytes for any text: matches of a batch, tables of the type inference
NODES = 600  # bytes for each token of a text in which nearly each one is a node
N = 2_000

WITHOUT_NODES = {
    "blanks": "def @main() { 1 }" + " " * 60_000,
    "empty comments": "def @main() { 1 }" + "/**/" * 20_000,
    "line comments": "def @main() { 1 }" + "//\n" * 50_000,
    "stars in a comment": "def @main() { 1 } /*" + " *" * 60_000 + " */",
    "nested comments": "def @main() { 1 }" + "/*/**/*/" * 20_000,
    "escapes in a string": 'def @main(a="' + "\\n" * 60_000 + '") { 1 }',
    "a string that is not closed": 'def @main(a="' + "\\n" * 60_000,
    "a long name": "def @main(%" + "a/" * 60_000 + "a: int8) { 1 }",
    "a name of many parts": "def @main() { " + "a." * 60_000 + "a(1) }",
    "commas": "," * 100_000,
    "one type": "def @main(%x: (" + "int8," * 20_000 + ")) { 1 }",
    "fields": "def @main(%x: int8) { (" + "%x," * 30_000 + ") }",
}
WITHOUT_NODES |= {f"{name}, in a paste": text for name, text in list(WITHOUT_NODES.items())[:7]}

DENSE = {
    "projections": "def @main(%x: int8) { %x" + " .0" * N + " }",
    "operators": "def @main() { " + "-".join("1" * N) + " }",
    "literals": "def @main() { (" + "1," * N + ") }",
    "sums": "def @main(%x: int8) { " + "+".join(["%x"] * N) + " }",
    "calls": "def @main(%f: fn () -> int8) { (" + "%f()," * N + ") }",
    "nested calls": "def @main(%x: float32) { " + "exp(" * N + "%x" + ")" * N + " }",
    "lets": "def @main(%x: int8) { " + "let %y=%x;" * N + "%y }",
    "ifs": "def @main(%x: bool) { (" + "if(%x){1}else{2}," * N + ") }",
    "functions": "def @main() { (" + "fn(){1}," * N + ") }",
    "definitions": "".join(f"def @f{i}(){{1}}\n" for i in range(N)),
    "parameters": "def @main(" + "".join(f"%a{i}:int8," for i in range(N)) + ") { 1 }",
}


def _peak(text: str, paste: bool = False) -> int:
    """The most bytes that reading a text takes at a time, its types included."""
    gc.collect()
    tracemalloc.start()
    try:
        (relay.parse_programs if paste else relay.parse)(text)
    except ByocLabError:
        pass  # a text that is refused takes no more than another
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    relay.parse("def @main(%x: float32) { exp(%x) + 1f - 1f }")


@pytest.mark.parametrize("name", WITHOUT_NODES)
def test_reading_takes_20_times_the_text(name: str) -> None:
    text = WITHOUT_NODES[name]
    assert _peak(text, "paste" in name) <= 20 * len(text) + CONSTANT


@pytest.mark.parametrize("name", DENSE)
def test_the_nodes_of_dense_texts_take_a_bounded_memory_for_each_token(name: str) -> None:
    text = DENSE[name]
    tokens = len(tokenize(Source(text)).texts)
    assert tokens > N
    assert _peak(text) < 20 * len(text) + NODES * tokens + CONSTANT


def test_no_text_takes_more_than_20_times_the_longest() -> None:
    assert NODES * MAX_TOKENS <= 20 * MAX_CHARACTERS


def test_a_text_of_too_many_tokens_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def @main(%x: int8) { (" + "%x, " * 50 + ") }"
    monkeypatch.setattr(lexer, "MAX_TOKENS", len(tokenize(Source(text)).texts) - 1)
    assert "main" in relay.parse(text)
    with pytest.raises(ParseError, match="the text has more than 111 tokens, the limit"):
        relay.parse(text + " // still read\n;")


def test_projections_in_a_name_count_as_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def @main(%x: (int8,)) { (%x" + ".0" * 60 + ", %x" + ".0" * 60 + ") }"
    assert "main" in relay.parse(text, infer=False)
    monkeypatch.setattr(lexer, "MAX_TOKENS", 100)
    with pytest.raises(ParseError, match="more than 100 projections, the limit"):
        relay.parse(text)
