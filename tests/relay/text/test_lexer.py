"""Tokens, and the places in a text that they are found at."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.errors import ParseError
from byoc_lab.relay.ir.source_map import Source
from byoc_lab.relay.ir.span import Span
from byoc_lab.relay.text import lexer
from byoc_lab.relay.text.lexer import tokenize

from .texts import PRINTED

PIECES = [
    *("%x", "%0", "@f", "nn.relu", "1.5f32", '"a;b"', '"', "meta[T][0]", "(", ")", ".0", ". 0"),
    *(";", ";\n", "\n", " ", "{", "}", "->", "/* a;\n b */", "/* /* */ */", "// c;\n", "//"),
]


@pytest.fixture
def stretch(monkeypatch):
    """Sets how much of a text is taken apart at a time."""
    return lambda length: monkeypatch.setattr(lexer, "_BATCH", length)


def taken_apart(text: str):
    tokens = tokenize(Source(text))
    return tokens.texts, list(tokens.starts), tokens.metadata


def test_comments_nest_and_hide_nothing_else():
    text = """// one "
    /* two /* three */ still " two */ add(1 /* " */, /**/ 2) // "
    """
    assert relay.parse_expr(text).is_op("add")
    assert (
        relay.parse_expr('fn (a="/* no comment", b="// nor this") { 1 }').attrs["b"]
        == "// nor this"
    )


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=30))
def test_a_text_is_taken_apart_alike_in_any_stretches(pieces):
    text = "".join(pieces)
    whole = taken_apart(text)
    for length in (1, 5, 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lexer, "_BATCH", length)
            assert taken_apart(text) == whole
    texts, starts, _ = whole
    assert all(text.startswith(t, at) for t, at in zip(texts, starts, strict=True))
    assert (texts[-1], starts[-1]) == ("", len(text))


@pytest.mark.parametrize("path", PRINTED, ids=lambda p: p.stem)
def test_printed_texts_are_taken_apart_alike_in_any_stretches(path, stretch):
    text = path.read_text()
    whole = taken_apart(text)
    stretch(1)
    assert taken_apart(text) == whole


def test_the_metadata_is_no_part_of_the_tokens(stretch):
    stretch(1)
    text = "%0 = 1;\n/* ;\n#[metadata] */ 2;\n#[metadata]\n{;\n}"
    texts, starts, metadata = taken_apart(text)
    assert texts == ["%0", "=", "1", ";", "2", ";", ""]
    assert metadata == starts[-1] == text.rindex("#[metadata]")


def test_a_comment_that_never_ends_is_shown_where_it_begins(stretch):
    stretch(1)
    with pytest.raises(ParseError, match=r"^from_string:2:3: this comment never ends"):
        tokenize(Source("%0 = 1;\n  /* 2;\n 3;\n"))


def test_a_span_of_a_text_is_a_span():
    read = relay.parse_expr("abs(\n  1)", "a.txt").span
    same = Span("a.txt", 1, 2, 1, 5)
    assert read == same and hash(read) == hash(same) and repr(read) == repr(same)
    assert str(read) == "a.txt:1:1" and read != Span("a.txt", 1, 2, 1, 6) and read != "a.txt:1:1"
    for copied in (copy.deepcopy(read), pickle.loads(pickle.dumps(read))):
        assert copied == same
    with pytest.raises(AttributeError, match="'row'"):
        read.row  # noqa: B018
