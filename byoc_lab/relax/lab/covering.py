"""`relax.coverage`: the share of a Relax module that a back end computes, and changes that would
increase it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from byoc_lab.errors import ArgumentError, ByocLabError, counted
from byoc_lab.lab.checking.coverage import Coverage
from byoc_lab.lab.checking.coverage_changes import (
    SMALLEST_REGIONS,
    CoverageChange,
    Region,
    Work,
    pass_orders,
)
from byoc_lab.relax.backends import RelaxBackend
from byoc_lab.relax.ir.batch import NOMINAL, unknown_sizes
from byoc_lab.relax.ir.calls import (
    COMPOSITE,
    called_functions,
    checked_relax,
    functions_of,
    lowered_in,
    operator_calls,
    region_functions,
)
from byoc_lab.relax.lab.costs import host_work
from byoc_lab.relax.lab.explaining import explain
from byoc_lab.relax.partition import TARGET, partitioning_passes, preparing_passes
from byoc_lab.relax.passes import FUSES, MERGES, applied
from byoc_lab.relax.pipelines import backend_of
from byoc_lab.relax.reference import region_if_any
from byoc_lab.relay.analysis.costs import Cost, boundary_bytes, cost
from byoc_lab.run.tvm_runtime import import_tvm


def coverage(mod: Any, target: str = TARGET, pipeline: Any = None) -> Coverage:
    """Measure how much of a Relax module a back end computes, what stays on the host and why, and
    what would change that.

    mod: a module before partitioning. target, pipeline: as for `explain`. The operators are counted
    after the passes that precede the partitioning. Floating-point operations come from the
    operators' counterparts in Relay; they are unknown for an operator without a counterpart. If the
    batch is unknown, operations and bytes are given for a batch of `batch.NOMINAL`. Causes and
    changes are computed on first access.

    Raises ArgumentError unless `mod` is a Relax module before partitioning, and the errors of
    `explain`.
    """
    mod = checked_relax(mod, "relax.coverage")
    backend = backend_of(target, pipeline, mod)
    done = list(region_functions(mod))
    if done:
        raise ArgumentError(
            f"relax.coverage takes a module before partitioning, but @{done[0]} is already a "
            "region; give the module before partitioning"
        )
    cut = backend.partition(mod)
    assumed = " and ".join(
        f"{name} = {NOMINAL}"
        for name, places in unknown_sizes(mod["main"]).items()
        if any(axis == 0 for _, axis in places)
    )
    tried = partial(_attempts, mod, cut, backend)
    return Coverage(
        target, work_of(cut), cut, partial(explain, mod, target, pipeline), tried, assumed
    )


def work_of(cut: Any) -> Work:
    """The work of a partitioned Relax module: in regions and on the host."""
    sites = Counter(called_functions(cut))
    inside = region_functions(cut)
    regions = [Region(s, *_cost(function), sites[s]) for s, function in inside.items()]
    repeated = [
        name
        for name, function in functions_of(cut)
        if sites[name] > 1
        and name not in inside
        and not (function.attrs and COMPOSITE in function.attrs)
    ]
    return Work(regions, host_work(cut), repeated=tuple(repeated))


def _cost(function: Any) -> tuple[Cost, int | None]:
    """The cost of one call of a region, and the bytes that cross the region's boundary in that
    call."""
    count, made = sum(1 for _ in operator_calls(function)), region_if_any(function)
    if made is None:
        return Cost(0, count, count), None
    return replace(cost(made), calls=count), boundary_bytes(made)


def _attempts(mod: Any, cut: Any, backend: RelaxBackend) -> Iterator[CoverageChange]:
    """The tried changes. cut: the module after partitioning."""
    for least in SMALLEST_REGIONS:
        what = f"regions of at least {counted(least, 'operator')}"
        yield CoverageChange(what, work_of(without_small_regions(cut, least)).totals)
    for what, passes in _pipelines(backend, mod):
        yield _run(what, mod, passes)


def _pipelines(backend: RelaxBackend, mod: Any) -> Iterator[tuple[str, list[Any]]]:
    """Changed pipelines: the pattern table reversed, passes reordered, added or removed."""
    dataflow = import_tvm().relax.transform.ConvertToDataflow(1)
    passes = None if backend.passes is None else list(backend.passes())
    if passes is None:
        table, before = list(backend.table()), preparing_passes(mod)
        reverse = [*before, *partitioning_passes(table[::-1], mod)]
        yield "the pattern table in reverse order", reverse
        passes = [*before, *partitioning_passes(table, mod)]
    names = [str(p.info.name) for p in passes]
    yield from pass_orders(passes, names, (FUSES, MERGES))
    yield "ConvertToDataflow(min_size=1) before it", [dataflow, *passes]


def _run(what: str, mod: Any, passes: list[Any]) -> CoverageChange:
    try:
        made = applied(passes, mod, "coverage")
    except ByocLabError as error:
        return CoverageChange(what, None, str(error)[:200])
    for symbol, function in region_functions(made).items():
        if lowered := lowered_in(function):
            refused = f"@{symbol} has {' and '.join(lowered)} instead of operators"
            return CoverageChange(what, None, refused)
    return CoverageChange(what, work_of(made).totals)


def without_small_regions(cut: Any, least: int) -> Any:
    """A partitioned module in which regions with fewer operators than `least` are inlined into
    their callers."""
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
