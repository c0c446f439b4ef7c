"""Two changes that together offload a call, if neither does alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from byoc_lab.lab.explaining.causes import diagnose
from byoc_lab.lab.explaining.change_runner import ChangeRunner
from byoc_lab.lab.explaining.diagnosis import Diagnosis
from byoc_lab.lab.explaining.inquiry import Inquiry
from byoc_lab.lab.explaining.recipes import simplifiers
from byoc_lab.lab.explaining.setups import Setup
from byoc_lab.lab.explaining.trials import Trial, VerifiedChange
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.patterns import DFPattern

MAX_FIRST = 16
"""Maximum number of first changes that are tried with a second change."""


OUT_OF_REACH = ("no-pattern", "no-operand")
"""Causes of calls that no pattern matches, not even in part."""


class Pairs:
    """The pairs of changes of a `ChangeRunner`.

    A pair is a change after which a different cause keeps a call on the host, and the smallest
    change for that cause. In a large module, pairs are searched in the part around the call, once
    for similar parts, and run on the whole module only if they help there.
    """

    def __init__(self, work: ChangeRunner):
        self._work = work
        self._of_parts: dict[object, int | None] = {}  # the position of the first change

    def smallest(self, found: Diagnosis, call: Call) -> VerifiedChange | None:
        """The first pair with which `call` is offloaded, if no single change offloads it; None if
        there is none."""
        if found.cause in OUT_OF_REACH and not simplifiers(found):
            return None
        like = self._work.likeness(self._work.inquiry.setup.mod, call)
        if like is None:
            best = _best(self._work, found, call)
            return None if best is None else best[1]
        if like not in self._of_parts:
            self._of_parts[like] = self._position(call)
        position = self._of_parts[like]
        if position is None:
            return None
        first = next(islice(_firsts(self._work, found, call), position, None), None)
        return None if first is None else _after(self._work, first, found, call)

    def _position(self, call: Call) -> int | None:
        part = self._work.in_part(call)
        if part is None:
            return None
        work, there = part
        best = _best(work, diagnose(work.inquiry, there), there)
        return None if best is None else best[0]


def _firsts(work: ChangeRunner, found: Diagnosis, call: Call) -> Iterator[Trial]:
    return islice(work.changes.of(found, call, all_weights=False), MAX_FIRST)


def _best(work: ChangeRunner, found: Diagnosis, call: Call) -> tuple[int, VerifiedChange] | None:
    """The first pair with which a call is offloaded, with the position of its first change. A pair
    that needs a different pattern, or computes different numbers, is only taken if there is no
    other."""
    others = []
    given = _patterns(work.inquiry.setup)
    for position, first in enumerate(_firsts(work, found, call)):
        if first.keeps_numbers and _patterns(first.setup) <= given:
            change = _after(work, first, found, call)
            if change is not None and change.keeps_numbers and _patterns(change.setup) <= given:
                return position, change
            others += [(position, change)] if change is not None else []
    return others[0] if others else None


def _patterns(setup: Setup) -> frozenset[DFPattern]:
    merge = setup.first(MergeComposite)
    return frozenset(pattern for _, pattern, _ in merge[1].table) if merge else frozenset()


def _is_nearer(then: Diagnosis, found: Diagnosis) -> bool:
    """Whether a call is nearer to being offloaded than before: a different cause, from a pattern
    that matches it, or a pattern that matches in more parts."""
    if then.cause in OUT_OF_REACH:
        return False
    if then.cause != found.cause:
        return True
    if then.attempt is None or found.attempt is None:
        return then.reason != found.reason
    return then.attempt.fit.rank > found.attempt.fit.rank


def _after(work: ChangeRunner, first: Trial, found: Diagnosis, call: Call) -> VerifiedChange | None:
    """The smallest change with which a call is offloaded after a first change; without the first
    change if that is not needed. None if the first change has no effect on the call, or no second
    change offloads it."""
    ran = work.left_out(first, call) if work.is_part else work.run(first)
    if ran is None:
        return None
    trial, outcome = ran
    there = trial.calls.get(call, call)
    if not outcome.place(there).outside:
        return None
    inquiry = Inquiry(trial.setup, outcome, {})
    then = diagnose(inquiry, there)
    other = then.reason != found.reason and then.cause not in OUT_OF_REACH
    if not (_is_nearer(then, found) or (other and not work.is_part)):
        return None
    second_of = ChangeRunner(inquiry, work, "", trial.calls, work.is_part)
    change = second_of.smallest(then, there)
    if change is None or not change.region:
        return None
    second = _alone(work.inquiry.setup, trial.setup, change)
    enough = None if second is None else work.first(iter([second]), call)
    return enough or replace(
        change,
        what=f"together: {first.what}; and {change.what}",
        keeps_numbers=first.keeps_numbers and change.keeps_numbers,
        missing=change.missing or first.missing,
    )


def _alone(given: Setup, first: Setup, change: VerifiedChange) -> Trial | None:
    """A change of the setup with a first change, expressed as a change of the given setup; None if
    the two changes cannot be distinguished."""
    both = change.setup
    edits = both.mod is not first.mod
    kept = [p for p in first.passes if p in given.passes]
    was: dict[Pass, Pass] = {}
    if len(first.passes) == len(given.passes):
        was = dict(zip(first.passes, given.passes, strict=True))
        kept = [was[p] for p in first.passes]
    moved = any(p in given.passes and p is not q for p, q in was.items())
    if (edits and first.mod is not given.mod) or kept != list(given.passes) or moved:
        return None
    added = {p: was.get(p) for p in first.passes if p not in given.passes}
    passes = [q for p in both.passes if (q := added.get(p, p)) is not None]
    of = both if first.context is given.context else given
    setup = replace(of, mod=both.mod if edits else given.mod, passes=tuple(passes))
    calls = change.calls if edits else {}
    return Trial(change.what, setup, object(), calls, change.keeps_numbers)
