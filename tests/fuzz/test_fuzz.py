"""Mutated texts go through everything; errors are stated in words, and soon."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import passes, relay
from byoc_lab.errors import ByocLabError
from tests.sweeps import some

from . import __main__ as main
from . import examine as _examine
from .__main__ import SAMPLES, _smaller
from .attacks import ATTACKS, structures
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


@settings(max_examples=some(40))
@given(seeded)
def test_spoiled_texts(seed: int):
    examine(spoiled(random.Random(seed)))


@pytest.mark.slow
@settings(max_examples=some(1_500))
@given(seeded)
def test_many_spoiled_texts(seed: int):
    examine(spoiled(random.Random(seed)))


@pytest.mark.parametrize("kind", structures._samples())
def test_structures_are_well(kind: str):
    """Undamaged, they are read, and all is done with them."""
    document = f"{kind}\n{structures._samples()[kind]}"
    assert structures.examine(document.encode()) >= (3 if kind == "expression" else 9)


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


def test_error_not_of_byoc_lab_fails_the_examination(monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> None:
        raise AttributeError("not an error of byoc_lab")

    monkeypatch.setattr(_examine.byoc_lab, "lint", broken)
    with pytest.raises(AttributeError, match="not an error"):
        examine("def @main() { 1 }")


def test_endless_examination_is_stopped(monkeypatch: pytest.MonkeyPatch):
    def endless(*_: object, **__: object) -> None:
        while True:
            pass

    monkeypatch.setattr(_examine, "SECONDS", 0.1)
    monkeypatch.setattr(_examine.relay, "parse", endless)
    with pytest.raises(TookTooLong):
        examine("def @main() { 1 }")


def test_a_text_is_made_smaller():
    text = b"one\ntwo three\nfour five six\nseven"
    assert _smaller(text, lambda t: b"five" in t) == b"five"


# Every kind of attack ----------------------------------------------------------------------------


QUICK = ("grammar", "mutation")  # the slow tests run the others


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=[] if k in QUICK else [pytest.mark.slow]) for k in ATTACKS]
)
def test_each_kind_gets_through(kind: str):
    """No input is a fault; and a kind whose inputs are all refused at once tests nothing."""
    seeds = range(20 if kind in QUICK else max(10, some(40)))
    steps = [ATTACKS[kind].examine(ATTACKS[kind].make(random.Random(seed))) for seed in seeds]
    assert sum(map(bool, steps)) >= 2


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.name, marks=[pytest.mark.slow] * path.name.startswith("grammar"))
        for path in sorted(SAMPLES.iterdir())
    ],
)
def test_input_that_failed_once_passes(path: Path):
    """Inputs that the fuzzer kept; their faults are fixed."""
    ATTACKS[path.name.partition("-")[0]].examine(path.read_bytes())


def test_a_failure_is_kept_as_a_sample(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def broken(data: bytes) -> int:
        raise AttributeError("not an error of byoc_lab")

    monkeypatch.setattr(main, "SAMPLES", tmp_path)
    monkeypatch.setattr(ATTACKS["files"], "examine", broken)
    current = tmp_path / "current"
    assert main._work("files", 7, 10, False, current, memory=None) == 1
    assert (tmp_path / "files-7").read_bytes() == ATTACKS["files"].make(random.Random(7))


def test_a_process_that_crashes_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(main, "SAMPLES", tmp_path)
    crash = "import os, sys; open(sys.argv[-1], 'w').write('9'); os.abort()"
    monkeypatch.setattr(main, "COMMAND", [sys.executable, "-c", crash])
    assert not main._guarded("grammar", 9, 5, keep_going=False)
    assert (tmp_path / "grammar-9").exists()


@pytest.mark.slow
def test_no_kind_finds_a_fault_in_minutes():
    """`make fuzz`: all kinds, each in a process with a limit of time and memory; four at a time, so
    that it takes three minutes. In CI from the same seeds each time, and shorter for that."""
    command = [sys.executable, "-m", "tests.fuzz", "--jobs", "4", "--seconds"]
    command += ["120", "--first", "0"] if os.environ.get("CI") else ["600"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1_500)
    assert done.returncode == 0, done.stdout + done.stderr
