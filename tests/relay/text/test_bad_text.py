"""Invalid Relay text raises a ParseError with the location, within a time limit."""

from __future__ import annotations

import time
import warnings

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.errors import ByocLabError, ElidedMetadataWarning, ParseError, shortened
from tests.sweeps import some

from .texts import PRINTED, PSEUDO, THREADS, code_of

HEADER = '#[version = "0.0.5"]\n'
X = "free_var %x: Tensor[(2, 3), float32];\n"


def error_of(text: str) -> ParseError:
    with pytest.raises(ParseError) as caught:
        relay.parse_expr(text, "bad.relay")
    return caught.value


# Messages and positions --------------------------------------------------------------------------

FAULTS = [
    # text, line, column, required part of the message
    ("", 1, 1, ["expected an expression", "the end of the text"]),
    ("   \n\n", 3, 1, ["the end of the text"]),
    (X + "%0 = abs(%x)\nexp(%0)", 3, 1, ["expected ';' after the value of %0", "found 'exp'"]),
    (X + "let %y = abs(%x) in\n%y", 2, 18, ["found 'in'", "no `in`"]),
    (X + "%y = abs(%x);\n%y", 2, 1, ["let %y = ...;"]),
    (X + "add(%x, %y)", 2, 9, ["%y is not declared", "declared are %x"]),
    (X + "add(%x, %0)", 2, 9, ["%0 is not defined"]),
    (X + "%0 = abs(%x); %0 = exp(%x); %0", 2, 15, ["%0 is defined twice", "first in line 2"]),
    (X + "nn.conv2(%x, %x)", 2, 1, ["no operator", "nn.conv2", "did you mean", "nn.conv2d"]),
    (X + "compiler_begin(%x)", 2, 1, ["did you mean annotation.compiler_begin"]),
    (X + "annotation.compiler_begin(%x, default)", 2, 31, ['compiler="default"']),
    (
        X + "nn.conv2d(%x, %x,\n  pading=[1, 1])",
        3,
        3,
        ["relay.attrs.Conv2DAttrs has no attribute 'pading'", "did you mean 'padding'", "strides"],
    ),
    (X + "nn.softmax(%x, axis=1.5)", 2, 16, ["'axis' must be integer, found 1.5"]),
    (X + "nn.softmax(%x, axis=)", 2, 21, ["expected an attribute value, found ')'"]),
    (X + "nn.softmax(%x, axis=left)", 2, 21, ['write "left"']),
    (X + "nn.softmax(%x, axis=1, axis=2)", 2, 24, ["'axis' is given twice"]),
    (X + "nn.softmax(%x, axis=1, %x)", 2, 24, ["expected an attribute", "arguments come before"]),
    (X + "expand_dims(%x)", 2, 1, ["'axis' is required"]),
    (X + "abs(%x, axis=1)", 2, 1, ["abs has no attributes", "'axis'"]),
    (X + 'abs(%x, a=1, attrs_type_key="relay.attrs.Nope")', 2, 14, ["relay.attrs.Nope"]),
    (X + "abs(%x", 2, 7, ["expected ',' or ')'", "the end of the text"]),
    (X + "abs(%x))", 2, 8, ["expected the end of the program, found ')'"]),
    (X + "(%x, %x", 2, 8, ["to close the '(' of line 2"]),
    ("fn () {\n  1\n", 3, 1, ["to close the function body of line 1"]),
    ("fn () {\n  1;\n}", 3, 1, ["a block ends with its value, without a ';'"]),
    ("fn (%x: Tensr[(1), float32]) { %x }", 1, 9, ["expected a type", "did you mean 'Tensor'"]),
    ("fn (%x: Tensor[1, float32]) { %x }", 1, 16, ["expected '(' before the shape"]),
    ("fn (%x: Tensor[(n), float32]) { %x }", 1, 17, ["expected a dimension", "found 'n'"]),
    ("fn (%x: Tensor[(1), flot32]) { %x }", 1, 21, ["expected a dtype", "did you mean 'float32'"]),
    ("fn (%x: List[int32]) { %x }", 1, 9, ["expected a type, found 'List'"]),
    ("fn (%x: int32, %x: int32) { %x }", 1, 16, ["two parameters are named %x"]),
    ("fn (x: int32) { 1 }", 1, 5, ["expected the name of a parameter", "found 'x'"]),
    ("if (True) { 1 }", 1, 16, ["expected 'else'", "always has both branches"]),
    ("match (%x) { }", 1, 8, ["%x is not declared"]),
    ("match (1) { 1 => { 2 } }", 1, 13, ["expected a pattern", "found '1'"]),
    ("match (1) { _ 2 }", 1, 15, ["expected '=>'"]),
    ("match (1) _ => { 2 }", 1, 11, ["expected '{' before the clauses"]),
    ("match ((1, 2)) { (%a, %a) => { 2 } }", 1, 23, ["binds %a twice"]),
    ("match (1) { _ => { 2 }", 1, 23, ["expected a pattern", "the end of the text"]),
    ("match (1) { %a => { 2 }, _ => { %a } }", 1, 33, ["%a is not declared"]),
    ("-%x", 1, 2, ["a minus sign needs a number; write negative(...)"]),
    ("5i128", 1, 1, ["'5i128' is not a number"]),
    ("1f8", 1, 1, ["'1f8' is not a number"]),
    ("300i8", 1, 1, ["300 does not fit int8"]),
    ("3.5e38f", 1, 1, ["3.5e+38 does not fit float32"]),
    ("1e10f16", 1, 1, ["does not fit float16"]),
    ("65505f16", 1, 1, ["does not fit float16"]),  # although it is rounded to 65504
    ("-65505f16", 1, 1, ["does not fit float16"]),
    ("3.4028235e38f", 1, 1, ["does not fit float32"]),
    ("99999999999999999999", 1, 1, ["does not fit 64 bits"]),
    ('fn (a="x) { 1 }', 1, 7, ["a string is not closed"]),
    ("/* never\nclosed", 1, 1, ["this comment never ends"]),
    ("1 */", 1, 3, ["no comment is open"]),
    ("add(1, 2) # sum", 1, 11, ["comments begin with //"]),
    ("add(1, \N{HORIZONTAL ELLIPSIS})", 1, 8, ["abridged"]),
    ("add(\0, 1)", 1, 5, ["'\\x00'"]),
    ("add(\ud800, 1)", 1, 5, ["'\\ud800'"]),
    ("%", 1, 1, ["'%' must be followed"]),
    ("(1, 2).12345678901", 1, 7, ["a projection needs a small number"]),
    ("fn (%x: int32) { %x." + "1" * 5000 + " }", 1, 18, ["is not declared"]),
    ("1" * 5000, 1, 1, ["is not a number"]),
    ("a" * 5000, 1, 1, ["a name of 5000 letters"]),
    (
        f"meta[relay.Constant][0] /* ty=Tensor[({'9' * 18}, {'9' * 18}), int8] */",
        1,
        1,
        ["no placeholder constant exists"],
    ),
    ("@", 1, 1, ["expected an expression, found '@'"]),
    ("meta[relay.Constant][0]", 1, 1, ["lacks", "/* ty=Tensor[...] */"]),
    ("meta[relay.Constant][0] /* ty=(int32,) */", 1, 1, ["must have a tensor type"]),
    ("meta[relay.Constant][x]", 1, 1, ["expected meta[<type>][<index>]"]),
    ("fn (a=meta[Target][0]) { 1 }", 1, 7, ["no placeholder exists for Target"]),
    ('#[version = "0.0.6"]\n1', 1, 1, ["this version is not known"]),
]


@pytest.mark.parametrize("text, line, column, message", FAULTS, ids=range(len(FAULTS)))
def test_error_names_and_shows_its_location(text: str, line: int, column: int, message: list[str]):
    error = error_of(text)
    assert (error.source, error.line, error.column) == ("bad.relay", line, column), str(error)
    for part in message:
        assert part in error.reason
    shown = str(error).split("\n")
    assert shown[0] == shortened(f"bad.relay:{line}:{column}: {error.reason}")
    source_line = text.split("\n")[line - 1]
    if source_line.strip():
        assert len(shown) == 3 and shown[2] == " " * (column + 1) + "^"
        if source_line.isprintable() and len(source_line) <= 100:
            assert shown[1] == "  " + source_line
    str(error).encode("utf-8")


def test_nesting_of_patterns_is_limited():
    error = error_of("match (1) { " + "(" * 20_000 + " => 1 }")
    assert "a pattern is nested deeper than 100" in error.reason
    assert (error.line, error.column) == (1, 113)


MODULE_FAULTS = [
    ("def @f() { 1 }\ndef @f() { 2 }", 3, 5, "@f is defined twice: first in line 2"),
    ("def main() { 1 }", 2, 5, "the name of a global function"),
    ("def @main() { 1 }\nfn () { 2 }", 3, 1, "parse_programs"),
    ("def @main() { 1 } extra", 2, 19, "expected the end of the program"),
    ("type A { X }\ntype A { Y }", 3, 6, "type A is defined twice: first in line 2"),
    ("type A { X }\ntype B { X }", 3, 10, "X is a constructor of type A already"),
    ("type A { B }\ntype B { X }", 2, 10, "B is the name of a type"),
    ("type int8 { X }", 2, 6, "expected the name of a new type"),
    ("type A { X(Y) }", 2, 12, "expected a type, found 'Y'"),
    ("type A { X, 1 }", 2, 13, "expected the name of a constructor of A"),
    ("extern type A { X }", 2, 1, "type A is extern"),
    ("extern def @f() { 1 }", 2, 8, "expected 'type'"),
    ("type List[A] { Nil }\ndef @f() { match (1) { Nul => 1 } }", 3, 24, "did you mean 'Nil'"),
    ("def @f() { X }\ntype A { X }", 2, 12, "no operator is named 'X'"),
    ("def @f(%x: int64) { memory.kill(%x) }", 2, 21, "before relay.build or vm.compile"),
    ("def @main(%x: int32) { %0 = abs(%x); %0 }\ndef @g() { %0 }", 3, 12, "%0 is not defined"),
]


@pytest.mark.parametrize("text, line, column, message", MODULE_FAULTS)
def test_errors_in_modules_have_their_location(text: str, line: int, column: int, message: str):
    with pytest.raises(ParseError) as caught:
        relay.parse(HEADER + text)
    assert (caught.value.line, caught.value.column) == (line, column), str(caught.value)
    assert message in caught.value.reason


def test_text_without_a_program_is_refused():
    with pytest.raises(ParseError, match="no program"):
        relay.parse("// only a comment")
    with pytest.raises(ParseError, match="expected text, found bytes"):
        relay.parse(b"fn () { 1 }")


def test_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "model.relay"
    path.write_bytes(b"def @main() {\n  \xff\xfe }")
    with pytest.raises(ParseError, match="this is not a text file") as caught:
        relay.parse_file(path)
    assert (caught.value.line, caught.value.column) == (2, 3)


def test_pseudo_text_samples_exist():
    assert len(PSEUDO) >= 5


@pytest.mark.parametrize("path", PSEUDO, ids=lambda p: p.stem)
def test_pseudo_text_of_the_threads_gets_a_suggestion(path):
    wanted = {
        "hash_comment": "comments begin with //",
        "let_begin": "did you mean annotation.compiler_begin",
        "let_in": "let %y1 = ...;",
        "let_in_one_line": "did you mean annotation.compiler_end",
        "object_dump": "a dump of C++ objects",
    }
    with pytest.raises(ParseError) as caught:
        relay.parse_file(path)
    assert wanted[path.stem] in caught.value.reason


def test_long_line_is_shown_only_around_the_error():
    error = error_of("add(" + "1, " * 5000 + "?, " + "2, " * 5000 + ")")
    shown, caret = str(error).split("\n")[1:]
    assert len(shown) < 120 and shown[caret.index("^")] == "?"


# Any text, in bounded time
# -----------------------------------------------------------------------

TEXTS = [code_of(p) for p in THREADS] + [p.read_text() for p in PRINTED if p.stat().st_size < 5000]


def survives(text: str) -> None:
    """Parsing returns a module or raises a printable byoc_lab error, within a time limit."""
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ElidedMetadataWarning)
        for read in (relay.parse, relay.parse_programs, relay.parse_expr):
            try:
                read(text)
            except ByocLabError as error:
                assert str(error)
    assert time.process_time() - started < 10


def test_texts_to_damage_exist():
    assert len(TEXTS) > 30


@settings(max_examples=some(120))
@given(st.sampled_from(TEXTS), st.data())
def test_truncated_text_raises_parse_error(text: str, data):
    survives(text[: data.draw(st.integers(0, len(text)))])


PIECES = [
    "%0", "%x", "@main", "(", ")", "{", "}", "[", "]", ";", ",", "=", ".0", "let", "fn ", "def ",
]  # fmt: skip
PIECES += [
    "if (",
    "else",
    "->",
    "meta[relay.Constant][0]",
    "/*",
    "*/",
    "//",
    '"',
    "\\",
    "-",
    "1f",
    "?",
]
PIECES += [
    "Tensor[",
    "#[metadata]",
    "METADATA:",
    "v0.0.4\n",
    "free_var ",
    "\0",
    "\ud800",
    "é",
    "\n",
]
PIECES += ["-malformed-ir", "ref(", ":=", "^", "annotation.compiler_end(", "9" * 30, ": int32"]


@settings(max_examples=some(200))
@given(st.sampled_from(TEXTS), st.data())
def test_text_with_changed_pieces_parses_or_raises_an_error(text: str, data):
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        gone = data.draw(st.integers(0, 12))
        text = text[:at] + data.draw(st.sampled_from(["", *PIECES])) + text[at + gone :]
    survives(text)


@settings(max_examples=some(200))
@given(st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join))
@example("fn () {" * 50)
def test_random_sequence_of_pieces_parses_or_raises_an_error(text: str):
    survives(text)


@settings(max_examples=some(200))
@example("variance")  # an operator is not a value
@given(st.text(alphabet=st.characters(), max_size=200))
def test_random_characters_parse_or_raise_an_error(text: str):
    survives(text)


LONG = 100_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["(", "{", "[", "abs(", '"', "/*", "%", "-", "\\", "fn (", "if (", "\0"]
)
def test_long_invalid_text_is_refused_soon(piece: str):
    for read in (relay.parse, relay.parse_programs):
        started = time.process_time()
        with pytest.raises(ParseError):
            read(piece * LONG)
        assert time.process_time() - started < 10


@pytest.mark.parametrize(
    "text", ["fn (%x: " + "(" * LONG, "fn (a=" + "[" * LONG, "fn (%x: fn (" + "fn (" * LONG]
)
def test_deeply_nested_types_and_values_are_refused(text: str):
    with pytest.raises(ParseError, match="nested deeper than 100"):
        relay.parse_expr(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "opening", ["(", "abs(", "if (True) { ", "fn () { ", "let %x = ("], ids=lambda x: x.split()[0]
)
def test_million_levels_of_nesting_raise_an_error_quickly(opening: str):
    """The text is truncated after a million levels: an error with a location, within a time
    limit."""
    started = time.process_time()
    with pytest.raises(ParseError) as raised:
        relay.parse(f'#[version = "0.0.5"]\ndef @main() {{ {opening * 1_000_000}')
    assert raised.value.line == 2
    assert raised.value.column > 100_000
    assert time.process_time() - started < 60
