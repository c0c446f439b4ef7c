"""Annotations of regions: creating, recognising and skipping them."""

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


def test_an_annotation_names_its_compiler() -> None:
    opened = begin(X, "mychip")
    assert is_annotation(opened) and is_annotation(opened, BEGIN)
    assert not is_annotation(opened, END)
    assert compiler_of(opened) == "mychip"


def test_without_a_compiler_it_is_an_ordinary_call() -> None:
    assert not is_annotation(relay.Call(relay.Op.get(END), [X]))
    assert not is_annotation(relay.exp(X))
    assert not is_annotation(X)


def test_annotations_are_skipped_down_to_the_value() -> None:
    value = relay.exp(X)
    assert skip_annotations(begin(end(value, "mychip"), "other")) is value
    assert skip_annotations(value) is value
