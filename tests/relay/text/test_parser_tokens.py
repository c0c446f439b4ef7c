"""Single tokens: words, dtypes, strings with escapes, suggestions."""

from __future__ import annotations

import pytest

from byoc_lab.relay.text.parser_tokens import (
    is_word,
    literal_dtype,
    names_dtype,
    near,
    token_hint,
    unescape,
)


def test_words_begin_with_a_letter_and_are_not_metadata() -> None:
    assert [is_word(t) for t in ("nn.relu", "_", "%x", "1", "", "meta[T][0]")] == [
        *(True, True),
        *(False, False, False, False),
    ]


def test_names_of_dtypes_are_recognized() -> None:
    assert names_dtype("float32") and names_dtype("float") and not names_dtype("List")


def test_suffix_of_a_literal_is_its_width() -> None:
    assert literal_dtype("float", "f16", "f", "32", ("16", "32")) == "float16"
    assert literal_dtype("int", None, "i", "32", ("8", "32")) == "int32"
    with pytest.raises(KeyError):
        literal_dtype("int", "i7", "i", "32", ("8", "32"))


def test_escapes_in_strings_are_decoded() -> None:
    assert unescape('"plain"') == "plain"
    assert unescape(r'"a\n\"b\""') == 'a\n"b"'
    assert unescape(r'"\xC3\xA9"') == "é"
    assert unescape(r'"\q"') == r"\q"


def test_similar_names_are_suggested() -> None:
    assert near("nn.conv2", ["nn.conv2d", "exp"]) == "; did you mean 'nn.conv2d'?"
    assert near("zzz", ["exp"]) == ""


def test_tokens_that_relay_lacks_have_a_hint() -> None:
    assert "no `in`" in token_hint("in")
    assert token_hint("%x") == ""
