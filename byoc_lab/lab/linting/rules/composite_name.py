"""Lint rule BYL018 composite-name: a composite's name does not begin with its back end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity
from byoc_lab.lab.linting.composites import (
    NO_DOT,
    composites_in,
    meant_for,
    prefixes_of,
    unknown_targets,
)
from byoc_lab.lab.linting.context import Context
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget, prefix_of
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import is_op, wildcard

_T = "Tensor[(2, 3), float32]"


def _text(name: str) -> str:
    return (
        f'def @main(%x: {_T}) {{\n  %0 = fn (%p: {_T}, Composite="{name}") {{\n'
        "    nn.relu(%p)\n  };\n  %0(%x)\n}"
    )


def _annotate() -> Sequence[Pass]:
    return [AnnotateTarget("dnnl")]


def _undotted() -> Sequence[Pass]:
    return [MergeComposite([("dnnl_relu", is_op("nn.relu")(wildcard()))]), *_annotate()]


class CompositeName(LintRule):
    """The name of a composite function or pattern does not begin with the name of a target.

    ## Why is this bad?
    AnnotateTarget offloads a composite function to the target named before the first dot of the
    composite's name. A composite whose name has no dot, or no target before the dot, is never
    offloaded, and no message reports it.

    ## What to do instead
    Name the pattern "<target>.<kernel>", for example "dnnl.conv2d_relu".

    ## References
    TVM 0.16, src/relay/transforms/annotate_target.cc.
    """

    code, name = "BYL018", "composite-name"
    severity = Severity.WARNING
    VALID = (
        Sample(_text("dnnl.relu"), pipeline=_annotate),
        Sample(_text("relu")),
    )
    INVALID = (
        Sample(_text("relu"), pipeline=_annotate),
        Sample(_text("dnn.relu"), pipeline=_annotate),
        Sample(f"def @main(%x: {_T}) {{\n  nn.relu(%x)\n}}", pipeline=_undotted),
    )

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        if not any(isinstance(p, AnnotateTarget) for p in context.running):
            return
        targets = context.targets
        named: dict[str, tuple[Expr | None, str | None]] = {}
        named.update((str(name), (None, None)) for name, *_ in context.table)
        named.update(composites_in(mod))
        unknown = unknown_targets(mod, context)  # BYL017 names the composites meant for these
        meant = {name for target in unknown for name in meant_for(target, mod, context)}
        for name, (node, function) in named.items():
            prefix = prefix_of(name)
            if prefix in targets or name in meant:
                continue
            asked = prefixes_of(targets)
            advice = (
                f"give the pattern a name that begins with {asked}" if asked else f"use {NO_DOT}"
            )
            what = (
                "has no dot" if prefix is None else f"begins with {prefix!r}, which is not a target"
            )
            yield self.finding(
                f"the name of the composite {name!r} {what}: AnnotateTarget will not offload it",
                advice,
                node,
                function=function,
            )
