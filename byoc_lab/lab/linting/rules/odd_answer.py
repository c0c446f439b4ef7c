"""Lint rule BYL036 odd-answer: a check or predicate does not return a bool, or raises an
exception."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from byoc_lab.errors import ByocLabError, PredicateError
from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity
from byoc_lab.lab.linting.context import Context
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.passes import Pass, Sequential
from byoc_lab.passes.framework.predicates import collected_answers
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import is_op, wildcard
from byoc_lab.relay.typing.infer import infer_module

_TEXT = "def @main(%x: Tensor[(2, 3), float32]) {\n  nn.relu(%x)\n}"


def _passes(answer: Any) -> Sequence[Pass]:
    table = [("dnnl.relu", is_op("nn.relu")(wildcard()), lambda root: answer)]
    return [MergeComposite(table), AnnotateTarget("dnnl")]


def _changing() -> Sequence[Pass]:
    answers = iter([True])
    table = [("dnnl.relu", is_op("nn.relu")(wildcard()), lambda root: next(answers, False))]
    return [MergeComposite(table)]


class OddAnswer(LintRule):
    """The check of a pattern, or the predicate of an operator, returns neither a bool nor a
    `Refused`, returns a different result on a second call, or raises an exception.

    It is reported if the pipeline is known: `lint(mod, pipeline=...)`, or `lint(mod, backend=...)`
    for the pipeline of the back end. The passes up to AnnotateTarget run on the module, and so call
    the checks and predicates; then each call is repeated once.

    ## Why is this bad?
    TVM tests the truth value of the result, and nearly every Python object is true:
    `relay.const(False)`, `[False]`, a function that was not called. The match is accepted, although
    the check meant to refuse it. A check that counts its matches, or decides at random, gives
    different regions in each run, and code generation may get regions other than those that were
    tested. A predicate that raises an exception ends the pipeline.

    ## What to do instead
    Return True, False, or `Refused("why")`, depending only on the match or call itself. To limit
    the regions, remove some after partitioning.

    ## References
    TVM 0.16, src/relay/ir/dataflow_matcher.cc, `PatternPartitioner`.
    """

    code, name = "BYL036", "odd-answer"
    severity = Severity.WARNING
    VALID = (
        Sample(_TEXT, pipeline=lambda: _passes(True)),
        Sample(_TEXT, pipeline=lambda: _passes(False)),
    )
    INVALID = (
        Sample(_TEXT, pipeline=lambda: _passes([False])),
        Sample(_TEXT, pipeline=_changing),
    )

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        kinds = (MergeComposite, AnnotateTarget)
        passes = context.to_come.running
        asking = [n for n, p in enumerate(passes) if isinstance(p, kinds)]
        nodes = (n for f in mod.functions.values() for n in post_order(f))
        if not asking or any(map(is_annotation, nodes)):
            return
        raised = None
        with collected_answers() as answers, PassContext(opt_level=3):
            try:
                Sequential(passes[: asking[-1] + 1])(infer_module(mod))
            except PredicateError as error:
                raised = error
            except ByocLabError:
                pass  # blocked-match, or a rule about annotations, reports it
        if raised is not None:
            todo = "return False, or Refused('why'), for what it does not know"
            yield self.finding(str(raised), todo, None, severity=Severity.ERROR)
        for text in dict.fromkeys(answers.odd):
            yield self.finding(text, "return True, False, or Refused('why')", None)
        for text in answers.changes:
            yield self.finding(text, "let the result depend only on the match or call", None)
