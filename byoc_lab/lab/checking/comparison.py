"""`compare`: one array against its reference, element by element."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from math import inf, isnan, nan
from typing import Any

import numpy as np

from byoc_lab.errors import ValidationError, counted
from byoc_lab.lab.checking.bounds.step import Array
from byoc_lab.lab.checking.call_sites import CallSite
from byoc_lab.lab.checking.tolerances import Bounded
from byoc_lab.printing import printable

QUANTILES = (0.5, 0.9, 0.99, 1.0)


@dataclass(frozen=True)
class Comparison:
    """One array against its reference.

    place: the index of the worst element, with the largest error divided by its tolerance. error,
    tolerance, ulps: the values of that element; ulps is its error in units in the last place of the
    reference. largest_error: the largest error of any element. scale: the largest finite absolute
    value of the reference. wrong: the number of elements, out of `size`, whose error exceeds their
    tolerance. nans, infinities: how many of them are nan, or infinite, in only one of the two.
    undecided: the number of elements on which two correct machines may disagree, or which a known
    fault of oneDNN changes. causes: why they are undecided. lost_nans: the number of undecided
    elements that are numbers although the reference is nan. quantiles: of error / tolerance, at
    QUANTILES. call_site: for a step of a region, its call in the module. inherited: for a step of a
    region, the change of its result caused by the errors of its arguments; not part of `error`.
    shares: error / tolerance of every element.
    """

    name: str
    error: float
    tolerance: float
    scale: float
    place: tuple[int, ...]
    size: int = 0
    wrong: int = 0
    nans: int = 0
    infinities: int = 0
    undecided: int = 0
    ulps: float = nan
    quantiles: tuple[float, ...] = ()
    largest_error: float = 0.0
    lost_nans: int = 0
    inherited: float = nan
    call_site: CallSite | None = None
    shares: Array | None = field(default=None, repr=False, compare=False)
    causes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.wrong

    @property
    def compared(self) -> bool:
        """Whether an element was compared; true for a tensor without elements."""
        return self.undecided < self.size or not self.size

    @property
    def share(self) -> float:
        """The error divided by the tolerance, at the worst element."""
        if np.isnan(self.error):
            return inf
        return 0.0 if not self.error else self.error / self.tolerance if self.tolerance else inf

    @printable
    def __str__(self) -> str:
        """The verdict, and the largest error beside the largest value."""
        if not self.compared:
            return f"{self.name}: {self.verdict}"
        shown = f"{self.name}: {self.verdict}; largest error {self.largest_error:.2g} of values up "
        shown += f"to {self.scale:.3g}"
        if self.ok:
            shown += f", at most {self.share:.0%} of the tolerance"
        return shown if isnan(self.inherited) else f"{shown}; inherited {self.inherited:.2g}"

    @property
    def verdict(self) -> str:
        """The verdict in words: "ok", or the error and its position."""
        parts = ["ok"] if self.compared else []
        if self.wrong:
            parts = [
                f"WRONG at {list(self.place)}, where the error is {self.error:.2g} and the "
                f"tolerance {self.tolerance:.2g}",
                f"{self.wrong:,} of {counted(self.size, 'element')}",
            ]
        for count, what in ((self.nans, "nan"), (self.infinities, "infinity")):
            if count:
                parts.append(f"{what} in only one of the two: {count:,}")
        if self.undecided:
            why = f" ({'; '.join(self.causes)})" if self.causes else ""
            parts.append(f"{counted(self.undecided, 'element')} not compared{why}")
        if self.lost_nans:
            parts.append(f"{self.lost_nans:,} of these are numbers although the reference is nan")
        return "; ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """The fields as numbers, lists and text; nan and infinities as text."""
        names = [f.name for f in fields(self) if f.name != "shares"] + ["ok", "share"]
        return {name: _plain(getattr(self, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def compare(
    name: str, got: Array, wanted: Array, tolerance: Any, causes: Iterable[str] = ()
) -> Comparison:
    """Compare two arrays. Raises ValidationError if their shapes differ.

    tolerance: a number, or one for each element; infinite for elements that are not compared.
    causes: why tolerances are infinite.
    """
    if got.shape != wanted.shape:
        raise ValidationError(f"{name}: expected shape {wanted.shape}, found {got.shape}")
    allowed = np.broadcast_to(np.asarray(tolerance, np.float64), wanted.shape)
    if not got.size:
        return Comparison(name, 0.0, 0.0, 0.0, ())
    values, exact = got.astype(np.float64), wanted.astype(np.float64)
    free = np.isinf(allowed)
    with np.errstate(all="ignore"):
        off = np.asarray(np.abs(values - exact))  # asarray turns a scalar into an array, too
        # Equal infinities agree, and nan agrees with nan.
        off[(values == exact) | (np.isnan(values) & np.isnan(exact)) | free] = 0
        off[_overflown(got, values, exact, allowed)] = 0
        share = np.where(off == 0, 0.0, off / allowed)
        share = np.asarray(np.where(np.isnan(share) | np.isnan(off), inf, share))
    worst = int(np.argmax(share))
    place = tuple(int(i) for i in np.unravel_index(worst, share.shape))
    wrong, nans, infinities = share > 1, 0, 0
    if wrong.any():
        unknown = np.isnan(values), np.isnan(exact)
        beyond = np.isinf(values) != np.isinf(exact)
        nans = int(np.count_nonzero(wrong & (unknown[0] != unknown[1])))
        infinities = int(np.count_nonzero(wrong & beyond & ~unknown[0] & ~unknown[1]))
    finite = exact[np.isfinite(exact)]
    return Comparison(
        name,
        float(off[place]),
        float(allowed[place]),
        float(np.max(np.abs(finite), initial=0)),
        place,
        size=got.size,
        wrong=int(np.count_nonzero(wrong)),
        nans=nans,
        infinities=infinities,
        undecided=int(np.count_nonzero(free)),
        lost_nans=int(np.count_nonzero(free & np.isnan(exact) & ~np.isnan(values))),
        ulps=_ulps(float(off[place]), float(exact[place]), got.dtype),
        quantiles=_quantiles(np.minimum(share, 1e300)),
        largest_error=float(np.max(np.where(np.isnan(off), 0.0, off))),
        shares=share.astype(np.float32),
        causes=tuple(sorted(causes)),
    )


def compare_all(got: Sequence[Array], wanted: Bounded, whole: str = "") -> list[Comparison]:
    """Compare the outputs of the region `whole`; "" for the outputs of the module."""
    names = [f"{whole} output {n}".strip() for n in range(len(got))]
    if len(got) == 1:
        names = [whole or "output"]
    groups = zip(names, wanted.groups(got), strict=True)
    return [compare(name, *group) for name, group in groups]


def _quantiles(array: Array) -> tuple[float, ...]:
    """The quantiles at QUANTILES, interpolated between neighbours as in NumPy. `np.quantile` takes
    longer than the rest of `compare` for a small array."""
    last = array.size - 1
    places = [divmod(last * q, 1) for q in QUANTILES]
    neighbours = [(int(below), min(int(below) + 1, last), part) for below, part in places]
    line = np.partition(array, sorted({n for a, b, _ in neighbours for n in (a, b)}), axis=None)
    found = []
    for a, b, part in neighbours:
        low, high = float(line[a]), float(line[b])
        step = high - low
        found.append(low + step * part if part < 0.5 else high - step * (1 - part))
    return tuple(found)


def _overflown(got: Array, values: Array, exact: Array, allowed: Array) -> Any:
    """A mask of the infinite elements whose exact value may exceed the range of the dtype."""
    if got.dtype.kind != "f":
        return np.zeros(got.shape, bool)
    largest = float(np.finfo(got.dtype).max)
    beyond = np.isfinite(exact) & (np.abs(exact) + allowed >= largest)
    return np.isinf(values) & beyond & (np.sign(values) == np.sign(exact))


def _ulps(error: float, exact: float, dtype: np.dtype[Any]) -> float:
    if dtype.kind != "f" or not np.isfinite(exact):
        return nan
    with np.errstate(all="ignore"):
        unit = float(np.spacing(np.abs(np.asarray(exact).astype(dtype))))
    return error / unit  # nan if it is beyond the range of the dtype
