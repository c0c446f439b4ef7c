"""Lint rule BYL028 small-region: a region computes less than its call costs."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject, called
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.analysis.costs import call_flops, operator_calls, tensor_types
from byoc_lab.relay.analysis.regions import Region
from byoc_lab.relay.ir.expr import Call, Function, Op

MIN_WORK = 1000
"""The number of operations, or of moved numbers, in about a microsecond on a CPU, which is the
minimum cost of a call."""


def _text(size: int) -> str:
    return (
        f"def @main(%x: Tensor[({size}, 8), float32]) {{\n"
        '  %0 = annotation.compiler_begin(%x, compiler="dnnl");\n  %1 = nn.relu(%0);\n'
        '  annotation.compiler_end(%1, compiler="dnnl")\n}'
    )


class SmallRegion(LintRule):
    """A region computes so little that calling it costs more than the work itself.

    It is a hint for a known back end: `lint(mod, backend=...)`. The estimate counts operations, or
    numbers if an operator only moves them; the limit is about one microsecond on a CPU.

    ## Why is this bad?
    Each call of an external function passes its tensors over the boundary. A small region also
    keeps the host from fusing the operator with its neighbours.

    ## What to do instead
    Merge the region with a neighbour, or leave the operator to the host. DNNL's pipeline
    `partition_for_dnnl` gives such regions back to the host.

    ## References
    TVM 0.16, python/tvm/relay/op/contrib/dnnl.py, `prune_dnnl_subgraphs`.
    """

    code, name = "BYL028", "small-region"
    severity = Severity.INFO
    VALID = (Sample(_text(1000), backend="dnnl"), Sample(_text(2)))
    INVALID = (Sample(_text(2), points_at="nn.relu", backend="dnnl"),)

    def check(self, subject: Subject) -> Iterator[Finding]:
        backend = subject.context.backend
        if backend is None or not subject.annotated or subject.unmerged:
            return  # before merging, each operator is a separate region, so sizes mean nothing
        for region in subject.offloaded:
            if region.target != backend.name or not region.outputs:
                continue
            work = _work(region, subject)
            if work is not None and work < MIN_WORK:
                members = subject.in_order(region)
                calls = [n for n in members if isinstance(n, Call) and not is_annotation(n)]
                if not calls:
                    continue
                yield self.finding(
                    f"region {subject.number(region)} of {region.target} "
                    f"({', '.join(map(called, calls[:4]))}) does about {work} operations, less "
                    f"than a call of it costs",
                    "merge it with a neighbour, or leave its operators to the host",
                    calls[-1],
                    subject,
                )


def _work(region: Region, subject: Subject) -> int | None:
    """The number of operations of a region, or of numbers that it moves; None if unknown."""
    total = 0
    for node in region.nodes:
        typed = subject.typed.get(node)
        if typed is None:
            return None
        inner = typed.op if isinstance(typed, Call) and isinstance(typed.op, Function) else None
        calls = [typed] if inner is None and isinstance(typed, Call) else []
        for call in operator_calls(inner) if inner is not None else calls:
            if isinstance(call.op, Op) and not is_annotation(call):
                flops = call_flops(call)
                if flops is None:
                    return None
                total += max(flops, _moved(call))
    return total


def _moved(call: Call) -> int:
    """The number of elements in the results of a call."""
    return sum(prod(t.concrete_shape) for t in tensor_types(call.checked_type))
