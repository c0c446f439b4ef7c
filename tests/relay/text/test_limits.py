"""Hostile text is refused at once: limits on size, depth and expansion, and linear time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from byoc_lab import relay
from byoc_lab.errors import (
    ArgumentError,
    AttributeValueError,
    ByocLabError,
    ParseError,
    TypeInferenceError,
)
from byoc_lab.relay.ir.types import MAX_PARTS
from byoc_lab.relay.text import parser
from byoc_lab.relay.text.parser import MAX_CHARACTERS
from byoc_lab.relay.typing.infer import infer_expr

HEAD = '#[version = "0.0.5"]\n'
X = relay.var("x", shape=(2, 4))

REPEATED = {
    "strings that are not closed": lambda n: '"\n' * n,
    "escapes in such a string": lambda n: '"' + '\\"' * n,
    "backslashes": lambda n: 'def @main() { "' + "\\" * n,
    "meta[": lambda n: "meta[" * n,
    "versions that are not closed": lambda n: "#[version" * n,
    "versions": lambda n: HEAD * n,
    "projections": lambda n: "def @main(%x: (int32,)) { %x" + ".0" * n + " }",
    "comments that are not closed": lambda n: "/*" * n,
    "nested comments": lambda n: "/*" * n + "*/" * n + "x",
}


@pytest.mark.parametrize("name", REPEATED)
def test_each_character_is_read_once(name: str) -> None:
    """Looking ahead through the rest of the text at each location would need minutes."""
    with pytest.raises(ByocLabError):
        relay.parse(HEAD + REPEATED[name](100_000))


def test_text_of_more_than_100_million_characters_is_refused() -> None:
    with pytest.raises(ParseError, match=f"more than {MAX_CHARACTERS:,} characters"):
        relay.parse("a" * (MAX_CHARACTERS + 1))


def test_limit_of_characters_can_be_set(tmp_path: Path) -> None:
    text = HEAD + "def @main(%x: Tensor[(2), float32]) { abs(%x) }"
    file = tmp_path / "small.relay"
    file.write_text(text, encoding="utf-8")
    for read, source in ((relay.parse, text), (relay.parse_file, file)):
        assert "main" in read(source, max_characters=len(text))
        with pytest.raises(ParseError, match=f"more than {len(text) - 1} characters, the limit"):
            read(source, max_characters=len(text) - 1)
        for wrong in (0, -1, 2**32, 1.5, "100"):
            with pytest.raises(ArgumentError, match="max_characters must be an int from 1 to"):
                read(source, max_characters=wrong)  # type: ignore[arg-type]


def test_endless_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "MAX_CHARACTERS", 10_000)
    with pytest.raises(ParseError, match="more than 10,000 characters, the limit"):
        relay.parse_file("/dev/zero")


def test_messages_quote_only_a_part_of_a_long_line() -> None:
    for text in ('"' * 50_000, "meta[" * 20_000, "def @main() { " + "é" * 100_000):
        with pytest.raises(ParseError) as caught:
            relay.parse(HEAD + text)
        assert len(str(caught.value)) < 500


LONG = "a" * 300_000
LONG_NAMES = {
    "a variable": f"def @main() {{ %{LONG} }}",
    "a number": f"def @main() {{ %{'1' * 300_000} }}",
    "an integer": f"def @main() {{ {'1' * 300_000} }}",
    "a global function": f"def @{LONG}() {{ 1 }} def @{LONG}() {{ 1 }}",
    "a type": f"type {LONG} {{}} type {LONG} {{}}",
    "an operator": f"def @main(%x: int8) {{ {LONG}(%x) }}",
    "an attribute": f"def @main(%x: int8) {{ nn.relu(%x, {LONG}=1) }}",
    "a value": f'def @main(%x: int8) {{ nn.pad(%x, pad_width=[[1, 1]], pad_mode="{LONG}") }}',
    "an entry": f"def @main() {{ meta[{LONG}][0] }}",
    "projections": f"def @main(%x: int8) {{ %x{'.0' * 150_000} }}",
}


@pytest.mark.parametrize("name", LONG_NAMES)
def test_messages_quote_only_a_part_of_a_long_name(name: str) -> None:
    with pytest.raises(ByocLabError) as caught:
        relay.parse(HEAD + LONG_NAMES[name])
    assert len(str(caught.value)) < 1_000


def _with_metadata(key: str, nodes: list[dict[str, Any]], text: str) -> str:
    table = [
        {"type_key": ""},
        {"type_key": "Map", "keys": [key], "data": [2]},
        {"type_key": "Array", "data": [3]},
        *nodes,
    ]
    return f"{HEAD}{text}\n#[metadata]\n{json.dumps({'root': 1, 'nodes': table})}"


def _number() -> dict[str, Any]:
    return {"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": "3"}}


def _arrays(depth: int) -> str:
    nodes = [{"type_key": "Array", "data": [4 + n, 4 + n]} for n in range(depth)]
    text = "def @main(%x: Tensor[(1), float32], a=meta[Array][0]) { %x }"
    return _with_metadata("Array", [*nodes, _number()], text)


def _squares(depth: int) -> str:
    attrs = [{"a": str(4 + n), "b": str(4 + n), "dtype": "int32"} for n in range(depth)]
    nodes: list[dict[str, Any]] = [{"type_key": "tir.Mul", "attrs": a} for a in attrs]
    text = "def @main(%x: Tensor[(1), float32], a=meta[tir.Mul][0]) { %x }"
    return _with_metadata("tir.Mul", [*nodes, _number()], text)


def test_shared_arrays_count_as_often_as_they_are_printed() -> None:
    assert len(relay.parse(_arrays(10)).astext()) > 3 * 2**10
    with pytest.raises(ParseError, match="a value has more than 1,000,000 parts"):
        relay.parse(_arrays(30))


def test_integer_of_more_than_64_bits_is_refused() -> None:
    assert relay.parse(_squares(5))["main"].attrs["a"] == 3**32
    with pytest.raises(ParseError, match="is an integer of more than 64 bits"):
        relay.parse(_squares(30))


@pytest.mark.parametrize("binding", ["  %{} = (%{}, %{});\n", "  let %a{} = (%a{}, %a{});\n"])
def test_type_of_doubled_tuples_is_limited(binding: str) -> None:
    name = "%a" if "let" in binding else "%"
    lines = [binding.format(n, n - 1, n - 1) for n in range(1, 40)]
    first = binding.replace("%a{}", "%x").replace("%{}", "%x").replace("%x", f"{name}0", 1)
    text = f"{HEAD}def @main(%x: Tensor[(1), float32]) {{\n{first}{''.join(lines)}  {name}39\n}}"
    with pytest.raises(TypeInferenceError, match=f"a type may have {MAX_PARTS:,} parts"):
        relay.parse(text)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: relay.zeros((-1,), "float32"), r"zeros: the result would be Tensor\[\(-1\)"),
        (lambda: relay.nn.dense(X, relay.var("w", shape=(3, 4)), units=-4), "units=-4"),
        (lambda: relay.expand_dims(X, 0, num_newaxis=10**8), r"num_newaxis must be in \[0, 1000\]"),
        (
            lambda: relay.split(relay.var("y", shape=(10**8,)), 10**8).astuple(),
            "less than 100,000 sections",
        ),
    ],
)
def test_attributes_out_of_range_raise_type_inference_error(make: Any, message: str) -> None:
    with pytest.raises(TypeInferenceError, match=message):
        infer_expr(make())


def test_digits_of_other_scripts_are_refused_in_dtypes() -> None:
    with pytest.raises(AttributeValueError, match="unknown dtype"):
        relay.var("x", shape=(1,), dtype="float３２")  # noqa: RUF001
    with pytest.raises(ParseError, match="expected a dtype such as float32"):
        relay.parse(HEAD + "def @main(%x: Tensor[(1), float３２]) { %x }")  # noqa: RUF001


@pytest.mark.parametrize("text", ["type A=", "type A = B", "type A={B}"])
def test_invalid_type_definition_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match="found '='"):
        relay.parse(HEAD + text)
