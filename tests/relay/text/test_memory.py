"""Memory for parsing a text: 20 times its size, or 256 MiB; texts that need more are refused."""

from __future__ import annotations

import gc
import itertools
import string
import subprocess
import sys
import tracemalloc
from collections.abc import Iterable
from typing import Any

import pytest

from byoc_lab import relay
from byoc_lab.errors import ByocLabError, ParseError
from byoc_lab.relay.ir.source_map import Source
from byoc_lab.relay.testing import mobilenet
from byoc_lab.relay.text import budget, lexer
from byoc_lab.relay.text.json import decoding
from byoc_lab.relay.text.lexer import tokenize

CONSTANT = 500_000  # bytes for any text: a batch of matches, tables of the type inference
N = 4_000

LETTERS, INNER = string.ascii_letters, string.ascii_letters + string.digits
CYRILLIC = "".join(map(chr, range(0x400, 0x460)))


def _names(*letters: str, sign: str = "", count: int = 30_000) -> str:
    """Different names, separated by commas."""
    names = ("".join(name) for name in itertools.product(*letters))
    return ",".join(sign + name for name in itertools.islice(names, count))


WITHOUT_NODES = {
    "blanks": "def @main() { 1 }" + " " * 20_000,
    "empty comments": "def @main() { 1 }" + "/**/" * 20_000,
    "line comments": "def @main() { 1 }" + "//\n" * 20_000,
    "stars in a comment": "def @main() { 1 } /*" + " *" * 20_000 + " */",
    "nested comments": "def @main() { 1 }" + "/*/**/*/" * 20_000,
    "escapes in a string": 'def @main(a="' + "\\n" * 20_000 + '") { 1 }',
    "a string that is not closed": 'def @main(a="' + "\\n" * 20_000,
    "a long name": "def @main(%" + "a/" * 20_000 + "a: int8) { 1 }",
    "a name of many parts": "def @main() { " + "a." * 20_000 + "a(1) }",
    "commas": "," * 30_000,
    "one type": "def @main(%x: (" + "int8," * 10_000 + ")) { 1 }",
    "fields": "def @main(%x: int8) { (" + "%x," * 15_000 + ") }",
    "numbers of bindings": "%0,%1," * 15_000,
    "ideographs": ",".join("%" + chr(n) for n in range(0x4E00, 0x9FF0)) * 2,
    "lines without end": "\n" * 30_000 + "}",
}

DIFFERENT = {
    "different numbers": ",".join(map(str, range(30_000))),
    "different bindings": ",".join(f"%{n}" for n in range(30_000)),
    "different strings": ",".join(f'"{n}"' for n in range(30_000)),
    "different variables": _names(LETTERS, INNER, INNER, sign="%"),
    "different words": _names(LETTERS, INNER, INNER),
}
WITHOUT_NODES |= {f"{name}, in a paste": text for name, text in list(WITHOUT_NODES.items())[:7]}

DENSE = {
    "projections": "def @main(%x: (int8,)) { (" + "%x.0," * N + ") }",
    "projections of projections": "def @main(%x: int8) { (" + "%x.0.0.0.0," * N + ") }",
    "empty tuples": "def @main() { (" + "()," * N + ") }",
    "nested sums": "def @main(%x: int8) { " + "add(%x," * N + "%x" + ")" * N + " }",
    "types": "def @main(%x: (" + "(),ref(_)," * N + ")) { %x }",
    "attributes": "def @main(%x: int8, a=[" + "{},[1]," * N + "]) { %x }",
    "constructors": "type T {" + "".join(f"A{i}," for i in range(N)) + "}",
    "cases": "type T { A }\ndef @main(%x: T[]) { (" + "match(%x){A=>1}," * N + ") }",
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


def _each(texts: Iterable[str]) -> list[Any]:
    """Parameters: every eighth text runs in `make test`, the others in the slow tests."""
    return [
        pytest.param(t, marks=[] if n % 8 == 0 else [pytest.mark.slow]) for n, t in enumerate(texts)
    ]


def _peak(text: str, paste: bool = False) -> int:
    """The peak number of bytes while a text is parsed and typed."""
    gc.collect()
    tracemalloc.start()
    try:
        (relay.parse_programs if paste else relay.parse)(text)
    except ByocLabError:
        pass  # a refused text needs no more memory than an accepted one
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    relay.parse("def @main(%x: float32) { exp(%x) + 1f - 1f }")


@pytest.mark.parametrize("name", _each(WITHOUT_NODES))
def test_parsing_needs_at_most_20_times_the_text(name: str) -> None:
    text = WITHOUT_NODES[name]
    assert _peak(text, "paste" in name) <= 20 * len(text.encode()) + CONSTANT


def _is_read(text: str) -> bool:
    """Whether the limits accept a text; it may have other faults."""
    try:
        relay.parse(text, infer=False)
    except ParseError as error:
        return "the limit for a text" not in str(error)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("name", DENSE)
def test_accepted_dense_text_stays_within_the_memory_limit(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = DENSE[name]
    refused, enough = 0, 100_000_000
    while enough - refused > 50_000:
        monkeypatch.setattr(budget, "FLOOR", (refused + enough) // 2)
        if _is_read(text):
            enough = budget.FLOOR
        else:
            refused = budget.FLOOR
    assert enough > 20 * len(text), "this text is not dense"
    assert _peak(text) <= enough + CONSTANT


@pytest.mark.slow
@pytest.mark.parametrize("name", DENSE)
def test_dense_text_beyond_the_memory_limit_is_refused_within_the_limit(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "FLOOR", 0)
    text = DENSE[name]
    with pytest.raises(ParseError, match=f"the limit for a text of {len(text):,} characters"):
        relay.parse(text)
    assert _peak(text) <= 20 * len(text) + CONSTANT


@pytest.mark.slow
@pytest.mark.parametrize("part", ["1,", "(),", "%x.0,", "{a}"])
def test_millions_of_nodes_are_refused_within_the_limit(part: str) -> None:
    """In a process with limited memory."""
    script = f"""
import resource
from byoc_lab import relay
from byoc_lab.errors import ParseError
if {part!r} == "{{a}}":
    text = 'def @main() {{ 1 }}\\n#[metadata]\\n{{"root":1,"nodes":['
    text += '{{}},' * 2_000_000 + '{{}}]}}'
else:
    text = "def @main(%x: (int8,)) {{ (" + {part!r} * 800_000 + ") }}"
relay.parse("def @main(%x: float32) {{ exp(%x) }}")
used = 4096 * int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (used + (320 << 20),) * 2)
try:
    relay.parse(text)
except ParseError as error:
    assert "the limit" in str(error)
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "refused\n", done.stderr


@pytest.mark.parametrize("name", _each(DIFFERENT))
def test_parsing_different_tokens_needs_at_most_20_times_the_text(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexer, "MAX_KNOWN", 3_000)
    text = DIFFERENT[name]
    assert _peak(text) <= 20 * len(text.encode()) + CONSTANT


def test_parsing_different_names_in_other_scripts_needs_limited_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An empty string of such characters has 72 bytes before Python 3.12, then 56."""
    monkeypatch.setattr(lexer, "MAX_KNOWN", 3_000)
    text = _names(CYRILLIC, CYRILLIC + INNER + CYRILLIC.upper(), INNER)
    times = 20 if sys.version_info >= (3, 12) else 30
    assert _peak(text) <= times * len(text.encode()) + CONSTANT


def test_parsing_printed_networks_needs_less_than_10_times_the_text() -> None:
    printed = mobilenet.get_workload()[0].astext(show_meta_data=False)
    body = printed[printed.index("def @main") :]
    text = "".join(body.replace("@main", f"@net_{n}") for n in range(4))
    assert len(text) > 100_000
    assert _peak(text) < 10 * len(text) + CONSTANT


@pytest.mark.parametrize(
    "value", _each(["[[[[[]]]]]", '{"a":{}}', '{"":{"":{}}}', '"abc"', "1000", "1.5"])
)
def test_json_needs_limited_memory_per_value(value: str) -> None:
    graph = '{"root":1,"nodes":[' + f"{value}," * 20_000 + "{}]}"
    text = '#[version = "0.0.5"]\ndef @main() { 1 }\n#[metadata]\n' + graph
    needed = sum(graph.count(mark) * size for mark, size in decoding.BYTES.items())
    assert _peak(text) < needed + 3 * len(text) + CONSTANT


def test_json_with_too_many_values_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '#[version = "0.0.5"]\ndef @main() { 1 }\n#[metadata]\n' + "[" + "{}," * 50_000 + "1]"
    monkeypatch.setattr(budget, "FLOOR", 1 << 20)
    with pytest.raises(ParseError, match="its values take more than 2 MiB of memory"):
        relay.parse(text)
    assert _peak(text) < 20 * len(text)


def test_text_with_too_many_tokens_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def @main(%x: int8) { (" + "%x, " * 50 + ") }"
    monkeypatch.setattr(lexer, "MAX_TOKENS", len(tokenize(Source(text)).texts) - 1)
    assert "main" in relay.parse(text)
    with pytest.raises(ParseError, match="the text has more than 111 tokens, the limit"):
        relay.parse(text + " // still read\n;")
