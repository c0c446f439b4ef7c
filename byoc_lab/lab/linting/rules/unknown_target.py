"""Lint rule BYL017 unknown-target: AnnotateTarget names an unknown compiler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byoc_lab.backends.registry import names as backend_names
from byoc_lab.backends.registry import why_no_name
from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity
from byoc_lab.lab.linting.composites import meant_for, unknown_targets
from byoc_lab.lab.linting.context import Context
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget, prefix_of
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.op.contrib.vendors import unregistered

_TEXT = "def @main(%x: Tensor[(2, 3), float32]) {\n  nn.relu(%x)\n}"


def _right() -> Sequence[Pass]:
    return [AnnotateTarget("dnnl")]


def _misspelt() -> Sequence[Pass]:
    return [AnnotateTarget("dnll")]


class UnknownTarget(LintRule):
    """AnnotateTarget gets a target that no operator, pattern or back end knows.

    ## Why is this bad?
    AnnotateTarget asks each operator for its predicate "target.<name>". For an unknown name, no
    operator has this predicate, so the whole module stays on the host, without a message.

    ## What to do instead
    Correct the name, or register the back end: `byoc_lab.backends.register(name, ...)`.

    ## References
    TVM 0.16, src/relay/transforms/annotate_target.cc.
    """

    code, name = "BYL017", "unknown-target"
    severity = Severity.WARNING
    VALID = (Sample(_TEXT, pipeline=_right),)
    INVALID = (Sample(_TEXT, pipeline=_misspelt),)

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        for target in unknown_targets(mod, context):
            meant = meant_for(target, mod, context)
            known = [*backend_names(), *(p for n in meant if (p := prefix_of(n)) is not None)]
            fix = f"give AnnotateTarget the name of a back end ({why_no_name(target)})"
            if not why_no_name(target):
                fix = f"correct the name or register the back end; {unregistered(target, known)}"
            named = ""
            if meant:
                named = f", and composites such as {meant[0]} have names that begin otherwise"
            yield self.finding(
                f"AnnotateTarget gets the target {target!r}, which no operator, pattern or "
                f"back end knows: it will offload nothing to it{named}",
                fix,
                None,
            )
