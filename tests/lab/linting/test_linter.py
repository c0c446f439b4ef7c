"""The linter on the catalogue of annotated modules, and the selection of rules."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from byoc_lab import lint, relay
from byoc_lab.errors import ByocLabError, UnknownNameError
from byoc_lab.lab.linting import all_rules
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.transform import InferType, PartitionGraph

CATALOGUE = Path(__file__).parents[2] / "parity" / "cases" / "annotations"


def test_rules_are_listed_in_the_order_of_their_codes() -> None:
    codes = [rule.code for rule in all_rules()]
    assert len(codes) >= 10
    assert codes == sorted(codes)
    assert len({rule.name for rule in all_rules()}) == len(codes)


def _catalogue(prefix: str) -> list[Path]:
    found = sorted(CATALOGUE.glob(f"{prefix}*.relay"))
    assert found, f"no file {prefix}*.relay in {CATALOGUE}"
    return found


@pytest.mark.parametrize("path", _catalogue("G"), ids=lambda p: p.stem)
def test_well_formed_annotations_have_no_finding(path: Path) -> None:
    expected = ["BYL024"] if path.stem == "G13" else []  # a region of constants only: a warning
    assert [f.code for f in lint(relay.parse_file(path))] == expected


@pytest.mark.parametrize("path", _catalogue("M"), ids=lambda p: p.stem)
def test_modules_that_partitioning_rejects_have_an_error_finding(path: Path) -> None:
    mod = relay.parse_file(path)
    found = lint(mod)
    try:
        PartitionGraph()(InferType()(mod))
    except ByocLabError:
        rejected = True
    else:
        rejected = False
    if rejected:
        assert found.errors, f"PartitionGraph rejects {path.stem} and the linter finds nothing"


def _samples() -> list[Any]:
    return [
        pytest.param(sample.text, id=f"{rule.code}-{number}")
        for rule in all_rules()
        for number, sample in enumerate((*rule.INVALID, *rule.VALID))
        if "annotation.compiler_" in sample.text and not sample.text.lstrip().startswith("fn")
    ]


@pytest.mark.parametrize("text", _samples())
def test_default_annotations_that_partitioning_removes_are_no_errors(text: str) -> None:
    mod = relay.parse(re.sub(r'compiler="\w*"', 'compiler="default"', text))
    found = lint(mod)
    try:
        made = PartitionGraph()(InferType()(mod))
    except ByocLabError:
        return
    assert not found.errors or lint(made).errors


def test_unknown_rule_is_named_in_the_error() -> None:
    with pytest.raises(UnknownNameError, match="no lint rule is called 'BYL999'; did you mean"):
        lint(IRModule(), rules=["BYL999"])
