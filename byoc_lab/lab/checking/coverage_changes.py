"""Changes that may alter the coverage: opt_level, minimum region sizes, the order of patterns and
of passes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple, TypeVar

from byoc_lab.errors import ArgumentError, ByocLabError, counted, kind_of
from byoc_lab.lab.explaining.setups import Setup
from byoc_lab.lab.explaining.unfolding import unfolded
from byoc_lab.passes.byoc.inline_regions import InlineRegions
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.fold.fold_scale_axis import FoldScaleAxis
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.simplify.simplify_inference import SimplifyInference
from byoc_lab.printing import percent, printable
from byoc_lab.relay.analysis.annotations import DEFAULT, is_annotation
from byoc_lab.relay.analysis.costs import Cost, boundary_bytes, cost, cost_of, operator_calls
from byoc_lab.relay.analysis.recomputed import call_sites, doubled
from byoc_lab.relay.ir.expr import Call, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module

T = TypeVar("T")
SMALLEST_REGIONS = (2, 3, 5, 10)
"""Minimum numbers of operators in a region, each tried in a separate run."""
FOLDS_SCALES = max(p.opt_level for p in FoldScaleAxis().passes)
"""The level at which FoldScaleAxis runs its members."""


@dataclass(frozen=True)
class Totals:
    """Sums over a partitioned module.

    operators, flops: the work of the network; an operator with copies counts once. offloaded,
    offloaded_flops: the part that only regions of the back end compute. regions: the number of
    regions. smallest: the number of operators in the smallest region. bytes: the bytes that cross
    region boundaries in one run; None if a shape is not known. unknown: the number of operators
    whose floating-point operations are not known. again, again_flops: the copies, computed in
    addition because a match includes an operator whose value is also used outside. Equal calls that
    the module had before partitioning count separately.
    """

    operators: int
    offloaded: int
    flops: int
    offloaded_flops: int
    regions: int
    smallest: int
    bytes: int | None
    unknown: int
    again: int = 0
    again_flops: int = 0

    @property
    def share(self) -> float:
        """The offloaded share of the floating-point operations, 0 to 1."""
        return self.offloaded_flops / self.flops if self.flops else 0.0

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "share": self.share}

    @printable
    def __str__(self) -> str:
        size = "unknown" if self.bytes is None else f"{self.bytes:,}"
        known = self.flops or not self.unknown
        work = f" and {percent(self.share)} of {self.flops:,} FLOP" if known else ""
        found = (
            f"{self.offloaded} of {counted(self.operators, 'operator')}{work} offloaded in "
            f"{counted(self.regions, 'region')}, {size} bytes across boundaries"
        )
        if self.unknown:
            found += f"; the FLOP of {counted(self.unknown, 'operator')} are not known"
        if self.again:
            found += (
                f"; {counted(self.again, 'operator')} computed a second time, "
                f"{self.again_flops:,} FLOP in addition"
            )
        return found


class Region(NamedTuple):
    """A region of a partitioned module: cost and boundary bytes of one call; None if a shape is not
    known. sites: the number of its calls in the module."""

    symbol: str
    cost: Cost
    bytes: int | None
    sites: int


class Copies(NamedTuple):
    """The cost of duplicated calls. all: the calls that partitioning added. inside: the duplicated
    calls in regions, which do not count as offloaded."""

    all: Cost = Cost()
    inside: Cost = Cost()


class Work(NamedTuple):
    """The work of a partitioned module. host: the cost of the operators outside of its regions.
    repeated: the functions other than regions with several calls, whose work counts once."""

    regions: list[Region]
    host: Cost
    copies: Copies = Copies()
    repeated: tuple[str, ...] = ()

    @property
    def totals(self) -> Totals:
        """The sums over the module."""
        regions, host, copies, _ = self
        inside = sum((r.cost * r.sites for r in regions), Cost())
        sizes = [None if r.bytes is None else r.bytes * r.sites for r in regions]
        return Totals(
            operators=inside.calls + host.calls - copies.all.calls,
            offloaded=inside.calls - copies.inside.calls,
            flops=inside.flops + host.flops - copies.all.flops,
            offloaded_flops=inside.flops - copies.inside.flops,
            regions=len(regions),
            smallest=min((r.cost.calls for r in regions), default=0),
            bytes=None if None in sizes else sum(s for s in sizes if s is not None),
            unknown=inside.unknown + host.unknown - copies.all.unknown,
            again=copies.all.calls,
            again_flops=copies.all.flops,
        )


@dataclass(frozen=True)
class CoverageChange:
    """A change of the pipeline that was tried: the change in words and the resulting totals. If the
    changed pipeline fails, totals is None and `error` has the reason.

    setup: the module, passes and PassContext of the run (None for a module of TVM's Relax).
    """

    what: str
    totals: Totals | None
    error: str = ""
    setup: Setup | None = field(default=None, repr=False, compare=False)

    @printable
    def __str__(self) -> str:
        return f"{self.what}: {self.totals or f'the pipeline fails: {self.error}'}"


def setup_of(mod: IRModule | Function, backend: str, pipeline: Any) -> Setup:
    """The setup of the requested run. Raises ArgumentError and UnknownNameError."""
    if isinstance(mod, Function):
        mod = IRModule.from_expr(mod)
    if not isinstance(mod, IRModule):
        raise ArgumentError(
            f"coverage takes a module and the name of a back end, coverage(mod, 'dnnl'), found "
            f"{kind_of(mod)} as the module"
        )
    done = [(gv, f.attrs["Compiler"]) for gv, f in mod.functions.items() if "Compiler" in f.attrs]
    marked = any(is_annotation(n) for f in mod.functions.values() for n in post_order(f))
    if pipeline is None and (done or marked):
        what = "it has annotations already"
        if done:
            gv, compiler = done[0]
            kind = "is a region" if compiler != DEFAULT else f"has Compiler={DEFAULT!r}"
            what = f"its @{gv.name_hint} {kind} already"
        raise ArgumentError(
            f"coverage takes a module before partitioning, and {what}; give the input module of "
            f"the pipeline"
        )
    return unfolded(Setup.asked(infer_module(mod), backend, pipeline))


def work_of(result: IRModule, backend: str, before: IRModule) -> Work:
    """The work of a partitioned module. before: the module that the passes partitioned."""
    inside = {gv: f for gv, f in result.functions.items() if f.attrs.get("Compiler") == backend}
    sites = call_sites(result)
    return Work(
        [
            Region(gv.name_hint, cost(f), boundary_bytes(f), sites[gv.name_hint])
            for gv, f in inside.items()
        ],
        sum((cost(f) for gv, f in result.functions.items() if gv not in inside), Cost()),
        _copies(result, before, {c for f in inside.values() for c in operator_calls(f)}),
        tuple(
            gv.name_hint for gv in result.functions if gv not in inside and sites[gv.name_hint] > 1
        ),
    )


def _copies(result: IRModule, before: IRModule, inside: set[Call]) -> Copies:
    every = within = Cost()
    for value in doubled(result, before):
        one = cost_of(value.calls[0])
        every += one * value.more
        within += one * min(value.more, sum(call in inside for call in value.calls))
    return Copies(every, within)


def attempts(setup: Setup, backend: str) -> Iterator[CoverageChange]:
    """All changes, each tried in a run."""
    ready = _Ready(setup)
    return (ready.run(what, changed, backend) for what, changed in _changed(ready, backend))


def effective_changes(
    attempts: Iterable[CoverageChange], before: Totals
) -> tuple[CoverageChange, ...]:
    """The changes with totals other than `before`, the most work offloaded first; of changes with
    equal totals only the first one. Then the changes that make the pipeline fail."""
    found: dict[Totals, CoverageChange] = {}
    failed = []
    for change in attempts:
        if change.totals is None:
            failed.append(change)
        elif change.totals != before:
            found.setdefault(change.totals, change)
    best = sorted(found.items(), key=lambda item: (-item[0].offloaded_flops, item[0].regions))
    return (*(change for _, change in best), *failed)


class _Ready:
    """Caches the module before each pass of a run, so that a changed run starts at the changed
    pass."""

    def __init__(self, setup: Setup):
        self.setup = setup
        self._modules = [setup.mod]

    def before(self, position: int) -> IRModule:
        """The module before the pass at `position`; the final module if `position` is the number of
        passes."""
        while len(self._modules) <= position:
            done = len(self._modules) - 1
            self._modules.append(self.setup.result(self._modules[-1], done, done + 1))
        return self._modules[position]

    def run(self, what: str, changed: Setup, backend: str) -> CoverageChange:
        """The totals of a changed run."""
        new = zip(changed.passes, changed.contexts, strict=True)
        given = zip(self.setup.passes, self.setup.contexts, strict=True)
        same = sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(new, given, strict=False))
        )
        try:
            start = changed.partitioning
            if same < start:
                before = changed.result(self.before(same), same, start)
                result = changed.result(before, start)
            else:
                before, result = self.before(start), changed.result(self.before(same), same)
            found = work_of(infer_module(result), backend, before).totals
            return CoverageChange(what, found, setup=changed)
        except ByocLabError as error:
            return CoverageChange(what, None, str(error).partition("\n")[0][:200], changed)


def _changed(ready: _Ready, backend: str) -> Iterator[tuple[str, Setup]]:
    setup = ready.setup
    needed = (context.needed_level(p.info) for p, context in setup.skipped())
    for level in sorted({level for level in needed if level is not None}):
        yield f"PassContext(opt_level={level})", setup.at_level(level)
    for least in SMALLEST_REGIONS:
        prune = InlineRegions(backend, partial(_why_small, least=least))
        yield (
            f"regions of at least {counted(least, 'operator')}",
            setup.with_pass(len(setup.passes), prune),
        )
    yield from _pattern_orders(ready)
    yield from _pass_orders(setup)


def _why_small(function: Function, least: int) -> str | None:
    calls = cost(function).calls
    return f"has {counted(calls, 'operator')}, fewer than {least}" if calls < least else None


def _pattern_orders(ready: _Ready) -> Iterator[tuple[str, Setup]]:
    """The pattern table in reverse order; then each later entry that matches something, moved to
    the front. Moving an entry that matches nothing changes nothing."""
    setup = ready.setup
    found = setup.first(MergeComposite)
    if found is None:
        return
    position, merge = found
    table = list(merge.table)
    yield (
        "the pattern table in reverse order",
        setup.replacing(position, MergeComposite(table[::-1])),
    )
    mod = ready.before(position)
    for n in range(1, len(table)):
        if MergeComposite([table[n]])(mod) is not mod:
            order = [table[n], *table[:n], *table[n + 1 :]]
            yield (
                f"the pattern {table[n][0]} first",
                setup.replacing(position, MergeComposite(order)),
            )


def _pass_orders(setup: Setup) -> Iterator[tuple[str, Setup]]:
    """Simplifications before all passes, each pass left out, and adjacent passes swapped."""
    names = [_name(p) for p in setup.passes]
    simplify = [InferType(), SimplifyInference(), FoldConstant(), FoldScaleAxis(), FoldConstant()]
    if "SimplifyInference" not in names:
        what = "SimplifyInference, FoldConstant and FoldScaleAxis before it"
        if setup.context_at(0).opt_level < FOLDS_SCALES:
            what += f", under PassContext(opt_level={FOLDS_SCALES})"
        yield what, setup.at_level(FOLDS_SCALES).with_pass(0, *simplify)
    for what, passes in pass_orders(setup.passes, names, ("InferType", PartitionGraph.__name__)):
        yield what, replace(setup, passes=tuple(passes))


def pass_orders(
    passes: Sequence[T], names: Sequence[str], needed: Collection[str]
) -> Iterator[tuple[str, list[T]]]:
    """Each pass left out, unless it is needed, and adjacent passes swapped."""
    for n, name in enumerate(names):
        if name not in needed:
            yield f"without {name} (pass {n})", [*passes[:n], *passes[n + 1 :]]
    for n in range(len(names) - 1):
        if names[n] != names[n + 1]:
            swapped = [*passes[:n], passes[n + 1], passes[n], *passes[n + 2 :]]
            yield f"{names[n + 1]} before {names[n]} (pass {n})", swapped


def _name(member: Any) -> str:
    return str(getattr(member, "name", None) or getattr(member, "__name__", "a function"))
