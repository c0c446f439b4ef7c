"""Spoiled texts go through everything; what is wrong with one is said in words, and soon."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import passes, relay
from byoc_lab.errors import ByocLabError

from . import examine as _examine
from .__main__ import _smaller
from .examine import TookTooLong, all_passes, examine
from .mutations import seeds, spoiled

seeded = st.integers(0, 2**32 - 1)


def test_seeds_are_well():
    """They get through every step but those that have to refuse them."""
    assert len(seeds()) > 300
    for text in random.Random(0).sample(seeds(), 10):
        assert examine(text) > 30, text


def test_every_pass_is_run():
    assert len(all_passes()) >= len(passes.PASSES)


@settings(max_examples=100)
@given(seeded)
def test_spoiled_texts(seed: int):
    examine(spoiled(random.Random(seed)))


@pytest.mark.slow
@settings(max_examples=4_000)
@given(seeded)
def test_many_spoiled_texts(seed: int):
    examine(spoiled(random.Random(seed)))


def test_a_seed_gives_the_same_text():
    for seed in range(20):
        assert spoiled(random.Random(seed)) == spoiled(random.Random(seed))


@pytest.mark.filterwarnings("ignore::byoc_lab.errors.ElidedMetadataWarning")
def test_changes_keep_much_of_the_sense():
    """Some texts are refused by the parser, some have no types, some get to the passes."""
    ends = {"read": 0, "typed": 0, "refused": 0}
    for seed in range(200):
        text = spoiled(random.Random(seed))
        for step, infer in (("read", False), ("typed", True)):
            try:
                relay.parse(text, infer=infer)
                ends[step] += 1
            except ByocLabError:
                ends["refused"] += 1
    assert ends["typed"] > 30 and ends["read"] > ends["typed"] and ends["refused"] > 30


# The fuzzer itself notices what it is there for --------------------------------------------------


def test_other_errors_get_through(monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> None:
        raise AttributeError("not an error of byoc_lab")

    monkeypatch.setattr(_examine.byoc_lab, "lint", broken)
    with pytest.raises(AttributeError, match="not an error"):
        examine("def @main() { 1 }")


def test_what_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch):
    def endless(*_: object, **__: object) -> None:
        while True:
            pass

    monkeypatch.setattr(_examine, "SECONDS", 0.1)
    monkeypatch.setattr(_examine.relay, "parse", endless)
    with pytest.raises(TookTooLong):
        examine("def @main() { 1 }")


def test_a_text_is_made_smaller():
    text = "one\ntwo three\nfour five six\nseven"
    assert _smaller(text, lambda t: "five" in t) == "five"
