"""Lint rule BYL017 unknown-target: AnnotateTarget names an unknown compiler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byoc_lab.backends.registry import is_registered, why_no_name
from byoc_lab.backends.registry import names as backend_names
from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity
from byoc_lab.lab.linting.composites import composites_in
from byoc_lab.lab.linting.context import Context
from byoc_lab.passes.byoc.annotate_target import BEYOND_TVM, AnnotateTarget, prefix_of
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay.ir.expr import Op
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
        passes = [p for p in context.running if isinstance(p, AnnotateTarget)]
        if not passes:
            return
        known = {prefix_of(name) for name, *_ in context.table}
        known |= {prefix_of(name) for name in composites_in(mod)} | set(backend_names())
        operators = [Op.get(name) for name in Op.list_op_names()]
        for target in dict.fromkeys(t for p in passes for t in p.targets):
            keys = (f"target.{target}", f"{BEYOND_TVM}.{target}")
            if target in known or any(op.has_attr(key) for op in operators for key in keys):
                continue
            if is_registered(target):
                continue
            fix = f"give AnnotateTarget the name of a back end ({why_no_name(target)})"
            if not why_no_name(target):
                known_names = unregistered(target, backend_names())
                fix = f"correct the name or register the back end; {known_names}"
            yield self.finding(
                f"AnnotateTarget gets the target {target!r}, which no operator, pattern or "
                f"back end knows: it will offload nothing to it",
                fix,
                None,
            )
