"""Lint rule BYL026 refused-by-codegen: a region has an operator that its back end does not
compile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from byoc_lab.backends.registry import Backend
from byoc_lab.lab.linting.base import (
    Finding,
    LintRule,
    Sample,
    Severity,
    Subject,
    called,
)
from byoc_lab.lab.linting.bound import as_compiled
from byoc_lab.lab.linting.edits import Proposal, Remove
from byoc_lab.lab.linting.external import is_external
from byoc_lab.passes.byoc.annotate_target import prefix_of
from byoc_lab.relay.analysis.annotations import BEGIN, END, is_annotation
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op
from byoc_lab.relay.ir.visit import post_order

_T = "Tensor[(20, 300), float32]"


def _text(op: str, compiler: str = "dnnl") -> str:
    return (
        f'def @main(%x: {_T}) {{\n  %0 = annotation.compiler_begin(%x, compiler="{compiler}");\n'
        f'  %1 = {op}(%0);\n  annotation.compiler_end(%1, compiler="{compiler}")\n}}'
    )


class RefusedByCodegen(LintRule):
    """A region, or an external function, has an operator that its back end does not compile.

    It is reported for the back ends that are known: `lint(mod, backend=...)`, or the targets of
    `lint(mod, pipeline=...)`. The code generator itself decides. A composite whose name is missing
    from the pattern table is a warning: a code generator that relies on the table does not know it.
    DNNL and ccompiler compile the operators inside, so each of these is checked.

    ## Why is this bad?
    Partitioning only checks annotations and succeeds. The build fails later, in the code generator,
    far from the annotation.

    ## What to do instead
    Leave the operator out of the region, or extend the back end. AnnotateTarget only annotates
    calls that the predicates of the back end accept.

    ## References
    TVM 0.16, src/relay/backend/contrib/dnnl/codegen.cc ("Unsupported op").
    """

    code, name = "BYL026", "refused-by-codegen"
    VALID = (Sample(_text("nn.relu"), backend="dnnl"), Sample(_text("erf")))
    INVALID = (Sample(_text("erf"), points_at="erf", backend="dnnl"),)

    def check(self, subject: Subject) -> Iterator[Finding]:
        for node, compiler in _compiled(subject):
            backend = subject.context.backends[compiler]
            if isinstance(node.op, Function):
                yield self.finding(
                    f"{called(node)} goes to {compiler}, whose pattern table has no composite of "
                    f"this name: a code generator that relies on the table refuses it",
                    f"give the composite a name of the table of {compiler}, or add its entry there",
                    node,
                    subject,
                    severity=Severity.WARNING,
                    proposals=_left_out(node, subject),
                )
                continue
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
    """The calls that a known back end compiles, with its name. A composite that is missing from its
    table counts as its inner operators if the back end compiles operator by operator, else as one
    call."""
    known = subject.context.backends
    if not known:
        return
    # nodes of composite functions, for which their pattern is responsible
    inside: set[Expr] = set()
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
        if compiler not in known:
            continue
        if isinstance(node.op, Op):
            yield node, compiler
        elif isinstance(node.op, Function) and _is_unknown(node.op, known[compiler], subject):
            if known[compiler].compiles is None:
                yield node, compiler
            else:
                yield from ((n, compiler) for n in post_order(node.op.body) if _calls_operator(n))


def _is_unknown(composite: Function, backend: Backend, subject: Subject) -> bool:
    """Whether a composite has the prefix of a back end, but no entry in its table."""
    name = str(composite.attrs.get("Composite", ""))
    return prefix_of(name) == backend.name and name not in subject.context.patterns_of(backend)


def _calls_operator(node: Expr) -> TypeGuard[Call]:
    return isinstance(node, Call) and isinstance(node.op, Op)


def _refusal(node: Call, subject: Subject, backend: Backend) -> str | None:
    call = as_compiled(node, subject)
    return backend.why_not_compiled(call) if call is not None else None


def _left_out(node: Call, subject: Subject) -> list[Proposal]:
    """The edits that remove the annotations around an operator that is a region by itself."""
    begins = [a for a in node.args if is_annotation(a, BEGIN)]
    ends = [u for u in subject.users[node] if is_annotation(u, END)]
    if len(begins) != len(node.args) or len(ends) != len(subject.users[node]) or not ends:
        return []
    if any(len(subject.users[b]) > 1 for b in begins):
        return []
    edits = tuple(Remove(a) for a in dict.fromkeys([*begins, *ends]))
    return [Proposal(f"remove the annotations of {called(node)}", subject.name, edits)]
