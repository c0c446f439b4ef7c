"""Tokens, and their locations in a text."""

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
    """Sets the number of characters that are tokenized at a time."""
    return lambda length: monkeypatch.setattr(lexer, "_BATCH", length)


def taken_apart(text: str):
    tokens = tokenize(Source(text))
    return tokens.texts, list(tokens.starts), tokens.metadata


def test_comments_nest_and_are_not_recognized_in_strings():
    text = """// one "
    /* two /* three */ still " two */ add(1 /* " */, /**/ 2) // "
    """
    assert relay.parse_expr(text).is_op("add")
    assert (
        relay.parse_expr('fn (a="/* no comment", b="// nor this") { 1 }').attrs["b"]
        == "// nor this"
    )


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=30))
def test_tokens_do_not_depend_on_the_chunk_size(pieces):
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
def test_tokens_of_printed_texts_do_not_depend_on_the_chunk_size(path, stretch):
    text = path.read_text()
    whole = taken_apart(text)
    stretch(1)
    assert taken_apart(text) == whole


def test_metadata_section_has_no_tokens(stretch):
    stretch(1)
    text = "%0 = 1;\n/* ;\n#[metadata] */ 2;\n#[metadata]\n{;\n}"
    texts, starts, metadata = taken_apart(text)
    assert texts == ["%0", "=", "1", ";", "2", ";", ""]
    assert metadata == starts[-1] == text.rindex("#[metadata]")


def test_unterminated_comment_is_reported_at_its_beginning(stretch):
    stretch(1)
    with pytest.raises(ParseError, match=r"^from_string:2:3: this comment never ends"):
        tokenize(Source("%0 = 1;\n  /* 2;\n 3;\n"))


def test_lazy_span_of_a_text_equals_a_span():
    read = relay.parse_expr("abs(\n  1)", "a.txt").span
    same = Span("a.txt", 1, 2, 1, 5)
    assert read == same and hash(read) == hash(same) and repr(read) == repr(same)
    assert str(read) == "a.txt:1:1" and read != Span("a.txt", 1, 2, 1, 6) and read != "a.txt:1:1"
    for copied in (copy.deepcopy(read), pickle.loads(pickle.dumps(read))):
        assert copied == same
    with pytest.raises(AttributeError, match="'row'"):
        read.row  # noqa: B018
