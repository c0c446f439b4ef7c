"""Places as TVM 0.16 gives them (`follow_tvm`). What is expected is what TVM prints."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from byoc_lab import passes, relay
from byoc_lab.errors import ParseError
from byoc_lab.relay.ir.span import follow_tvm

HEADER = '#[version = "0.0.5"]\n'


@pytest.fixture(autouse=True)
def _as_in_tvm() -> Iterator[None]:
    follow_tvm()
    yield
    follow_tvm(False)


def parsed(text: str) -> relay.IRModule:
    return relay.parse(HEADER + text)


CASES = {
    "a variable is where it was mentioned last, or nowhere": (
        """def @main(%a: int32, %unused: int32) -> int32 {
  add(%a, %a)
}""",
        "%a 3:11, add(%a, %a) 3:3",
    ),
    "a number stands behind itself, and so does the end of a projection": (
        """def @main(%a: int32) -> int32 {
  %0 = (%a, 12);
  subtract(%0.0, %0.1)
}""",
        "%a 3:9, 12 3:15, (%a, 12) 4:18, %0.0 4:12, %0.1 4:18, subtract(%1, %2) 3:3",
    ),
    "an operand is read before what is left of it is a call": (
        """def @main(%x: float32, %y: float32) -> float32 {
  %x + %y * %x - %y
}""",
        "%x 3:13, %y 3:18, multiply(%y, %x) 3:13, add(%x, %0) 3:13, subtract(%1, %y) 3:3",
    ),
    "letters in common with meta[ and inff are counted twice": (
        """def @main(%x: float32, %input: float32, %me: float32) -> float32 {
  multiply(maximum(%x, %input), minimum(%input, %me))
}""",
        "%x 3:22, %input 3:46, %me 3:56, maximum(%x, %input) 3:14, minimum(%input, %me) 3:38, "
        "multiply(%0, %1) 3:4",
    ),
    "the value of a block is where the block begins": (
        """def @main(%c: bool, %x: float32) -> float32 {
  let %f = fn (%y: float32) -> float32 {
    %0 = exp(%y);
    (%0)
  };
  if (%c) {
    %f(%x)
  } else { -2.5f }
}""",
        "%c 7:7, %x 8:8, %f 8:5, %y 4:14, exp(%y) 4:5, } 3:3, %f(%x) 8:5, -2.5f 9:17",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_places_in_the_text_of_what_was_read(case: str) -> None:
    text, wanted = CASES[case]
    shown = str(parsed(text))
    found = re.findall(r"span=from_string:(\S+)", shown)
    assert found == re.findall(r"\d+:\d+", wanted), shown


def test_every_text_shows_them_unless_told_not_to() -> None:
    mod = parsed(CASES["the value of a block is where the block begins"][0])
    for text in (str(mod), mod.astext(), str(mod["main"]), mod["main"].astext()):
        assert "span=from_string:8:8" in text
    assert "span" not in mod.astext(show_span=False)
    relay.assert_structural_equal(relay.parse(mod.astext()), mod)
    assert "span" not in "".join(line.text for line in relay.print_lines(mod)), "for tools: text"


def test_a_parameter_that_is_named_twice_is_still_found() -> None:
    with pytest.raises(ParseError, match=r"two parameters are named %x: the other is in line 2"):
        parsed("def @main(%x: int32,\n %x: int32) { %x }")


def test_what_a_pass_makes_has_the_place_that_tvm_gives_it() -> None:
    """Of `fast_exp` none, of the last operation of a batch norm that of the batch norm."""
    mod = parsed("def @main(%x: float32) -> float32 { abs(exp(%x)) }")
    fast = passes.PassContext(opt_level=4)
    with fast:
        text = str(passes.FastMath()(mod))
    assert re.search(r"fast_exp\(%x\) /\* ty=float32 \*/", text)
    assert re.search(r"abs\(%0\) /\* ty=float32 span=from_string:2:38 \*/", text)

    tensor = "Tensor[(4), float32]"
    vectors = ", ".join(f"%{n}: {tensor}" for n in "gbmv")
    norm = parsed(
        f"def @main(%x: Tensor[(1, 4), float32], {vectors}) -> Tensor[(1, 4), float32] {{\n"
        "  %0 = nn.batch_norm(%x, %g, %b, %m, %v);\n  abs(%0.0)\n}"
    )
    text = str(passes.SimplifyInference()(norm))
    assert re.search(r"add\(%\d+, %\d+\) /\* ty=\S+ \S+ \S+ span=from_string:4:7 \*/", text)


def test_without_it_text_is_plain_and_places_are_those_of_the_text() -> None:
    follow_tvm(False)
    mod = parsed(CASES["an operand is read before what is left of it is a call"][0])
    assert "span" not in str(mod)
    assert "span" not in mod.astext()
    (x, y), body = mod["main"].params, mod["main"].body
    assert str(x.span) == "from_string:2:11"
    inner = body.args[0].args[1]
    assert (str(inner.span), inner.span.end_column) == ("from_string:3:8", 15)
    assert (body.span.column, body.span.end_column, y.span.column) == (3, 20, 24)
