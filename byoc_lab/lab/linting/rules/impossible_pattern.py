"""Lint rule BYL029 impossible-pattern: a pattern that no module can match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity
from byoc_lab.lab.linting.context import Context
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import is_op, wildcard
from byoc_lab.relay.patterns.impossible import why_impossible

_TEXT = "def @main(%x: Tensor[(2, 3), float32]) {\n  nn.relu(%x)\n}"


def _one() -> Sequence[Pass]:
    return [MergeComposite([("dnnl.relu", is_op("nn.relu")(wildcard()))])]


def _two() -> Sequence[Pass]:
    return [MergeComposite([("dnnl.relu", is_op("nn.relu")(wildcard(), wildcard()))])]


class ImpossiblePattern(LintRule):
    """A pattern of the table requires something that no operator has: it cannot match in any
    module.

    ## Why is this bad?
    A pattern with one operand too many, or with an attribute that the operator does not have,
    matches nothing, and no message reports it.

    ## What to do instead
    Give the pattern the operands and attributes of the operator. `byoc_lab.explain_patterns(table,
    modules)` shows for each entry how far it matches in your modules.

    ## References
    TVM 0.16, src/relay/ir/dataflow_matcher.cc.
    """

    code, name = "BYL029", "impossible-pattern"
    severity = Severity.WARNING
    VALID = (Sample(_TEXT, pipeline=_one),)
    INVALID = (Sample(_TEXT, pipeline=_two),)

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        for name, pattern, *_ in context.table:
            why = why_impossible(pattern)
            if why:
                yield self.finding(
                    f"the pattern {name!r} can never match: it {why}",
                    "correct the pattern",
                    None,
                )
