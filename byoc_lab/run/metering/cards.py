"""Region cards: for each region its device, number of calls, kernels and performance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from byoc_lab.display import VIEW, text_in_full
from byoc_lab.errors import ArgumentError, OffloadError, counted
from byoc_lab.markup import Markup, escaped, table
from byoc_lab.printing import percent, printable
from byoc_lab.relay.analysis.costs import Cost, boundary_bytes, cost, main_dtype
from byoc_lab.relay.ir.expr import Function
from byoc_lab.run.metering.op_cards import OpCard
from byoc_lab.run.metering.peak import machine_peak
from byoc_lab.run.stand_in import NUMPY
from byoc_lab.run.symbols import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEAD = (
    "region", "ran on", "calls", "operators", "kernels", "time", "FLOP", "GFLOP/s",
    "of matmul rate", "bytes in and out", "largest error", "nearest to its tolerance",
)  # fmt: skip
NUMBERS = tuple(range(2, len(HEAD)))  # columns aligned to the right
HOST = "llvm"


@dataclass(frozen=True)
class RegionInfo:
    """Static properties of a region.

    compiler: the back end that it was partitioned for. why: the reason why TVM compiled it instead;
    None if the back end did. operators: the number of its operator calls, 0 if only compiled code
    is known. flops: floating-point operations per call of the region, by the operators' cost
    formulas; None if one of them is unknown. bytes: the size of its inputs and outputs in each
    call; None if a shape is unknown. dtype: of the data of its most expensive operator; the
    region's rate is compared with the peak for this dtype. sites: the number of its calls in the
    module. stand_in: the sentence that NumPy replaces the missing library of the back end, or TVM,
    if it does.
    """

    symbol: str
    compiler: str
    why: str | None
    operators: int
    flops: int | None = None
    bytes: int | None = None
    dtype: str = "float32"
    sites: int = 1
    stand_in: str | None = None

    @classmethod
    def of(
        cls,
        function: Function,
        symbol: str,
        compiler: str,
        why: str | None = None,
        operators: int | None = None,
        stand_in: str | None = None,
    ) -> RegionInfo:
        """The information of a typed Relay function. operators: the number of calls to report, if
        it differs."""
        found = cost(function)
        return cls(
            symbol,
            compiler,
            why,
            found.calls if operators is None else operators,
            None if found.unknown else found.flops,
            boundary_bytes(function),
            main_dtype(function) or "float32",
            stand_in=stand_in,
        )

    @property
    def module_flops(self) -> int:
        """Floating-point operations of all its calls in the module, if known."""
        return (self.flops or 0) * self.sites

    @property
    def ran_on(self) -> str:
        if self.stand_in is not None:
            return NUMPY
        return self.compiler if self.why is None else HOST

    @property
    def why_not_compiled(self) -> str | None:
        """The reason that the back end's code does not compute it; None if it does."""
        return self.why or self.stand_in

    @property
    def compiled(self) -> bool:
        """Whether code of its back end computes it."""
        return self.why_not_compiled is None


@dataclass(frozen=True)
class RegionErrors:
    """Errors of a region's results that `validate` found.

    largest: the largest error of all elements. nearest, tolerance: error and tolerance of the
    element with the largest error relative to its tolerance.
    """

    largest: float
    nearest: float
    tolerance: float


@dataclass(frozen=True)
class RegionCard:
    """One region: its static information, and the counts and times of its runs.

    calls: the number of calls so far, counted by the native runtime (`native`) or by TVM's virtual
    machine, never by the back end. ops: its operations, as the native runtime or else the back end
    reports them. layouts: the output layouts of its convolutions and how they were chosen, as the
    native runtime reports them; None without convolutions. library: the library that the native
    runtime loaded, with its version ("oneDNN 3.2.0"); None for other code. call_us: the wall-clock
    time of the last profiled call. errors: None before `validate`. contradictions: differences
    between the statistics that the back end reports and the counted calls and measured times.
    """

    facts: RegionInfo
    calls: int
    native: bool = False
    threads: int | None = None
    ops: tuple[OpCard, ...] = field(default=(), repr=False)
    layouts: str | None = None
    call_us: float | None = None
    errors: RegionErrors | None = None
    contradictions: tuple[str, ...] = ()
    library: str | None = None

    @property
    def symbol(self) -> str:
        return self.facts.symbol

    @property
    def compiler(self) -> str:
        return self.facts.compiler

    @property
    def ran_on(self) -> str:
        """Its compiler; or "llvm" or "NumPy", with the reason in `why_not_offloaded`."""
        return self.facts.ran_on

    @property
    def why(self) -> str | None:
        return self.facts.why

    @property
    def why_not_offloaded(self) -> str | None:
        return self.facts.why_not_compiled

    @property
    def operators(self) -> int:
        return self.facts.operators

    @property
    def offloaded(self) -> bool:
        return self.facts.compiled

    @property
    def warning(self) -> str:
        """A warning that the host would probably be faster, if the native runtime reports
        operations that run unoptimized loops; else ""."""
        ops = [op for op in self.ops if op.is_slow] if self.native else []
        named = ", ".join(f"{op.name} ({', '.join(op.slow_impls)})" for op in ops)
        why = "offloaded, probably slower than the host would be: oneDNN runs plain loops for"
        return f"{why} {named}" if ops else ""

    @property
    def time_us(self) -> float | None:
        """The time of the last profiled call: the sum over its operations if the native runtime
        timed them, else of the whole call."""
        times = [op.time_us for op in self.ops if op.time_us is not None] if self.native else []
        return sum(times) if times else self.call_us

    @property
    def gflops(self) -> float | None:
        """10^9 floating-point operations per second in the last profiled call; None without a
        profiled call."""
        if not self.time_us or self.facts.flops is None:
            return None
        return self.facts.flops / self.time_us / 1e3

    @property
    def share_of_peak(self) -> float | None:
        """`gflops` as a share of the rate of a large matrix product of `facts.dtype`, measured in
        this process (`run.machine_peak`).

        It exceeds 1 for kernels that need fewer operations (Winograd), and if other processes used
        the processor while the matrix product was measured.
        """
        rate = self.gflops
        return (
            None if rate is None else rate * 1e9 / machine_peak(self.facts.dtype).flops_per_second
        )

    def cells(self) -> tuple[str, ...]:
        """The cells of its table row, in the order of HEAD."""
        why = "" if self.offloaded else f" (not on {self.compiler}: {self.why_not_offloaded})"
        rate, share, facts, errors = self.gflops, self.share_of_peak, self.facts, self.errors
        kernels = f"{len(self.ops)}{'' if self.native or not self.ops else ' (as it reports)'}"
        return (
            f"@{shown(self.symbol)}",
            self.ran_on + why,
            str(self.calls),
            str(self.operators) if self.operators else "",
            kernels if self.offloaded else "",
            f"{self.time_us:,.0f} us" if self.time_us is not None else "",
            f"{facts.flops:,}" if facts.flops is not None else "",
            f"{rate:.1f}" if rate is not None else "",
            f"{share:.0%}" if share is not None else "",
            f"{facts.bytes:,}" if facts.bytes is not None else "",
            f"{errors.largest:.1e}" if errors else "",
            f"{errors.nearest:.1e} of {errors.tolerance:.1e}" if errors else "",
        )

    @printable
    def __str__(self) -> str:
        name, where, _, _, _, took, flops, rate, share, size, largest, nearest = self.cells()
        parts = [
            f"{name}: {'ran' if self.calls else 'runs'} on {where}",
            counted(self.calls, "call"),
            counted(self.operators, "operator") if self.operators else "",
            took,
        ]
        parts.append(f"{flops} FLOP" if flops else "")
        parts.append(f"{rate} GFLOP/s ({share} of matmul rate)" if rate else "")
        parts.append(f"{size} bytes in and out" if size else "")
        if self.errors:
            parts.append(f"largest error {largest}, nearest to its tolerance {nearest}")
        said = "" if self.native or not self.ops else f"{self.compiler} says: "
        ops = (f"{said}{op}" for op in self.ops)
        return "\n  ".join([", ".join(filter(None, parts)), *ops, *self.remarks()])

    def remarks(self) -> list[str]:
        """Remarks on all of its operations together, one per line."""
        return [
            *([f"layouts of its convolutions: {self.layouts}"] if self.layouts else []),
            *(f"contradiction: {text}" for text in self.contradictions),
        ]


class Cards(Sequence[RegionCard]):
    """The cards of an executable; displays itself.

    host: the cost of the operators outside regions; None if unknown.
    """

    def __init__(self, cards: Sequence[RegionCard], host: Cost | None = None):
        self._cards = tuple(cards)
        self.host = host

    def __getitem__(self, index: Any) -> Any:
        return self._cards[index]

    def __len__(self) -> int:
        return len(self._cards)

    @property
    def offloaded_flops(self) -> int:
        """Floating-point operations of the regions that run on their back ends; regions of unknown
        cost count 0."""
        return _flops(c for c in self._cards if c.offloaded)

    @property
    def offloaded_share(self) -> float | None:
        """The regions' share of the operations of the whole module; None if these are unknown."""
        return self._share(self.offloaded_flops)

    def _share(self, flops: int) -> float | None:
        if self.host is None:
            return None
        total = self.host.flops + _flops(self._cards)
        return flops / total if total else 0.0

    def assert_offloaded(
        self,
        regions: int | None = None,
        min_flops: int | None = None,
        min_share: float | None = None,
        *,
        accept_numpy: bool = False,
    ) -> None:
        """Raise OffloadError unless there are regions and each has run on its back end.

        regions: the required number of regions. min_flops: the minimum of their floating-point
        operations in one run. min_share: the minimum share (0 to 1) of the module's floating-point
        operations. accept_numpy: also count regions that NumPy computed because a library is
        missing; this does not prove offload.

        Also raises OffloadError if the statistics that a back end reports contradict the counted
        calls or measured times. Raises ArgumentError for an invalid share.
        """
        if min_share is not None and not 0 <= min_share <= 1:
            raise ArgumentError(
                f"min_share must be a share from 0 to 1, found {min_share!r}; half is 0.5"
            )
        if not self._cards:
            raise OffloadError(
                "nothing is offloaded: @main calls no global external function; build a "
                "partitioned module, such as byoc_lab.backends.partition(mod, 'dnnl')"
            )
        accepted = [c for c in self._cards if c.offloaded or (accept_numpy and c.why is None)]
        wrong = [
            f"@{c.symbol} ran on {c.ran_on}, not {c.compiler}: {c.why_not_offloaded}"
            for c in self._cards
            if c not in accepted
        ]
        wrong += [
            f"@{c.symbol} has not run yet: run the executable first"
            for c in accepted
            if not c.calls
        ]
        wrong += [f"@{c.symbol}: {text}" for c in self._cards for text in c.contradictions]
        wrong += self._too_little(accepted, regions, min_flops, min_share)
        if wrong:
            raise OffloadError("; ".join(wrong))

    def _too_little(
        self,
        accepted: Sequence[RegionCard],
        regions: int | None,
        min_flops: int | None,
        min_share: float | None,
    ) -> list[str]:
        wrong, flops = [], _flops(accepted)
        if regions is not None and len(accepted) != regions:
            wrong.append(f"expected {regions} offloaded regions, found {len(accepted)}")
        if min_flops is not None and flops < min_flops:
            unknown = sum(c.facts.flops is None for c in accepted)
            more = f", and the FLOP of {counted(unknown, 'region')} are unknown" if unknown else ""
            wrong.append(f"expected at least {min_flops:,} offloaded FLOP, found {flops:,}{more}")
        share = self._share(flops)
        if min_share is not None and (share is None or share < min_share):
            what = (
                "but the FLOP of the module are unknown"
                if share is None
                else f"found {percent(share)}"
            )
            wrong.append(
                f"expected at least {percent(min_share)} of the FLOP to be offloaded, {what}"
            )
        return wrong

    def plot(self, theme: str = "light") -> Figure:
        """A matplotlib figure: the measured rate of each region beside that of a large matrix
        product of its dtype, and its time. theme: "light" or "dark"."""
        return VIEW().figure(self, theme)

    @printable
    def __str__(self) -> str:
        return "\n".join([*map(str, self._cards), *self._loaded()]) or "no regions"

    def _loaded(self) -> list[str]:
        """The distinct libraries that native code uses."""
        return [f"loaded: {name}" for name in dict.fromkeys(c.library for c in self) if name]

    __repr__ = __str__

    _repr_pretty_ = text_in_full

    def _repr_html_(self) -> str:
        rows = []
        for card in self._cards:
            name, *rest = card.cells()
            remarks = "".join(f"<p>{escaped(line)}</p>" for line in card.remarks())
            if card.ops or remarks:
                items = "".join(f"<li>{escaped(str(op))}</li>" for op in card.ops)
                kernels = f"<ol>{items}</ol>" if items else ""
                summary = f"<summary>{escaped(name)}</summary>"
                name = Markup(f"<details>{summary}{kernels}{remarks}</details>")
            rows.append((name, *rest))
        loaded = "".join(f"<p>{escaped(line)}</p>" for line in self._loaded())
        return table(HEAD, rows, NUMBERS) + loaded


def _flops(cards: Iterable[RegionCard]) -> int:
    """Floating-point operations of regions in one run; regions of unknown cost count 0."""
    return sum(card.facts.module_flops for card in cards)
