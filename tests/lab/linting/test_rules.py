"""Every rule against its own samples, its page, and the catalogue of malformed annotations."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from byoc_lab import lint, relay
from byoc_lab.errors import ByocLabError, EvaluationError, UnknownNameError
from byoc_lab.lab.linting import LintRule, Sample, all_rules
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import substitute
from byoc_lab.run import evaluate
from byoc_lab.transform import InferType, PartitionGraph

CATALOGUE = Path(__file__).parents[2] / "parity" / "cases" / "annotations"

SAMPLES = [(r, s) for r in all_rules() for s in (*r.VALID, *r.INVALID)]
INVALID = [(r, s) for r in all_rules() for s in r.INVALID]
VALID = [(r, s) for r in all_rules() for s in r.VALID]


def _read(sample: Sample) -> IRModule | Function:
    if sample.text.lstrip().startswith("fn"):
        found = relay.parse_expr(sample.text)
        assert isinstance(found, Function)
        return found
    return relay.parse(sample.text)


def test_there_are_rules() -> None:
    assert len(SAMPLES) >= 10


@pytest.mark.parametrize(("rule", "sample"), VALID, ids=lambda x: getattr(x, "code", ""))
def test_good_samples_are_clean(rule: LintRule, sample: Sample) -> None:
    """A good sample is clean for all rules, not only for its own."""
    assert list(lint(_read(sample))) == []


@pytest.mark.parametrize(("rule", "sample"), INVALID, ids=lambda x: getattr(x, "code", ""))
def test_bad_samples_are_found_at_the_place(rule: LintRule, sample: Sample) -> None:
    found = lint(_read(sample)).by_code(rule.code)
    assert found
    if sample.points_at:
        ops = [f.node.op.name for f in found if isinstance(f.node, relay.Call)]  # type: ignore[attr-defined]
        assert sample.points_at in ops
    if sample.argument is not None:
        assert sample.argument in [f.argument for f in found]
    assert all(f.message and f.what_to_do and f.function == "main" for f in found)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda r: r.code)
def test_a_rule_has_a_page_and_samples(rule: LintRule) -> None:
    assert re.fullmatch(r"BYL\d{3}", rule.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
    page = type(rule).__doc__ or ""
    for heading in ("## Why is this bad?", "## What to do instead", "## References"):
        assert heading in page
    assert rule.VALID
    assert rule.INVALID


def _catalogue(prefix: str) -> list[Path]:
    found = sorted(CATALOGUE.glob(f"{prefix}*.relay"))
    assert found, "the catalogue is there"
    return found


@pytest.mark.parametrize("path", _catalogue("G"), ids=lambda p: p.stem)
def test_well_formed_annotations_are_clean(path: Path) -> None:
    assert list(lint(relay.parse_file(path))) == []


@pytest.mark.parametrize("path", _catalogue("M"), ids=lambda p: p.stem)
def test_what_partitioning_refuses_is_found_before(path: Path) -> None:
    """Whatever makes PartitionGraph fail has a finding; the linter never fails itself."""
    mod = relay.parse_file(path)
    found = lint(mod)
    try:
        PartitionGraph()(InferType()(mod))
    except ByocLabError:
        refused = True
    else:
        refused = False
    if refused:
        assert found.errors, f"{path.stem} is refused by PartitionGraph and found clean"


def test_unknown_rules_are_refused_by_name() -> None:
    with pytest.raises(UnknownNameError, match="no rule is called BYL999; there are BYL001"):
        lint(IRModule(), rules=["BYL999"])


ACROSS = next(rule for rule in all_rules() if rule.code == "BYL010").INVALID


@pytest.mark.parametrize("sample", ACROSS, ids=["two clauses", "behind"])
def test_a_region_across_clauses_fails_when_it_runs_and_not_before(sample: Sample) -> None:
    """The call that is made outside the clause uses a variable that nothing binds there."""
    mod = _read(sample)
    assert isinstance(mod, IRModule)
    _, nothing = mod.get_type("Option")[1:]
    x, option = mod["main"].params
    body = substitute(mod["main"].body, {option: relay.Call(nothing, [])})
    mod["main"] = Function([x], body)
    partitioned = PartitionGraph()(InferType()(mod))
    with pytest.raises(EvaluationError, match="%y has no value"):
        evaluate(partitioned, [np.ones(4, np.float32)])
