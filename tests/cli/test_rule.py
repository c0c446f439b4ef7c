"""`byoc-lab rule`: prints the page of a lint rule, or lists all rules."""

from __future__ import annotations

import pytest

from byoc_lab import cli
from byoc_lab.lab.linting import all_rules
from byoc_lab.lab.linting.foreign import RULES


@pytest.mark.parametrize("name", ["BYL001", "byl001", "missing-begin"])
def test_rule_command_prints_the_page_of_a_rule(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["rule", name]) == cli.OK
    out = capsys.readouterr().out
    assert out.startswith("## BYL001 missing-begin\n")
    for heading in ("Why is this bad?", "What to do instead", "Example", "References"):
        assert f"### {heading}\n" in out


def test_rule_command_without_a_name_lists_all_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rule"]) == cli.OK
    assert len(capsys.readouterr().out.splitlines()) == len(all_rules()) + len(RULES)


def test_unknown_rule_exits_with_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rule", "missing-begn"]) == cli.USAGE
    assert "did you mean 'missing-begin'" in capsys.readouterr().err


def test_rule_command_lists_relax_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rule"]) == cli.OK
    assert "BYR001  Relax    composite-on-host\n" in capsys.readouterr().out
    assert cli.main(["rule", "byr004"]) == cli.OK
    assert "BYR004 unbound-constant" in capsys.readouterr().out
