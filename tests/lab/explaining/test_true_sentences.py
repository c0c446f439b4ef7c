"""Statements of explain, explain_patterns and coverage on random tables and modules are verified
by runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byoc_lab import backends, coverage, lint, trace
from byoc_lab.errors import OffloadError, PartitionError, PredicateError, WellFormedError
from byoc_lab.lab.checking.coverage import Coverage
from byoc_lab.lab.explaining import explain, explain_patterns
from byoc_lab.lab.explaining.pattern_report import EntryReport
from byoc_lab.lab.tracing import Trace
from byoc_lab.passes import MergeComposite
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns.matcher import find_match
from tests.lab.explaining.random_tables import (
    OTHER,
    TARGET,
    Drawn,
    between_lets,
    drawn,
    otherwise_partitioned,
)
from tests.lab.explaining.smallest import DRAWS, examine
from tests.lab.explaining.trials_of_causes import (
    OF_PIPELINE,
    Table,
    check_raises,
    composites,
    graphs,
    made_in,
    names_in,
    tried,
    tried_change,
    tried_of_another_group,
)

MALFORMED = (PartitionError, WellFormedError)
"""Raised if regions need variables of lets before these are bound."""
SEEDS = st.integers(0, 2**32)
PARTS = 8
CASES, CASES_OF_PIPELINES = 420, 150
"""Number of tables with modules that each part draws."""
SENTENCES = 10_000
CHANGED = 5
"""For one of this many seeds, the changes of the coverage are tried, which takes a dozen runs."""


@pytest.fixture(autouse=True, scope="module")
def back_end() -> Iterator[None]:
    yield
    backends.register(TARGET)
    backends.register(OTHER)


def test_earlier_composite_that_uses_a_value_inside_a_match_is_the_cause() -> None:
    causes, _ = examined(2140181084)
    assert causes == ["no-pattern", "no-pattern", "order", "order", "order"]


def test_earlier_composite_of_a_node_before_an_input_of_a_match_is_the_cause() -> None:
    causes, _ = examined(3771203564)
    assert "order" in causes


def test_whole_match_of_one_call_is_nearer_than_a_part_of_a_longer_match() -> None:
    causes, _ = examined(777000192)
    assert causes == ["check", "sub-pattern", "check", "sub-pattern"]


def test_copy_without_a_user_outside_its_match_is_explained() -> None:
    causes, _ = examined(2439947009)
    assert "computed-twice" in causes


@pytest.mark.parametrize("seed", [1105, 1249])
def test_constant_removed_from_a_region_is_explained(seed: int) -> None:
    assert "pruned" in examined_pipeline(seed)


@pytest.mark.parametrize("seed", [1000157, 1000423, 1000795])
def test_call_that_the_host_would_compute_again_is_explained_by_its_composite(seed: int) -> None:
    assert {"name", "pruned"} & {*examined_pipeline(seed)}


def test_operator_in_a_region_and_in_its_last_composite_is_counted_twice() -> None:
    causes, statuses = examined(2004319)
    assert causes == ["check", "sub-pattern"] and statuses == ["matches", "never", "matches"]


def test_composite_names_are_not_the_cause_without_annotate_target() -> None:
    """Even with AnnotateTarget in the pipeline the host would compute the call."""
    assert "name" not in examined_pipeline(2002342)


def test_misnamed_composite_is_the_cause_even_if_its_right_name_gives_malformed_regions() -> None:
    assert "name" in examined_pipeline(1001937)


def test_annotated_calls_of_malformed_regions_are_explained_as_malformed() -> None:
    """The regions extend across a let."""
    case = otherwise_partitioned(1001937)
    case.table = [(f"{TARGET}.{n.rpartition('.')[2]}", p, c) for n, p, c in case.table]
    backends.register(TARGET, supports=case.supports)
    causes = malformed_regions(case, trace(case.mod, case.passes()))
    assert causes == ["malformed", "malformed", "check", "malformed", "malformed"]


def test_canonicalized_call_in_a_malformed_region_has_its_original_name() -> None:
    assert examined_pipeline(910300213).count("malformed") == 4


def test_name_of_a_composite_of_constants_alone_is_not_the_cause() -> None:
    """AnnotateTarget never annotates a call without arguments."""
    causes = examined_pipeline(3771201489)
    assert "name" not in causes and causes.count("needs-pass") == 3


@DRAWS
@given(seed=SEEDS)
def test_statements_are_true(seed: int) -> None:
    examined(seed)


@DRAWS
@given(seed=SEEDS)
def test_statements_on_calls_between_lets_are_true(seed: int) -> None:
    examined_between_lets(seed)


@DRAWS
@given(seed=SEEDS)
def test_statements_on_pipelines_are_true(seed: int) -> None:
    examined_pipeline(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_many_statements_are_true(part: int) -> None:
    """Each part draws different cases, whose statements have every status and most causes.

    All parts together have more than 10,000 statements, each verified by a run.
    """
    causes: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    for seed in range(part * CASES, (part + 1) * CASES):
        here = examined(seed)
        causes.update(here[0])
        statuses.update(here[1])
    assert set(causes) >= {
        "no-pattern", "sub-pattern", "check", "predicate", "order", "outside-user", "unused",
        "unbound-constant",
    }  # fmt: skip
    assert set(statuses) >= {"matches", "shadowed", "refused", "used outside", "never"}
    assert causes.total() + statuses.total() > SENTENCES / PARTS


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_many_statements_on_calls_between_lets_are_true(part: int) -> None:
    causes = Counter(
        cause
        for seed in range(part * CASES_OF_PIPELINES, (part + 1) * CASES_OF_PIPELINES)
        for cause in examined_between_lets(seed)
    )
    assert set(causes) >= {"let", "unused", "outside-user"}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_many_statements_on_pipelines_are_true(part: int) -> None:
    causes = Counter(
        cause
        for seed in range(part * CASES_OF_PIPELINES, (part + 1) * CASES_OF_PIPELINES)
        for cause in examined_pipeline(seed)
    )
    assert set(causes) >= {"needs-pass", "skipped-pass", "pruned", "merge", "name"}


def examined(seed: int) -> tuple[list[str], list[str]]:
    """The causes and statuses stated for a case, after each was verified."""
    return examine(drawn(seed), partial(examined_case, changed=seed % CHANGED == 0))


def examined_between_lets(seed: int) -> list[str]:
    """The causes stated for a case with additional lets, after each was verified."""
    return examine(between_lets(seed), partial(examined_case, changed=False))[0]


def examined_case(case: Drawn, changed: bool) -> tuple[list[str], list[str]]:
    """The same for a given case; changed: whether the changes in its coverage are verified."""
    backends.register(TARGET, supports=case.supports)
    run = trace(case.mod, case.passes())
    if isinstance(run.error, MALFORMED):
        with pytest.raises(OffloadError, match=re.escape(str(run.error))):
            coverage(case.mod, TARGET, case.passes())
        return malformed_regions(case, run), []
    try:
        result = run.result
        found = explain(case.mod, TARGET, pipeline=case.passes())
        told = [e.cause for e in found if e.cause is not None]
        for one in found:
            tried(case, one, result)
        for group in found.groups:
            tried_of_another_group(case, group)
        statuses = [tried_entry(case, e) for e in explain_patterns(case.table, case.mod)]
    except PredicateError:
        assert any(check_raises(case, check) for _, _, check in case.table)
        return [], []
    summed = coverage(case.mod, TARGET, case.passes())
    doubled_work(case, found, result, summed)
    if changed:
        tried_changes(case, summed)
    return told, statuses


def examined_pipeline(seed: int) -> list[str]:
    """The causes stated for a case with an unusual pipeline.

    Causes in the pipeline are verified, and all changes; the other causes depend on the matched
    module.
    """
    return examine(otherwise_partitioned(seed), examined_otherwise)


def examined_otherwise(case: Drawn) -> list[str]:
    backends.register(TARGET, supports=case.supports)
    backends.register(OTHER, supports=list(case.supports))
    with case.context:
        run = trace(case.mod, case.passes())
        if isinstance(run.error, MALFORMED):
            return malformed_regions(case, run)
        try:
            found = explain(case.mod, TARGET, pipeline=case.passes())
            for one in found:
                if one.cause in (None, *OF_PIPELINE):
                    tried(case, one, run.result)
                elif one.change is not None:
                    tried_change(case, one)
            return [e.cause for e in found if e.cause is not None]
        except PredicateError:
            assert any(check_raises(case, check) for _, _, check in case.table)
            return []


def malformed_regions(case: Drawn, run: Trace) -> list[str]:
    """The causes stated for a case whose regions read variables of lets before they are bound.

    The linter finds such regions.
    """
    assert any(f.code == "BYL007" for f in lint(run.final)), case.said(run.error)
    try:
        found = explain(case.mod, TARGET, pipeline=case.passes())
        for one in found:
            if one.cause in OF_PIPELINE or one.change is not None:
                tried(case, one, run.final)
    except PredicateError:
        assert any(check_raises(case, check) for _, _, check in case.table)
        return []
    causes = [e.cause for e in found if e.cause is not None]
    assert "malformed" in causes or case.targets != [TARGET], case.said(run.error)
    return causes


# Entries of a table -------------------------------------------------------------------------------


def tried_entry(case: Drawn, report: EntryReport) -> str:
    entry = case.table[report.position]
    name, pattern, _ = entry
    made = composites(case, case.table)[name]
    alone = composites(case, [entry])[name]
    unchecked = composites(case, [(name, pattern)])[name]
    anywhere = any(find_match(pattern, n, g) for g in graphs(case) for n in g.nodes)
    expected = {
        "matches": made > 0,
        "shadowed": made == 0 and alone > 0,
        "refused": alone == 0 and unchecked > 0,
        "used outside": unchecked == 0 and anywhere,
        "never": unchecked == 0 and not anywhere,
        "impossible": not anywhere,
    }
    assert expected[report.status], case.said(report)
    assert report.matches == made, case.said(report)
    if report.shadowed_by:
        names = [n for n, _, _ in case.table]
        first = min(map(names.index, report.shadowed_by))
        moved = list(case.table)
        moved.insert(first, moved.pop(report.position))
        if "would fail" not in report.reason:
            assert f"{name} before {names[first]}" in report.reason, case.said(report)
            gain = merged(case, moved) > merged(case, case.table)
            assert ("; move " in report.reason) == gain, case.said(report)
    return report.status


def merged(case: Drawn, table: Table) -> tuple[int, int]:
    """The score of a table: the number of merged operators (copies excluded), then minus the number
    of composites."""
    found = trace(case.mod, [MergeComposite(list(table))])
    (stage,) = found.stages
    functions = list(made_in(found.result))
    inside = {n for f in functions for n in post_order(f.body)}
    calls = [n for n in post_order(*case.mod.functions.values()) if isinstance(n, Call)]
    operators = sum(
        any(i in inside and getattr(i, "op_name", "") == c.op_name for i in stage.images(c))
        for c in calls
    )
    return operators, -len(functions)


# Work that is doubled -----------------------------------------------------------------------------


def doubled_work(case: Drawn, found: Any, result: IRModule, summed: Coverage) -> None:
    if not all("Compiler" in f.attrs or g.name_hint == "main" for g, f in result.functions.items()):
        return
    again = summed.totals.again
    more = sum(names_in(result.functions.values()).values())
    more -= sum(names_in(case.mod.functions.values()).values())
    keys = Counter(str(n) for n in post_order(case.mod["main"].body) if isinstance(n, Call))
    assert again == more, f"{case.mod}\n{result}"
    doubled = any(f.code == "BYL033" for f in lint(result))
    assert doubled or not again
    if all(count == 1 for count in keys.values()):  # the original module has no equal calls
        assert doubled == bool(again)
    if any(e.cause == "computed-twice" for e in found):
        assert again, f"{case.mod}\n{result}"


# Changes suggested by coverage
# -------------------------------------------------------------------


def tried_changes(case: Drawn, found: Coverage) -> None:
    """Runs each change again from the given module, and counts its totals."""
    for change in found.changes:
        setup = change.setup
        assert setup is not None and setup.mod is case.mod, case.said(change)
        with setup.context:
            run = trace(setup.mod, list(setup.passes))
        assert (run.error is not None) == (change.totals is None), case.said(change)
        if change.totals is None:
            continue
        assert change.totals != found.totals, case.said(change)
        functions = run.result.functions.values()
        regions = [f for f in functions if "Compiler" in f.attrs]
        inside, every = names_in(regions).total(), names_in(functions).total()
        totals = change.totals
        assert (totals.regions, totals.operators + totals.again) == (len(regions), every), (
            case.said(change)
        )
        counted_apart = inside - totals.offloaded  # copies, and what the host computes too
        assert 0 <= counted_apart <= 2 * totals.again, case.said(change)
