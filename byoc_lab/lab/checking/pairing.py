"""The divergence of two runs: the operators of two modules, compared by their computed values.

A value of one run is *found* in the other run if some value there equals it within its tolerance.
The comparison starts at the outputs, which must be equal, and proceeds to the operands through
pairs of corresponding calls: the same operator in the same position, or, if a pass has rewritten
the calls between, the nearest call with the same operator and shape. The numbers changed at the
lowest pair whose values differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from byoc_lab.lab.checking.bounds.step import Array, flat
from byoc_lab.lab.checking.bounds.uncertain import Executed, Quantity, Run
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.op.framework.evaluate import evaluate_op
from byoc_lab.run.reference import widened_attrs

PROBES = 64  # number of elements that are compared first
AT_A_TIME = 256  # number of values whose probes are compared at once
FLOAT64 = 1e-11  # error of float64 sums, relative to the largest element


def same_values(wanted: Quantity, got: Quantity) -> bool:
    """Whether `got` is `wanted` within the tolerance of `wanted`, element by element."""
    if wanted is got or wanted.value is got.value:
        return True
    if wanted.shape != got.shape:
        return False
    with np.errstate(all="ignore"):
        off = np.abs(got.value.astype(np.float64) - wanted.value.astype(np.float64))
        near = off <= _tolerance(wanted)
    return bool(np.all(near | _equal(wanted.value, got.value)))


def _equal(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f" and b.dtype.kind == "f":
        return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))
    return np.asarray(a == b)


def _tolerance(wanted: Quantity) -> Array:
    reach = np.broadcast_to(np.asarray(wanted.error.reach, np.float64), wanted.shape)
    if wanted.value.dtype.kind != "f":
        return reach
    finite = np.abs(np.where(np.isfinite(wanted.value), wanted.value, 0))
    return reach + FLOAT64 * float(np.max(finite, initial=0))


@dataclass(frozen=True)
class Divergence:
    """The smallest sub-graphs at which two runs diverge. before, after: the calls of both
    sub-graphs, in order; one is empty if operators were only dropped or only inserted. wanted, got:
    the values that should be equal. hidden: whether the outputs are nevertheless equal within
    rounding.
    """

    before: tuple[Executed, ...]
    after: tuple[Executed, ...]
    wanted: Quantity
    got: Quantity
    hidden: bool

    @property
    def step(self) -> Executed:
        """The diverging operator: the last of `after`, or of `before` if it was dropped."""
        return (self.after or self.before)[-1]

    @property
    def error(self) -> float:
        """The largest difference of the two values; inf if nan or infinity is in only one."""
        if self.wanted.shape != self.got.shape:
            return float("inf")
        with np.errstate(all="ignore"):
            off = np.abs(self.got.value.astype(float) - self.wanted.value.astype(float))
        off = np.where(_equal(self.wanted.value, self.got.value), 0, off)
        return float(np.max(np.where(np.isnan(off), np.inf, off), initial=0))

    @property
    def tolerance(self) -> float:
        """The largest tolerance of an element."""
        return float(np.max(self.allowed, initial=0))

    @property
    def allowed(self) -> Array:
        """The tolerance of each element."""
        return _tolerance(self.wanted)

    @property
    def scale(self) -> float:
        """The largest magnitude of the expected value."""
        return float(np.max(np.abs(self.wanted.value), initial=0))


def divergence_of(before: Run, after: Run) -> Divergence | None:
    """The divergence of `after` from `before`; None if they agree. The tolerances of
    `before` are used."""
    return _Pairing(before, after).run()


def largest_share(before: Run, after: Run) -> float:
    """The largest difference of an output divided by its tolerance; 0.0 for equal outputs."""
    largest = 0.0
    for wanted, got in zip(before.outputs, after.outputs, strict=True):
        if wanted.shape != got.shape:
            continue
        with np.errstate(all="ignore"):
            off = np.abs(got.value.astype(float) - wanted.value.astype(float))
            share = off / np.maximum(_tolerance(wanted), np.finfo(float).tiny)
        share = share[~_equal(wanted.value, got.value) & np.isfinite(share)]
        largest = max(largest, float(np.max(share, initial=0)))
    return largest


@dataclass(eq=False)
class _Pair:
    wanted: Quantity
    got: Quantity
    below: bool = False  # whether a pair below this one differs, too


class _Index:
    """The values of a run by shape."""

    def __init__(self, run: Run, tolerances: bool):
        groups: dict[tuple[int, ...], dict[int, Quantity]] = defaultdict(dict)
        for step in run.steps:
            for quantity in (*step.args, *step.results):
                groups[quantity.shape].setdefault(id(quantity), quantity)
        self.groups = {
            shape: _Group([*found.values()], tolerances) for shape, found in groups.items()
        }

    def candidates(self, quantity: Quantity) -> Iterator[Quantity]:
        """The values that may equal this one, in order."""
        group = self.groups.get(quantity.shape)
        return iter(()) if group is None else group.near(quantity)


class _Group:
    """Values of one shape, with a few elements (probes) of each to rule out most candidates at
    once.

    For equal values, the sums of the probes differ by at most the sum of their tolerances. So only
    values with such a sum are compared, a few at a time.
    """

    def __init__(self, found: list[Quantity], tolerances: bool):
        self.found = found
        self.probes = np.stack([_probe(q.value) for q in found])
        self.reach = np.stack([_probe(_tolerance(q)) for q in found]) if tolerances else None
        with np.errstate(all="ignore"):
            sums = self.probes.sum(axis=1)
            widths = _rounding(self.probes)
            if self.reach is not None:
                widths = widths + self.reach.sum(axis=1)
        finite = np.isfinite(sums) & np.isfinite(widths)
        rows = np.flatnonzero(finite)
        self.by_sum = rows[np.argsort(sums[rows])]
        self.sums = sums[self.by_sum]
        self.others = np.flatnonzero(~finite)
        self.width = float(np.max(widths[rows], initial=0))

    def near(self, quantity: Quantity) -> Iterator[Quantity]:
        mine = _probe(quantity.value)
        tolerance = _probe(_tolerance(quantity)) if self.reach is None else None
        rows = self._rows(mine, tolerance)
        for start in range(0, len(rows), AT_A_TIME):
            some = rows[start : start + AT_A_TIME]
            probes = self.probes[some]
            allowed = tolerance if self.reach is None else self.reach[some]
            with np.errstate(all="ignore"):
                near = (np.abs(probes - mine) <= allowed) | (probes == mine)
                near |= np.isnan(probes) & np.isnan(mine)
            for n in some[near.all(axis=1)]:
                yield self.found[n]

    def _rows(self, mine: Array, tolerance: Array | None) -> Array:
        """The values whose sum is near enough, in order."""
        with np.errstate(all="ignore"):
            total = float(mine.sum())
            width = self.width + float(_rounding(mine))
            if tolerance is not None:
                width += float(tolerance.sum())
        if not (isfinite(total) and isfinite(width)):
            return np.arange(len(self.found))
        first = np.searchsorted(self.sums, total - width, "left")
        last = np.searchsorted(self.sums, total + width, "right")
        return np.sort(np.concatenate([self.others, self.by_sum[first:last]]))


def _rounding(probes: Array) -> Array:
    """The largest error of the sums of these elements."""
    return np.asarray(FLOAT64 * np.abs(probes).sum(axis=-1))


def _probe(array: Array) -> Array:
    line = array.reshape(-1)
    return line[:: max(1, line.size // PROBES)][:PROBES].astype(np.float64)


class _Pairing:
    def __init__(self, before: Run, after: Run):
        self.before, self.after = before, after
        self.was, self.now = _Index(before, True), _Index(after, False)
        self.matches: dict[int, Quantity | None] = {}
        self.lost: dict[int, bool] = {}

    def match(self, got: Quantity) -> Quantity | None:
        """The value of `before` that equals a value of `after`."""
        if id(got) not in self.matches:
            self.matches[id(got)] = next(
                (q for q in self.was.candidates(got) if same_values(q, got)), None
            )
        return self.matches[id(got)]

    def is_lost(self, wanted: Quantity) -> bool:
        """Whether no value of `after` equals a value of `before`."""
        if id(wanted) not in self.lost:
            found = any(same_values(wanted, q) for q in self.now.candidates(wanted))
            self.lost[id(wanted)] = not found
        return self.lost[id(wanted)]

    def run(self) -> Divergence | None:
        if len(self.before.outputs) != len(self.after.outputs):
            return None
        pairs = zip(self.before.outputs, self.after.outputs, strict=True)
        todo = [_Pair(w, g) for w, g in pairs]
        hidden = all(same_values(p.wanted, p.got) for p in todo)
        seen: set[tuple[int, int]] = set()
        differing: list[_Pair] = []
        while todo:
            pair = todo.pop()
            key = (id(pair.wanted), id(pair.got))
            if key in seen:
                continue
            seen.add(key)
            same = same_values(pair.wanted, pair.got)
            lower = list(self.lower(pair, same))
            if not same:
                differing.append(pair)
                pair.below = any(not same_values(p.wanted, p.got) for p in lower)
            todo += lower
        lowest = [p for p in differing if not p.below]
        if not lowest:
            return None
        return self.divergence(min(lowest, key=_place), hidden)

    def lower(self, pair: _Pair, same: bool) -> Iterator[_Pair]:
        """The pairs of arguments that must be equal for this pair to be equal."""
        wanted, got = pair.wanted.made_by, pair.got.made_by
        if wanted is None or got is None:
            return
        if not _same_operator(wanted, got):
            yield from self.rewritten(pair, same)
            return
        args = list(zip(wanted.args, got.args, strict=True))
        bad = [(w, g) for w, g in args if not same_values(w, g)]
        if same and len(bad) < 2:
            # A difference that this operator hides, such as softmax of large numbers, or relu.
            yield from (_Pair(w, g) for w, g in args if self.stands_for(w, g))
        elif not same:
            yield from (_Pair(w, g) for w, g in bad if self.stands_for(w, g))

    def stands_for(self, wanted: Quantity, got: Quantity) -> bool:
        """Whether both arguments are computed values, and `got` is not a different argument in the
        place of `wanted`."""
        if wanted.made_by is None or got.made_by is None:
            return False
        known = self.match(got)
        if known is None or same_values(wanted, got):
            return True
        # The argument of a dropped operator takes the operator's place.
        return any(known is arg for step in self.missing(wanted) for arg in step.args)

    def rewritten(self, pair: _Pair, same: bool) -> Iterator[_Pair]:
        """The nearest pairs below a value whose computation a pass has rewritten."""
        top = pair.got.made_by
        assert top is not None
        if same:
            yield from self.damped(pair, top)
            return
        others = [q for s in self.missing(pair.wanted) for q in s.results if q is not pair.wanted]
        for step in self.unknown(pair.got):
            matches = [p for p in _matches((pair.wanted, *others), step) if not _same_pair(p, pair)]
            if (
                matches and step is top
            ):  # not certain to correspond: only the pairs below it are examined
                yield from filter(_of_one_kind, self.lower(matches[0], False))
                return
            yield from matches[:1]

    def damped(self, pair: _Pair, top: Executed) -> Iterator[_Pair]:
        """The pairs below two equal values that different operators compute: equal arguments, and
        arguments whose difference later operators hide.

        An argument that a pass has scaled is excluded: replacing it by its value from before would
        change the result.
        """
        steps = [top, *(step for arg in top.args for step in self.unknown(arg))]
        others = [q for s in self.missing(pair.wanted, 1) for q in s.results]
        for step in steps:
            for arg in step.args:
                wanted = self.match(arg)
                if wanted is not None and wanted.made_by is not None:
                    yield _Pair(wanted, arg)
            if step is not top:
                matches = _matches(others, step)
                if matches and self.interchangeable(pair, steps, matches[0]):
                    yield matches[0]

    def interchangeable(self, pair: _Pair, steps: Sequence[Executed], match: _Pair) -> bool:
        """Whether `pair` stays equal if `match.wanted` replaces `match.got`."""
        values = {id(match.got): match.wanted.value}
        for step in sorted(steps, key=lambda s: s.number):
            args = [_with_values(a, values) for a in step.arguments]
            attrs, op = widened_attrs(step.call.attrs), step.call.op
            assert isinstance(op, Op)
            results = flat(evaluate_op(op, attrs, args))
            for quantity, value in zip(step.results, results, strict=True):
                values.setdefault(id(quantity), value)
        return same_values(pair.wanted, Quantity(values[id(pair.got)]))

    def unknown(self, got: Quantity) -> Iterator[Executed]:
        """The steps that compute `got` from values that also exist in `before`, the nearest
        first."""
        return _nearest(got, lambda q: self.match(q) is None)

    def missing(self, wanted: Quantity, start: int = 0) -> Iterator[Executed]:
        """The steps between `wanted` and the values that also exist in `after`, the nearest first.

        start: 1 skips the step of `wanted`, even if `after` has its value.
        """
        if not start:
            yield from _nearest(wanted, self.is_lost)
        elif wanted.made_by is not None:
            for arg in wanted.made_by.args:
                yield from _nearest(arg, self.is_lost)

    def divergence(self, pair: _Pair, hidden: bool) -> Divergence:
        wanted, got = pair.wanted.made_by, pair.got.made_by
        before = [] if wanted is None else [wanted]
        after = [] if got is None else [got]
        if wanted is None or got is None or not _same_operator(wanted, got):
            before = sorted(self.missing(pair.wanted), key=lambda s: s.number)
            after = sorted(self.unknown(pair.got), key=lambda s: s.number)
        if not (before or after):  # the pass uses a different existing value instead
            before, after = ([s] if s else [] for s in (wanted, got))
        return Divergence(tuple(before), tuple(after), pair.wanted, pair.got, hidden)


def _matches(wanted: Sequence[Quantity], step: Executed) -> list[_Pair]:
    """The values of the same operator, with the shape of a result of `step`."""
    pairs = (_Pair(w, g) for g in step.results for w in wanted if w.shape == g.shape)
    return [pair for pair in pairs if _of_one_kind(pair)]


def _same_pair(a: _Pair, b: _Pair) -> bool:
    return a.wanted is b.wanted and a.got is b.got


def _with_values(argument: Any, values: dict[int, Array]) -> Any:
    if isinstance(argument, tuple):
        return tuple(_with_values(a, values) for a in argument)
    return values.get(id(argument), argument.value)


def _of_one_kind(pair: _Pair) -> bool:
    wanted, got = pair.wanted.made_by, pair.got.made_by
    return wanted is not None and got is not None and _same_operator(wanted, got)


def _place(pair: _Pair) -> int:
    step = pair.got.made_by or pair.wanted.made_by
    return step.number if step else -1


def _nearest(root: Quantity, wanted: Callable[[Quantity], bool]) -> Iterator[Executed]:
    """The steps from `root` down, breadth first, through values that are `wanted`."""
    todo: list[Quantity] = [root]
    seen: set[int] = set()
    for quantity in todo:  # grows during the loop
        step = quantity.made_by
        if step is None or step.number in seen or not wanted(quantity):
            continue
        seen.add(step.number)
        yield step
        todo += step.args


def _same_operator(a: Executed, b: Executed) -> bool:
    return a.call.op is b.call.op and a.call.attrs == b.call.attrs and len(a.args) == len(b.args)
