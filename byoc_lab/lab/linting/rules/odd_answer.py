"""Lint rule BYL036 odd-answer: the answer of a check is not a bool, and counts as True."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from byoc_lab.errors import ByocLabError
from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity
from byoc_lab.lab.linting.context import Context
from byoc_lab.lab.linting.matching import Experiment
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.passes.framework.predicates import odd_answers
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import is_op, wildcard

_TEXT = "def @main(%x: Tensor[(2, 3), float32]) {\n  nn.relu(%x)\n}"


def _passes(answer: Any) -> Sequence[Pass]:
    table = [("dnnl.relu", is_op("nn.relu")(wildcard()), lambda root: answer)]
    return [MergeComposite(table), AnnotateTarget("dnnl")]


class OddAnswer(LintRule):
    """The check of a pattern answers with something that is neither a bool nor a `Refused`.

    It is reported where the pipeline is known: `lint(mod, pipeline=...)`. The passes up to
    MergeComposite run on the module, and the checks are asked about its matches.

    ## Why is this bad?
    TVM asks whether the answer is true, and nearly every Python object is: `relay.const(False)`,
    `[False]`, a function that was not called. The match is accepted, although the check meant to
    refuse it.

    ## What to do instead
    Return True, False, or `Refused("why")`.

    ## References
    TVM 0.16, src/relay/ir/dataflow_matcher.cc, `PatternPartitioner`.
    """

    code, name = "BYL036", "odd-answer"
    severity = Severity.WARNING
    VALID = (
        Sample(_TEXT, pipeline=lambda: _passes(True)),
        Sample(_TEXT, pipeline=lambda: _passes(False)),
    )
    INVALID = (Sample(_TEXT, pipeline=lambda: _passes([False])),)

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        if not any(isinstance(p, MergeComposite) for p in context.running):
            return
        if not any(check for _, _, check in context.table):
            return
        if any(is_annotation(n) for f in mod.functions.values() for n in post_order(f)):
            return
        with odd_answers() as told:
            try:
                Experiment(mod, context).run()
            except ByocLabError:
                return  # blocked-match reports it
        for text in dict.fromkeys(told):
            yield self.finding(text, "return True, False, or Refused('why')", None)
