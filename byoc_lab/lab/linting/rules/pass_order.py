"""Lint rule BYL040 pass-order: a partitioning pass is missing or runs too late, and so less is
offloaded, or in more regions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from byoc_lab.errors import counted, enumerated
from byoc_lab.lab.linting.ahead import run_ahead
from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity
from byoc_lab.lab.linting.context import Context
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget, prefix_of
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.printing import printable
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.ir.expr import Call, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import is_op, wildcard

ORDER = (MergeComposite, AnnotateTarget, MergeCompilerRegions, PartitionGraph)
"""The passes that partition a module, in an order in which each pass finds the results that it
needs."""

_TEXT = "def @main(%x: Tensor[(2, 3), float32]) {\n  tanh(nn.relu(%x))\n}"
_ANNOTATED = (
    "def @main(%x: Tensor[(2, 3), float32]) {\n"
    '  annotation.compiler_end(tanh(annotation.compiler_begin(%x, compiler="dnnl")), '
    'compiler="dnnl")\n}'
)


def _matching() -> Pass:
    return MergeComposite([("dnnl.relu_tanh", is_op("tanh")(is_op("nn.relu")(wildcard())))])


def _right() -> Sequence[Pass]:
    return [_matching(), AnnotateTarget("dnnl"), PartitionGraph()]


def _late() -> Sequence[Pass]:
    return [AnnotateTarget("dnnl"), _matching(), PartitionGraph()]


def _merged_first() -> Sequence[Pass]:
    return [MergeCompilerRegions(), AnnotateTarget("dnnl"), PartitionGraph()]


def _too_late() -> Sequence[Pass]:
    return [PartitionGraph(), _matching(), AnnotateTarget("dnnl")]


def _without_annotation() -> Sequence[Pass]:
    return [_matching(), MergeCompilerRegions(), PartitionGraph()]


class PassOrder(LintRule):
    """A pass that partitions the module is missing, or runs after a pass that needs its result.

    The linter runs the pipeline in both orders, with PartitionGraph at the end if it has none: it
    reports a pipeline only if the usual order offloads more operators or composites, or as many in
    fewer regions.

    ## Why is this bad?
    AnnotateTarget annotates the composites that it finds. If MergeComposite runs after it, only
    single operators are annotated, and these annotations also prevent matches. MergeCompilerRegions
    only merges regions that are annotated before it. PartitionGraph only moves annotated operators
    into regions. Each pass runs without an error in any order, so no message reports the loss.

    ## What to do instead
    Run MergeComposite, AnnotateTarget, MergeCompilerRegions and PartitionGraph in this order.

    ## References
    TVM 0.16, python/tvm/relay/op/contrib: each partition_for_ function has this order.
    """

    code, name = "BYL040", "pass-order"
    severity = Severity.WARNING
    VALID = (Sample(_TEXT, pipeline=_right), Sample(_ANNOTATED, pipeline=_without_annotation))
    INVALID = tuple(
        Sample(_TEXT, pipeline=p) for p in (_late, _too_late, _merged_first, _without_annotation)
    )

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        given = [p for p in context.running if isinstance(p, ORDER)]
        if context.has(PartitionGraph) and not context.has(AnnotateTarget):
            yield from self._not_annotated(mod, context)
        swapped = next(((a, b) for a, b in pairwise(given) if _rank(a) > _rank(b)), None)
        if swapped is None:
            return
        usual = sorted(given, key=_rank)
        rest = iter(usual)
        moved = [next(rest) if isinstance(p, ORDER) else p for p in context.running]
        last = () if any(isinstance(p, PartitionGraph) for p in given) else (PartitionGraph(),)
        here, there = (_offloaded(mod, [*passes, *last]) for passes in (context.running, moved))
        if here is None or there is None or not there.exceeds(here):
            return
        ends = ", with PartitionGraph at the end," if last else ""
        first, second = (p.info.name for p in swapped)
        yield self.finding(
            f"the pipeline runs {first} before {second}, and{ends} offloads {here}; in the usual "
            f"order it offloads {there}",
            f"run {enumerated(p.info.name for p in usual)} in this order",
            None,
        )

    def _not_annotated(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        here = _offloaded(mod, context.running)
        given = any(is_annotation(n) for f in mod.functions.values() for n in post_order(f))
        if given or here is None or here.regions:
            return
        names = [context.backend.name] if context.backend is not None else []
        names += (p for name, *_ in context.table if (p := prefix_of(name)) is not None)
        target = repr(names[0]) if names else "the name of the back end"
        yield self.finding(
            "the pipeline runs PartitionGraph without AnnotateTarget, and no other pass annotates "
            "an operator for a back end: it offloads nothing",
            f"run AnnotateTarget({target}) before PartitionGraph",
            None,
        )


class _Offloaded(NamedTuple):
    operators: int
    composites: int
    regions: int

    @printable
    def __str__(self) -> str:
        inside = (self.composites, "composite"), (self.regions, "region")
        listed = enumerated(counted(n, what) for n, what in inside if n) if self.regions else ""
        return f"{counted(self.operators, 'operator')}{f' in {listed}' if listed else ''}"

    def exceeds(self, other: _Offloaded) -> bool:
        """Whether more is offloaded, and nothing less; or as much in fewer regions."""
        more = self.operators - other.operators, self.composites - other.composites
        return min(more) >= 0 and (max(more) > 0 or self.regions < other.regions)


def _rank(p: Pass) -> int:
    return next(n for n, kind in enumerate(ORDER) if isinstance(p, kind))


def _offloaded(mod: IRModule, passes: Sequence[Pass]) -> _Offloaded | None:
    """The operators and composites in regions after passes; None if a pass fails."""
    after = run_ahead(mod, passes)
    if after is None:
        return None
    regions = [f for f in after.functions.values() if "Compiler" in f.attrs]
    nodes = list(post_order(*regions))
    composites = sum(isinstance(n, Function) and "Composite" in n.attrs for n in nodes)
    operators = sum(isinstance(n, Call) and bool(n.op_name) for n in nodes)
    return _Offloaded(operators, composites, len(regions))
