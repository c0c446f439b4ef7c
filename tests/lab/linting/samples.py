"""The checks that every lint rule passes on its own samples.

A rule's test file subclasses `RuleChecks` as `Test<Rule>` and adds tests of the rule.
"""

from __future__ import annotations

import re
from typing import ClassVar

import pytest

from byoc_lab import lint, relay
from byoc_lab.lab.linting import Finding, LintRule, Sample
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule

TENSOR = "Tensor[(10, 10), float32]"


def read(text: str) -> IRModule | Function:
    """A module, or, if the text starts with `fn`, a function, which may have free variables."""
    if text.lstrip().startswith("fn"):
        found = relay.parse_expr(text)
        assert isinstance(found, Function)
        return found
    return relay.parse(text)


def begin(value: str, compiler: str = "A") -> str:
    return f'annotation.compiler_begin({value}, compiler="{compiler}")'


def end(value: str, compiler: str = "A") -> str:
    return f'annotation.compiler_end({value}, compiler="{compiler}")'


def main(*lines: str, parameters: str = f"%x: {TENSOR}") -> str:
    """The text of @main: `lines` bind %0, %1, ..., and the last line is the result."""
    *bound, result = lines
    body = [f"  %{n} = {line};\n" for n, line in enumerate(bound)]
    return f"def @main({parameters}) {{\n{''.join(body)}  {result}\n}}"


def called_op(finding: Finding) -> str | None:
    """The operator of the call that a finding refers to; None for other nodes."""
    node = finding.node
    if isinstance(node, relay.Call) and isinstance(node.op, relay.Op):
        return node.op.name
    return None


class RuleChecks:
    """The checks of one rule; `rule` is its class."""

    rule: ClassVar[type[LintRule]]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        for name, samples in (("valid", self.rule.VALID), ("invalid", self.rule.INVALID)):
            if name in metafunc.fixturenames:
                metafunc.parametrize(name, samples, ids=map(str, range(len(samples))))

    def found_in(self, text: str) -> list[Finding]:
        """The findings of this rule only."""
        return list(lint(read(text), rules=[self.rule.code]))

    def only_finding(self, text: str) -> Finding:
        (found,) = self.found_in(text)
        return found

    def sample_finding(self, number: int = 0) -> Finding:
        """The only finding of this rule in an invalid sample."""
        sample = self.rule.INVALID[number]
        (found,) = lint(read(sample.text), sample.passes, sample.backend).by_code(self.rule.code)
        return found

    def test_valid_sample_has_no_findings(self, valid: Sample) -> None:
        """No rule may report a valid sample."""
        assert list(lint(read(valid.text), valid.passes, valid.backend)) == []

    def test_invalid_sample_is_reported_at_its_operator(self, invalid: Sample) -> None:
        found = lint(read(invalid.text), invalid.passes, invalid.backend).by_code(self.rule.code)
        assert found
        if invalid.points_at:
            assert invalid.points_at in map(called_op, found)
        if invalid.argument is not None:
            assert invalid.argument in [f.argument for f in found]
        assert all(f.message and f.what_to_do for f in found)
        assert all(f.function is not None for f in found if f.node is not None)

    def test_rule_has_a_page_and_samples(self) -> None:
        assert re.fullmatch(r"BYL\d{3}", self.rule.code)
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", self.rule.name)
        page = self.rule.__doc__ or ""
        for heading in ("## Why is this bad?", "## What to do instead", "## References"):
            assert heading in page
        assert self.rule.VALID
        assert self.rule.INVALID
