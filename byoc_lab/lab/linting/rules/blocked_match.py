"""Lint rule BYL031 blocked-match: something stands in the way of a pattern of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byoc_lab.errors import ByocLabError
from byoc_lab.lab.explaining.calls import explain
from byoc_lab.lab.explaining.explanation import Explanation
from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, called
from byoc_lab.lab.linting.context import Context
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import is_constant, is_op, wildcard

_T = "Tensor[(2, 3), float32]"
_HEAD = f"def @main(%x: {_T}, %y: {_T}) {{\n"

TO_DO = {
    "let": "run ToGraphNormalForm before MergeComposite",
    "outside-user": "let the other user compute the value again, or give it a pattern of its own",
    "unbound-constant": "bind the parameters to their values before the pipeline runs",
    "needs-pass": "run the pass that it needs before MergeComposite",
}
"""What to do, for the causes of `explain` that this rule reports."""


def _passes() -> Sequence[Pass]:
    shifted = is_op("nn.relu")(is_op("subtract")(wildcard(), wildcard()))
    scaled = is_op("maximum")(wildcard(), is_constant())
    table = [("dnnl.subtract_relu", shifted), ("dnnl.maximum", scaled)]
    return [InferType(), MergeComposite(table), AnnotateTarget("dnnl")]


class BlockedMatch(LintRule):
    """Part of a pattern matches, and what blocks the rest can be changed in the module.

    It is reported for the pipeline that is known, before annotation: `lint(mod, pipeline=...)`. The
    pipeline is run to find out; `byoc_lab.explain` says the same for each call, with a change that
    was tried.

    ## Why is this bad?
    No match crosses a `let`. A value inside a match must have no user outside of it. A pattern that
    asks for a constant does not match a parameter, and one that asks for an addition does not match
    a batch norm. In all these cases the operators stay on the host without a message.

    ## What to do instead
    Run ToGraphNormalForm, bind the parameters, or run SimplifyInference before MergeComposite.

    ## References
    TVM 0.16, src/relay/ir/dataflow_matcher.cc.
    """

    code, name = "BYL031", "blocked-match"
    severity = Severity.INFO
    VALID = (
        Sample(f"{_HEAD}  nn.relu(subtract(%x, %y))\n}}", pipeline=_passes),
        Sample(f"{_HEAD}  maximum(%x, 2f)\n}}", pipeline=_passes),
    )
    INVALID = (
        Sample(
            f"{_HEAD}  let %a = subtract(%x, %y);\n  nn.relu(%a)\n}}",
            points_at="subtract",
            pipeline=_passes,
        ),
        Sample(
            f"{_HEAD}  %0 = subtract(%x, %y);\n  %1 = nn.relu(%0);\n  (%1, %0)\n}}",
            points_at="subtract",
            pipeline=_passes,
        ),
        Sample(f"{_HEAD}  maximum(%x, %y)\n}}", points_at="maximum", pipeline=_passes),
    )

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        passes = context.running
        if not all(any(isinstance(p, k) for p in passes) for k in (MergeComposite, AnnotateTarget)):
            return
        nodes = [n for f in mod.functions.values() for n in post_order(f)]
        if any(is_annotation(n) for n in nodes):
            return
        homes = {n: gv.name_hint for gv, f in mod.functions.items() for n in post_order(f)}
        for target in context.backends:
            try:
                blocked = [
                    e
                    for e in explain(mod, target, pipeline=list(passes))
                    if not e.offloaded and e.cause in TO_DO
                ]
            except ByocLabError:
                return  # the pipeline fails on this module: the run itself says why
            for group in _of_one_cause(blocked):
                first = group[0]
                more = f" (and {len(group) - 1} more)" if len(group) > 1 else ""
                yield self.finding(
                    f"{called(first.call)}{more} stays on the host: {first.reason}",
                    TO_DO[str(first.cause)],
                    first.call,
                    others=[e.call for e in group[1:]],
                    function=homes.get(first.call),
                )


def _of_one_cause(found: Sequence[Explanation]) -> list[list[Explanation]]:
    """Grouped by cause, operator and nearest pattern: one thing to change, one finding."""
    groups: dict[tuple[object, ...], list[Explanation]] = {}
    for e in found:
        assert isinstance(e.call, Call)
        pattern = e.nearest.name if e.nearest is not None else None
        groups.setdefault((e.cause, called(e.call), pattern), []).append(e)
    return list(groups.values())
