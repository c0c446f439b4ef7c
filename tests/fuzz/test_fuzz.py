"""Damaged inputs go through every tool: each fails with a ByocLabError or passes, within a time
limit."""

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


def test_undamaged_seeds_pass_nearly_every_step():
    """Only steps that have to refuse a seed fail."""
    assert len(seeds()) > 300
    for text in random.Random(0).sample(seeds(), 10):
        assert examine(text) > 30, text


def test_every_pass_is_examined():
    assert len(all_passes()) >= len(passes.PASSES)


@settings(max_examples=some(40))
@given(seeded)
def test_damaged_texts_raise_only_byoc_lab_errors(seed: int):
    examine(spoiled(random.Random(seed)))


@pytest.mark.slow
@settings(max_examples=some(1_500))
@given(seeded)
def test_many_damaged_texts_raise_only_byoc_lab_errors(seed: int):
    examine(spoiled(random.Random(seed)))


@pytest.mark.parametrize("kind", structures._samples())
def test_undamaged_structures_pass_every_step(kind: str):
    document = f"{kind}\n{structures._samples()[kind]}"
    assert structures.examine(document.encode()) >= (3 if kind == "expression" else 9)


def test_equal_seeds_give_equal_texts():
    for seed in range(20):
        assert spoiled(random.Random(seed)) == spoiled(random.Random(seed))


@pytest.mark.filterwarnings("ignore::byoc_lab.errors.ElidedMetadataWarning")
def test_damaged_texts_reach_parser_type_inference_and_passes():
    """The parser refuses some texts, some are ill-typed, some reach the passes."""
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


# The fuzzer itself detects faults
# ----------------------------------------------------------------


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


def test_failing_text_is_reduced():
    text = b"one\ntwo three\nfour five six\nseven"
    assert _smaller(text, lambda t: b"five" in t) == b"five"


# Every kind of attack ----------------------------------------------------------------------------


QUICK = ("grammar", "mutation")  # slow tests run the other kinds


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=[] if k in QUICK else [pytest.mark.slow]) for k in ATTACKS]
)
def test_each_kind_of_attack_has_inputs_that_are_accepted(kind: str):
    """No input reveals a fault; a kind whose inputs are all refused at once would test nothing."""
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
    """Inputs for which the fuzzer once found a fault; these faults are fixed."""
    ATTACKS[path.name.partition("-")[0]].examine(path.read_bytes())


def test_failing_input_is_kept_as_a_sample(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def broken(data: bytes) -> int:
        raise AttributeError("not an error of byoc_lab")

    monkeypatch.setattr(main, "SAMPLES", tmp_path)
    monkeypatch.setattr(ATTACKS["files"], "examine", broken)
    current = tmp_path / "current"
    assert main._work("files", 7, 10, False, current, memory=None) == 1
    assert (tmp_path / "files-7").read_bytes() == ATTACKS["files"].make(random.Random(7))


def test_crashed_process_counts_as_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(main, "SAMPLES", tmp_path)
    crash = "import os, sys; open(sys.argv[-1], 'w').write('9'); os.abort()"
    monkeypatch.setattr(main, "COMMAND", [sys.executable, "-c", crash])
    assert not main._guarded("grammar", 9, 5, keep_going=False)
    assert (tmp_path / "grammar-9").exists()


@pytest.mark.slow
def test_no_kind_of_attack_finds_a_fault_in_minutes():
    """`make fuzz`: every kind in a process with limits of time and memory; four at a time, so that
    it takes three minutes.

    CI uses fixed seeds and a shorter time.
    """
    command = [sys.executable, "-m", "tests.fuzz", "--jobs", "4", "--seconds"]
    command += ["120", "--first", "0"] if os.environ.get("CI") else ["600"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1_500)
    assert done.returncode == 0, done.stdout + done.stderr
