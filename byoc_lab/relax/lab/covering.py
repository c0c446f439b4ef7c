"""`relax.coverage`: the share of a Relax module that DNNL computes, and changes that would alter
it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from byoc_lab.errors import ArgumentError, counted
from byoc_lab.lab.checking.coverage import Coverage, RegionSize
from byoc_lab.lab.checking.coverage_changes import (
    SMALLEST_REGIONS,
    CoverageChange,
    Totals,
    those_that_matter,
)
from byoc_lab.lab.explaining import Explanations
from byoc_lab.relax import backends
from byoc_lab.relax.backends import RelaxBackend
from byoc_lab.relax.ir.batch import NOMINAL, unknown_sizes
from byoc_lab.relax.ir.calls import (
    CODEGEN,
    checked_relax,
    host_functions,
    operator_calls,
    region_calls,
    region_functions,
)
from byoc_lab.relax.lab.costs import host_cost, region_facts
from byoc_lab.relax.lab.explaining import explain
from byoc_lab.relax.partition import (
    TARGET,
    partitioning_passes,
    preparing_passes,
)
from byoc_lab.relax.reference import region_if_any
from byoc_lab.run.metering.cards import RegionFacts
from byoc_lab.run.tvm_runtime import import_tvm


def coverage(mod: Any, target: str = TARGET) -> Coverage:
    """Measure how much of a Relax module a back end computes, what stays on the host and why, and
    what would change that.

    mod: a module before partitioning. target: as for `explain`. Operators are those of Relax that
    the passes in front of the partitioning leave; floating-point operations those of their
    counterparts in Relay, not known for an operator without one. Where the batch is not known, they
    and the bytes are those of a batch of `batch.NOMINAL`. Causes and changes are computed when they
    are first looked at.

    Raises ArgumentError for something else than a module of Relax before partitioning, and what
    `explain` raises.
    """
    mod = checked_relax(mod, "relax.coverage")
    backend = backends.get(target)
    done = list(region_functions(mod))
    if done:
        raise ArgumentError(
            f"relax.coverage takes a module before partitioning, and its @{done[0]} is a region "
            f"already; give the module that was partitioned"
        )
    cut = backend.partition(mod)
    regions = [RegionSize(f.symbol, f.operators, f.flops, f.bytes) for f in _facts(cut)]
    assumed = " and ".join(
        f"{name} = {NOMINAL}"
        for name, places in unknown_sizes(mod["main"]).items()
        if any(axis == 0 for _, axis in places)
    )
    return Coverage(target, totals(cut), regions, _Source(mod, cut, backend), cut, assumed)


def totals(cut: Any) -> Totals:
    """The sums over a partitioned Relax module."""
    facts = _facts(cut)
    outside = host_cost(c for f in host_functions(cut) for c in operator_calls(f))
    sizes = [None if f.bytes is None else f.bytes * f.sites for f in facts]
    known = sum(f.module_flops for f in facts)
    inside = sum(f.operators * f.sites for f in facts)
    return Totals(
        operators=inside + outside.calls,
        offloaded=inside,
        flops=known + outside.flops,
        offloaded_flops=known,
        regions=len(facts),
        smallest=min((f.operators for f in facts), default=0),
        bytes=None if None in sizes else sum(s for s in sizes if s is not None),
        unknown=outside.unknown + sum(f.operators * f.sites for f in facts if f.flops is None),
    )


def _facts(cut: Any) -> list[RegionFacts]:
    sites = Counter(region_calls(cut))
    return [
        region_facts(
            symbol, str(function.attrs[CODEGEN]), function, region_if_any(function), sites[symbol]
        )
        for symbol, function in region_functions(cut).items()
    ]


@dataclass(frozen=True)
class _Source:
    """Of a module of Relax: mod, and cut, the same partitioned."""

    mod: Any
    cut: Any
    backend: RelaxBackend

    def explained(self) -> Explanations[Any]:
        return explain(self.mod, self.backend.name)

    def changes(self, before: Totals) -> tuple[CoverageChange, ...]:
        return those_that_matter(self._attempts(), before)

    def _attempts(self) -> Iterator[CoverageChange]:
        for least in SMALLEST_REGIONS:
            what = f"regions of at least {counted(least, 'operator')}"
            yield CoverageChange(what, totals(without_small_regions(self.cut, least)))
        for what, passes in _pipelines(self.backend):
            yield _run(what, self.mod, passes)


def _pipelines(backend: RelaxBackend) -> Iterator[tuple[str, list[Any]]]:
    """The pattern table in another order, passes in another order, and with one more or less."""
    transform, dataflow = import_tvm().relax.transform, "ConvertToDataflow(min_size=1) before it"
    if backend.passes is not None:
        yield dataflow, [transform.ConvertToDataflow(1), *backend.passes()]
        return
    table, before = list(backend.table()), preparing_passes()
    yield "the pattern table in reverse order", [*before, *partitioning_passes(table[::-1])]

    def after() -> list[Any]:
        return partitioning_passes(table)

    yield dataflow, [transform.ConvertToDataflow(1), *before, *after()]
    names = [str(p.info.name) for p in before]
    for n, name in enumerate(names):
        yield f"without {name}", [*before[:n], *before[n + 1 :], *after()]
    for n in range(len(names) - 1):
        swapped = [*before[:n], before[n + 1], before[n], *before[n + 2 :]]
        yield f"{names[n + 1]} before {names[n]}", [*swapped, *after()]
    fuse, merge = after()
    yield f"{names[-1]} after {fuse.info.name}", [*before[:-1], fuse, before[-1], merge]


def _run(what: str, mod: Any, passes: list[Any]) -> CoverageChange:
    tvm = import_tvm()
    try:
        return CoverageChange(what, totals(tvm.transform.Sequential(passes)(mod)))
    except (RuntimeError, ValueError, TypeError) as error:
        return CoverageChange(what, None, str(error).strip().splitlines()[-1][:200])


def without_small_regions(cut: Any, least: int) -> Any:
    """A partitioned module whose regions of fewer operators are back in the functions that call
    them."""
    tvm = import_tvm()
    small = {
        symbol: cut[symbol]
        for symbol, function in region_functions(cut).items()
        if sum(1 for _ in operator_calls(function)) < least
    }
    functions = {}
    for gv, function in cut.functions.items():
        if gv.name_hint in small:
            continue
        inlines = isinstance(function, tvm.relax.Function)
        functions[gv] = function.inline_functions(small) if inlines and small else function
    return tvm.IRModule(functions)
