"""Counts and times the regions of a program, independently of the statistics of their back ends.

The native DNNL runtime counts its own calls. For all other back ends, the host (TVM's virtual
machine) reports each function that it calls, through an instrument that the back end cannot
influence.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from threading import Lock
from typing import Any

from byoc_lab.errors import BuildError
from byoc_lab.relay.analysis.costs import Cost, operator_calls, tensor_types
from byoc_lab.relay.ir.expr import Function
from byoc_lab.run.backends import CompiledRegion
from byoc_lab.run.metering.cards import Cards, RegionCard, RegionErrors, RegionInfo
from byoc_lab.run.metering.op_cards import OpCard
from byoc_lab.run.metering.peak import machine_peak
from byoc_lab.run.metering.reported_stats import ReportedStats, reported_stats

NATIVE_KIND = "byoc_lab_dnnl"
CONVOLUTIONS = ("conv1d", "conv2d", "conv3d")  # operations with selectable layouts
# Called with a region's symbol and the inputs and outputs of a call.
Watcher = Callable[[str, Sequence[Any]], None]
IMPOSSIBLE = 8
"""A float32 kernel cannot reach this multiple of the measured peak rate: Winograd convolutions need
at best a quarter of the multiplications (Lavin and Gray, "Fast Algorithms for Convolutional Neural
Networks", F(4x4, 3x3)), and a factor of two allows for an imprecise clock."""


@dataclass(frozen=True)
class MeteredRegion:
    """A region, the module that was linked for it, and the back end's object that describes it.

    plain: whether all its tensors are float32, so that the limit `IMPOSSIBLE` applies.
    """

    facts: RegionInfo
    module: Any = None
    compiled: CompiledRegion | None = None
    plain: bool = False

    @property
    def native(self) -> bool:
        return self.module is not None and self.module.kind == NATIVE_KIND

    def stats(self) -> dict[str, Any]:
        """The statistics of the native runtime, or else those reported by the back end."""
        return self.reported().stats

    def reported(self) -> ReportedStats:
        """The statistics, and the reason if they are invalid."""
        if self.native:
            return ReportedStats(json.loads(self.module["get_stats"]()))
        return ReportedStats({}) if self.compiled is None else reported_stats(self.compiled)

    def set_profiling(self, on: bool) -> None:
        if self.native:
            self.module["set_profiling"](on)
        elif self.compiled is not None:
            self.compiled.set_profiling(on)


class Meter:
    """Counts and times the regions of one virtual machine, from its creation on.

    varying: whether runs may call different regions (branches, recursion); then every run is
    observed. Otherwise only the first run is observed, since later runs make the same calls. lock:
    held while the machine runs, because its instrument must not change then.
    """

    def __init__(
        self, machine: Any, regions: Sequence[MeteredRegion], lock: Lock, *, varying: bool
    ):
        self.runs = 0
        self._lock = lock
        self._machine = machine
        self._regions = tuple(regions)
        self._foreign = {
            r.facts.symbol for r in regions if r.facts.why is None and not r.native
        }  # symbols of regions whose calls the virtual machine counts
        self._always = varying and bool(self._foreign)
        self._timed = {r.facts.symbol for r in regions if r.facts.why is None}
        self._seen: dict[str, int] = dict.fromkeys(self._foreign, 0)
        self._before = {r.facts.symbol: r.stats()["calls"] for r in regions if r.native}
        self._watcher: Watcher | None = None
        self._a_run: dict[str, int] | None = None if self._foreign else {}
        self._started = 0.0
        self._seconds: dict[str, float] = {}
        self._ops_us: dict[str, list[float | None]] = {}
        self._contradictions: dict[str, tuple[str, ...]] = {}
        self._profilers = 0  # number of open `profiling` contexts in all threads
        if self._foreign:
            self._watch()

    def ran(self) -> None:
        """Called after each run, with the lock held."""
        self.runs += 1
        if self._a_run is None and not self._always:
            self._a_run = dict(self._seen)
            self._watch()

    def calls(self, symbol: str) -> int:
        """The number of calls of a region that the virtual machine counts."""
        if self._a_run is None or self._always:
            return self._seen[symbol]
        return self._a_run[symbol] * self.runs

    def _watch(self) -> None:
        """Start or stop observing the calls of the virtual machine, as currently needed. Requires
        the lock."""
        wanted = (
            self._always or self._a_run is None or self._profilers > 0 or self._watcher is not None
        )
        self._machine.set_instrument(self._observed if wanted else None)

    def _observed(self, function: Any, symbol: str, before: bool, result: Any, *args: Any) -> None:
        """Called by the virtual machine around each call that it makes."""
        if symbol not in self._timed:
            return
        if before:
            self._started = time.perf_counter()
        else:
            self._seconds[symbol] = time.perf_counter() - self._started
            if symbol in self._seen:
                self._seen[symbol] += 1
            if self._watcher is not None:
                self._watcher(symbol, args)

    @contextmanager
    def watched(self, watcher: Watcher) -> Iterator[None]:
        """Inside the context, `watcher` is called after each call of a region, with its tensors."""
        with self._lock:
            self._watcher = watcher
            self._watch()
        try:
            yield
        finally:
            with self._lock:
                self._watcher = None
                self._watch()

    @contextmanager
    def profiling(self) -> Iterator[None]:
        """Inside the context, calls of regions are timed, per operation if the back end supports
        it."""
        compiled = [r for r in self._regions if r.facts.compiled]
        with self._lock:
            before = {r.facts.symbol: r.stats().get("calls") for r in compiled if not r.native}
            counted = dict(self._seen)
            self._profilers += 1
            self._seconds.clear()
            self._watch()
            for region in compiled:
                region.set_profiling(True)
        try:
            yield
        finally:
            with self._lock:
                self._profilers -= 1
                self._watch()
                for region in compiled:
                    self._profiled(region, before, counted)

    def _profiled(
        self, region: MeteredRegion, before: Mapping[str, Any], counted: Mapping[str, int]
    ) -> None:
        """Record the times of a profiled call, and their contradictions to the back end's
        statistics."""
        stats, symbol = region.stats(), region.facts.symbol
        self._ops_us[symbol] = [op.get("time_us") for op in stats.get("ops", ())]
        if not self._profilers:
            region.set_profiling(False)
        found = []
        if not region.native:
            now = self._seen[symbol] - counted[symbol]
            found += _calls_contradicted(stats.get("calls"), before[symbol], now)
        found += self._times_contradicted(region)
        self._contradictions[symbol] = tuple(found)

    def _times_contradicted(self, region: MeteredRegion) -> list[str]:
        """Contradictions in the times of the last profiled call."""
        symbol, found = region.facts.symbol, []
        took = self._seconds.get(symbol)
        if took is None or region.native:
            return []
        own = sum(t for t in self._ops_us[symbol] if t is not None) / 1e6
        if own > took:
            found.append(
                f"{region.facts.compiler} reports that its kernels took {own * 1e6:,.0f} us, "
                f"but the whole call took {took * 1e6:,.0f} us"
            )
        flops = region.facts.flops
        peak = machine_peak()
        if flops and region.plain and flops > IMPOSSIBLE * peak.flops_per_second * took:
            found.append(
                f"{flops:,} FLOP in {took * 1e6:,.0f} us are more than {IMPOSSIBLE} times this "
                f"machine's peak of {peak}: it cannot have computed its operators"
            )
        return found

    def cards(self, errors: Mapping[str, RegionErrors], host: Cost | None) -> Cards:
        """A card for each region. errors: found by `validate`, by symbol."""
        return Cards([self._card(r, errors.get(r.facts.symbol)) for r in self._regions], host)

    def _card(self, region: MeteredRegion, errors: RegionErrors | None) -> RegionCard:
        facts = region.facts
        if facts.why is not None:
            return RegionCard(facts, self.runs, errors=errors)
        stats, fault = region.reported()
        ops = stats.get("ops", ())
        times = self._ops_us.get(facts.symbol, [None] * len(ops))
        if region.native:
            calls = stats["calls"] - self._before[facts.symbol]
        else:
            calls = self.calls(facts.symbol)
        contradictions = self._contradictions.get(facts.symbol, ())
        if not region.native and not contradictions:
            contradictions = tuple(_calls_contradicted(stats.get("calls"), 0, calls, at_least=True))
        if fault:
            contradictions = (*contradictions, fault)
        if len(times) != len(ops):
            times = [None] * len(ops)
        seconds = self._seconds.get(facts.symbol) if facts.compiled else None
        return RegionCard(
            facts,
            calls,
            native=region.native,
            threads=stats.get("threads"),
            ops=tuple(OpCard.of(op, t) for op, t in zip(ops, times, strict=True)),
            layouts=_layouts(stats) if region.native else None,
            call_us=None if seconds is None else seconds * 1e6,
            errors=errors,
            contradictions=contradictions,
            library=stats.get("library") if region.native else None,
        )


def _layouts(stats: Mapping[str, Any]) -> str | None:
    """The layouts that convolutions write, the most frequent one first, and how they were chosen:
    "nChw16c, acdb; measured (any 40 us, mixed 38 us)"."""
    found = Counter(op["dst_layout"] for op in stats["ops"] if op["kind"] in CONVOLUTIONS)
    if not found:
        return None
    tried = ", ".join(f"{way} {us:.0f} us" for way, us in sorted(stats["layout_times_us"].items()))
    times = f" ({tried})" if tried else ""
    return f"{', '.join(name for name, _ in found.most_common())}; {stats['layout_rule']}{times}"


def _calls_contradicted(
    after: object, before: object, counted: int, *, at_least: bool = False
) -> list[str]:
    """The contradiction, if a back end reports a different number of calls than was counted.

    at_least: a larger reported number is not a contradiction, because callers other than the
    virtual machine may call the region.
    """
    if not isinstance(after, int) or not isinstance(before, int):
        return []
    said = after - before
    if said == counted or (at_least and said > counted):
        return []
    return [f"its back end reports {said} calls, but {counted} were counted"]


def library_metadata(regions: Sequence[MeteredRegion], varying: bool, host: Cost) -> bytes:
    """Metadata of an exported library, as JSON: the information about its module that cards
    show."""
    rows = [{"facts": asdict(r.facts), "plain": r.plain} for r in regions]
    return json.dumps({"regions": rows, "varying": varying, "host": asdict(host)}).encode()


def library_meter(machine: Any, module: Any, metadata: bytes, lock: Lock) -> tuple[Meter, Cost]:
    """The meter of an exported library, and the cost of its host part.

    Its modules of the native runtime count their own calls. Raises BuildError for metadata that
    `library_metadata` did not write.
    """
    try:
        found = json.loads(metadata)
        varying, host = bool(found["varying"]), Cost(**found["host"])
        rows = [(RegionInfo(**row["facts"]), bool(row["plain"])) for row in found["regions"]]
    except (ValueError, KeyError, TypeError) as error:
        raise BuildError(f"the library metadata is invalid: {error!r:.200}") from error
    native = native_modules(module)
    regions = [MeteredRegion(f, native.get(f.symbol), None, plain) for f, plain in rows]
    return Meter(machine, regions, lock, varying=varying), host


def native_modules(module: Any) -> dict[str, Any]:
    """The modules of the native runtime that a compiled module imports, by symbol."""
    found = {}
    todo = [module]
    while todo:
        part = todo.pop()
        todo.extend(part.imports)
        if part.kind == NATIVE_KIND:
            found[str(part["get_symbol"]())] = part
    return found


def only_float32(function: Function) -> bool:
    """Whether the results of all operators of a typed function are float32."""
    results = (t for c in operator_calls(function) for t in tensor_types(c.checked_type))
    return all(ty.dtype == "float32" for ty in results)
