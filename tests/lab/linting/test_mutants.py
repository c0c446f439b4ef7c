"""Mutants of valid modules: each fault is found near its edge, and its fix is verified.

A part of `make mutants` that is small enough for every run.
"""

from __future__ import annotations

from functools import cache

import pytest

from byoc_lab import decode, fix, lint
from byoc_lab.errors import ByocLabError, PartitionError, WellFormedError
from byoc_lab.passes import InferType, PartitionGraph
from byoc_lab.relay.analysis.annotations import DEFAULT, compiler_of
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.module import IRModule
from tests.lab.linting.mutants import Mutant, corpus, is_valid, mutants
from tests.lab.linting.random_annotated import WAYS, random_module
from tests.lab.linting.sweep import examine
from tests.sweeps import ONE_IN, some

SEEDS = range(4 * len(WAYS))
PARTS = 8
"""About one in this many modules of the corpus is examined by a quick test."""
RESTORED = 0.95


@cache
def _small() -> list[str]:
    return [name for name in corpus() if "mobilenet" not in name]


@pytest.mark.slow
def test_faults_in_mutants_of_the_corpus_are_found() -> None:
    for name in _small()[:: PARTS * ONE_IN]:
        result = examine(name)
        assert result.tally["mutants"] and not result.reports, "\n".join(result.reports)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_faults_in_mutants_of_random_modules_are_found(seed: int) -> None:
    result = examine(seed)
    assert not result.reports, "\n".join(result.reports)


def test_sweep_reports_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the linter every mutant with a fault is a miss."""
    monkeypatch.setattr("tests.lab.linting.mutants.lint", lambda mod: lint(mod, rules=["BYL009"]))
    result = examine("case nested-partition")
    assert result.tally["missed"] == result.tally["with a fault"] > 0


def test_most_random_modules_are_valid() -> None:
    valid = [seed for seed in SEEDS if is_valid(random_module(seed))]
    assert len(valid) > 0.8 * len(SEEDS)
    assert {seed % len(WAYS) for seed in valid} == set(range(len(WAYS))), "every way of annotating"


SMALL_CYCLES = ["case merge-around-if", "MergeCompilerRegions/annotatable_diamond"]


@pytest.mark.parametrize("name", SMALL_CYCLES)
def test_cycle_from_a_missing_begin_or_a_nested_region_is_listed_below_its_cause(name: str) -> None:
    below = 0
    for mutant in mutants(corpus()[name]):
        codes = [f.code for f in lint(mutant.mod)]
        if mutant.kind in ("delete", "double"):
            assert "BYL012" not in codes or len(codes) == 1, str(mutant)
            below += sum(f.code == "BYL012" for f in mutant.findings) - codes.count("BYL012")
    assert below


def test_annotation_of_default_at_fault_for_the_first_partitioner_has_a_finding_near_it() -> None:
    """PartitionGraph of January 2020 does not drop the annotations of "default"."""
    raised = 0
    for mod in (random_module(seed) for seed in SEEDS if seed % len(WAYS) < 2):
        of_default = (m for m in mutants(mod) if compiler_of(m.annotation) == DEFAULT)
        for mutant in of_default if _is_valid_in_2020(mod) else ():
            try:
                PartitionGraph(era="2020-01")(InferType()(mutant.mod))
            except WellFormedError:
                continue  # a variable outside of its let
            except PartitionError as error:
                raised += 1
                (found,) = decode(error, mutant.mod)
                places = ({f.node, *f.others} for f in found.findings)
                assert any(not mutant.near.isdisjoint(place) for place in places), str(mutant)
    assert raised > 20


def _is_valid_in_2020(mod: IRModule) -> bool:
    try:
        PartitionGraph(era="2020-01")(mod)
    except ByocLabError:
        return False
    assert not lint(mod, [PartitionGraph(era="2020-01")], rules=["BYL001", "BYL002", "BYL003"])
    return True


def _is_restored(mutant: Mutant) -> bool:
    made = fix(mutant.mod)
    return bool(made) and structural_equal(made.apply(), mutant.origin)


def _deletions(modules: list[str]) -> list[Mutant]:
    return [
        m for name in modules for m in mutants(corpus()[name]) if m.kind == "delete" and m.fault
    ]


@pytest.mark.slow
def test_deleted_annotations_are_restored() -> None:
    """For at least 95 of 100 mutants the fix is structurally equal to the original module."""
    deleted = _deletions(_small()[1 :: PARTS // 2])
    lost = [m for m in deleted if not _is_restored(m)]
    assert len(deleted) >= 100
    assert len(lost) <= (1 - RESTORED) * len(deleted), "\n\n".join(map(str, lost))


@pytest.mark.slow
def test_deleted_annotations_are_restored_in_random_modules() -> None:
    modules = [m for m in map(random_module, range(some(100))) if is_valid(m)]
    deleted = [m for mod in modules for m in mutants(mod) if m.kind == "delete" and m.fault]
    deleted += _deletions(_small()[::ONE_IN])
    lost = [m for m in deleted if not _is_restored(m)]
    assert len(lost) <= (1 - RESTORED) * len(deleted), "\n\n".join(map(str, lost))
