"""Every lint rule and every command of the CLI has a test file of its name."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from byoc_lab import cli
from byoc_lab.lab.linting import LintRule, all_rules

TESTS = Path(__file__).parent
RULES = TESTS / "lab" / "linting" / "rules"


def commands() -> list[str]:
    """The names of the commands of the CLI."""
    actions = cli.parser()._actions
    (choices,) = (a.choices for a in actions if isinstance(a, argparse._SubParsersAction))
    return list(choices)


def _module(rule: LintRule) -> str:
    return type(rule).__module__.rpartition(".")[2]


@pytest.mark.parametrize("rule", all_rules(), ids=lambda r: r.code)
def test_rule_has_a_test_file_that_checks_its_samples(rule: LintRule) -> None:
    assert _module(rule) == rule.name.replace("-", "_"), "a file has the name of its rule"
    path = RULES / f"test_{_module(rule)}.py"
    assert path.exists(), f"write {path}"
    assert f"rule = {type(rule).__name__}\n" in path.read_text(encoding="utf-8")


def test_every_test_file_of_rules_has_its_rule() -> None:
    expected = {f"test_{_module(rule)}.py" for rule in all_rules()}
    assert {p.name for p in RULES.glob("test_*.py")} == expected


@pytest.mark.parametrize("command", commands())
def test_command_has_a_test_file(command: str) -> None:
    path = TESTS / "cli" / f"test_{command}.py"
    assert path.exists(), f"write {path}"
    assert f'"{command}"' in path.read_text(encoding="utf-8"), f"{path} does not run {command}"
