"""Lint rule BYL037 uncomputed-result: a region returns an input or a constant, or a value twice."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject
from byoc_lab.lab.linting.external import is_external, name_of
from byoc_lab.lab.linting.results import uncomputed, uncomputed_of
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.ir.expr import Call, Expr, Tuple

_HINT = "let the host use that value itself: take the result out of the region"
_T = "Tensor[(10), float32]"


def _returning(result: str) -> str:
    """The text of a module whose external function has this body."""
    return (
        f'def @r(%a: {_T}, Compiler="A", global_symbol="r") {{\n  {result}\n}}\n'
        f"def @main(%x: {_T}) {{\n  @r(%x)\n}}"
    )


class UncomputedResult(LintRule):
    """A region has operators, but one of its results is not computed: it is an unchanged input, a
    constant, or a value that is already another result.

    ## Why is this bad?
    TVM's runtime for graphs in JSON, which the back end for DNNL uses, keeps one buffer for each
    value. The buffer of such a result replaces the buffer of the input or the constant, so that the
    operators of the region read unwritten memory; if two results are one value, only one of them is
    written. A tuple field that two expressions extract is one value, too. No error is raised. The
    back ends of byoc_lab copy the value.

    ## What to do instead
    Let the host use the value itself: take the result out of the region. With annotations, remove
    an end that is directly on a begin; for tuples: AnnotateTarget(..., include_non_call_ops=False).

    ## References
    TVM 0.16, src/runtime/contrib/json/json_runtime.h, `SetInputOutputBuffers`;
    github.com/apache/tvm/pull/5320.
    """

    code, name = "BYL037", "uncomputed-result"
    severity = Severity.WARNING
    VALID = (
        Sample(_returning("(nn.relu(%a), tanh(%a))")),
        Sample(_returning("nn.relu(%a)")),
        Sample(_returning("%0 = split(%a, indices_or_sections=2);\n  (%0.0, %0.1)")),
    )
    INVALID = (
        Sample(_returning("(nn.relu(%a), %a)")),
        Sample(_returning("(nn.relu(%a), 1f)")),
        Sample(_returning("%0 = nn.relu(%a);\n  (%0, %0)")),
        Sample(_returning("%0 = split(%a, indices_or_sections=2);\n  (%0.0, %0.0)")),
        Sample(
            f"def @main(%x: {_T}) {{\n"
            '  %0 = annotation.compiler_begin(%x, compiler="A");\n'
            "  %1 = nn.relu(%0);\n"
            '  %2 = annotation.compiler_end(%1, compiler="A");\n'
            '  %3 = annotation.compiler_end(%0, compiler="A");\n'
            "  (%2, %3)\n}",
            points_at="annotation.compiler_end",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        if is_external(subject.func) and any(isinstance(n, Call) for n in subject.nodes):
            name = name_of(subject.func, subject.name, subject.mod)
            for told in uncomputed_of(subject.func):
                yield self.finding(
                    f"external function {name} returns {told}",
                    _HINT,
                    subject.func,
                    subject,
                )
        for region in subject.offloaded:
            if not any(isinstance(n, Call) and not is_annotation(n) for n in region.nodes):
                continue  # reported by BYL011 empty-region
            ends: dict[Expr, Call] = {}  # per result: PartitionGraph returns each expression once
            for end in region.outputs:
                for value in end.args:  # one end, unless annotations are malformed
                    for result in value.fields if isinstance(value, Tuple) else (value,):
                        ends.setdefault(result, end)
            for result, told in uncomputed(ends, {begin: "its input" for begin in region.inputs}):
                yield self.finding(
                    f"region {subject.number(region)} of {region.target} returns {told}",
                    _HINT,
                    ends[result],
                    subject,
                    0,
                )
