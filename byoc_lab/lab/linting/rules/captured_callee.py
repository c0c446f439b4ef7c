"""Lint rule BYL008 captured-callee: a call inside a region calls a local function."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.ir.expr import Call, Var, describe

_T = "Tensor[(10, 10), float32]"
_HEAD = f"def @main(%x: {_T}) {{\n"


class CapturedCallee(LintRule):
    """The callee of a call inside a region is a local variable, or an annotated function.

    ## Why is this bad?
    Whether a call belongs to a region depends only on its arguments, not on its callee. The
    region's function would use the callee without having it as a parameter, so the callee would be
    a free variable.

    ## What to do instead
    Inline the callee, make it a global function, or pass it as an argument (a function-typed
    argument with a `compiler_begin` becomes a parameter).

    ## References
    TVM 0.16, src/relay/analysis/annotated_region_set.cc.
    """

    code, name = "BYL008", "captured-callee"
    VALID = (
        Sample(
            f'{_HEAD}  %0 = annotation.compiler_begin(%x, compiler="A");\n'
            f"  %1 = fn (%p: {_T}) {{\n    nn.relu(%p)\n  }};\n  %2 = %1(%0);\n"
            '  annotation.compiler_end(%2, compiler="A")\n}'
        ),
    )
    INVALID = (
        Sample(
            f"{_HEAD}  let %f = fn (%p: {_T}) {{\n    nn.relu(%p)\n  }};\n"
            '  %0 = annotation.compiler_begin(%x, compiler="A");\n  %1 = %f(%0);\n'
            '  annotation.compiler_end(%1, compiler="A")\n}'
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        for node in subject.nodes:
            if not isinstance(node, Call):
                continue
            if not isinstance(node.op, Var) and not is_annotation(node.op):
                continue
            region = subject.offloaded_region(node)
            if region is not None:
                yield self.finding(
                    f"a call in region {subject.number(region)} of {region.target} calls "
                    f"{describe(node.op)}, which is not a parameter of the region's function",
                    "inline the callee, make it a global function, or pass it as an argument",
                    node,
                    subject,
                )
