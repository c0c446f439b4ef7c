"""Annotations of regions: creating, recognizing and skipping them."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.relay.analysis.annotations import (
    BEGIN,
    END,
    begin,
    compiler_of,
    end,
    is_annotation,
    skip_annotations,
)

X = relay.var("x", shape=(2,))


def test_annotation_has_a_kind_and_a_compiler() -> None:
    opened = begin(X, "mychip")
    assert is_annotation(opened) and is_annotation(opened, BEGIN)
    assert not is_annotation(opened, END)
    assert compiler_of(opened) == "mychip"


def test_call_without_a_compiler_is_not_an_annotation() -> None:
    assert not is_annotation(relay.Call(relay.Op.get(END), [X]))
    assert not is_annotation(relay.exp(X))
    assert not is_annotation(X)


def test_annotations_are_skipped_to_the_annotated_value() -> None:
    value = relay.exp(X)
    assert skip_annotations(begin(end(value, "mychip"), "other")) is value
    assert skip_annotations(value) is value
