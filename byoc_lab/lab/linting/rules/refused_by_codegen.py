"""Lint rule BYL026 refused-by-codegen: a region has what its back end does not compile."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.backends.registry import Backend
from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject, called
from byoc_lab.lab.linting.bound import as_compiled
from byoc_lab.lab.linting.composites import prefix_of
from byoc_lab.lab.linting.edits import Proposal, Remove
from byoc_lab.lab.linting.external import is_external
from byoc_lab.relay.analysis.annotations import BEGIN, END, is_annotation
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op

_T = "Tensor[(20, 300), float32]"


def _text(op: str, compiler: str = "dnnl") -> str:
    return (
        f'def @main(%x: {_T}) {{\n  %0 = annotation.compiler_begin(%x, compiler="{compiler}");\n'
        f'  %1 = {op}(%0);\n  annotation.compiler_end(%1, compiler="{compiler}")\n}}'
    )


class RefusedByCodegen(LintRule):
    """A region, or an external function, has an operator that its back end does not compile.

    It is reported for the back ends that are known: `lint(mod, backend=...)`, or the targets of
    `lint(mod, pipeline=...)`. The answer is that of the code generator itself.

    ## Why is this bad?
    Partitioning looks at annotations only and succeeds. The build fails later, in the code
    generator, far from the annotation.

    ## What to do instead
    Leave the operator out of the region, or extend the back end. AnnotateTarget annotates only what
    the predicates of the back end accept.

    ## References
    TVM 0.16, src/relay/backend/contrib/dnnl/codegen.cc ("Unsupported op").
    """

    code, name = "BYL026", "refused-by-codegen"
    VALID = (Sample(_text("nn.relu"), backend="dnnl"), Sample(_text("erf")))
    INVALID = (Sample(_text("erf"), points_at="erf", backend="dnnl"),)

    def check(self, subject: Subject) -> Iterator[Finding]:
        for node, compiler in _compiled(subject):
            backend = subject.context.backends[compiler]
            reason = _refusal(node, subject, backend)
            if reason is not None:
                yield self.finding(
                    f"{called(node)} is compiled by {compiler}, which refuses it: {reason}",
                    f"leave {called(node)} out of the region, or change what {compiler} refuses",
                    node,
                    subject,
                    proposals=_left_out(node, subject),
                )


def _compiled(subject: Subject) -> Iterator[tuple[Call, str]]:
    """The calls that a known back end gets, with its name."""
    known = subject.context.backends
    if not known:
        return
    inside: set[Expr] = set()  # the nodes of composite functions: their pattern answers for them
    whole = str(subject.func.attrs["Compiler"]) if is_external(subject.func) else None
    for node in reversed(subject.nodes):
        if isinstance(node, Function) and node is not subject.func:
            inside.add(node)
        if node in inside:
            inside.update(node.parts())
            continue
        if not isinstance(node, Call) or is_annotation(node):
            continue
        region = subject.regions.of(node) if whole is None else None
        compiler = whole or (region.target if region is not None else "")
        if compiler in known:
            yield node, compiler


def _refusal(node: Call, subject: Subject, backend: Backend) -> str | None:
    if isinstance(node.op, Op):
        call = as_compiled(node, subject)
        return backend.why_not_compiled(call) if call is not None else None
    if isinstance(node.op, Function):
        name = str(node.op.attrs.get("Composite", ""))
        if prefix_of(name) == backend.name and name not in {n for n, *_ in backend.patterns()}:
            return f"its pattern table has no {name!r}"
    return None


def _left_out(node: Call, subject: Subject) -> list[Proposal]:
    """Without the annotations around one operator that is a region by itself."""
    begins = [a for a in node.args if is_annotation(a, BEGIN)]
    ends = [u for u in subject.users[node] if is_annotation(u, END)]
    if len(begins) != len(node.args) or len(ends) != len(subject.users[node]) or not ends:
        return []
    if any(len(subject.users[b]) > 1 for b in begins):
        return []
    edits = tuple(Remove(a) for a in dict.fromkeys([*begins, *ends]))
    return [Proposal(f"remove the annotations of {called(node)}", subject.name, edits)]
