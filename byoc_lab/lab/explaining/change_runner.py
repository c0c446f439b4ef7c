"""`ChangeRunner`: tries changes that may offload a call, by running the pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from byoc_lab.errors import ByocLabError
from byoc_lab.lab.explaining.changes import OWN_CAUSES, Changes
from byoc_lab.lab.explaining.diagnosis import Diagnosis
from byoc_lab.lab.explaining.inquiry import Inquiry
from byoc_lab.lab.explaining.nearby import Surroundings
from byoc_lab.lab.explaining.outcome import Known, PipelineRun, annotated
from byoc_lab.lab.explaining.setups import Setup
from byoc_lab.lab.explaining.trials import Trial, VerifiedChange
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.relay.ir.expr import Call, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns.below import operators_of

GROUPING = (MergeCompilerRegions, PartitionGraph)
"""Passes that do not add calls to regions if AnnotateTarget left them out."""


class ChangeRunner:
    """Tries changes for the calls of an inquiry; changes that several calls share run once.

    given: the runner of the user's setup, if the inquiry is about a changed setup. changed: that
    change, in words. calls: maps the calls of the given setup to their replacements. is_part:
    whether the module is a part of a larger module. A change is then run only up to AnnotateTarget
    if that leaves the call to the host.
    """

    def __init__(
        self,
        inquiry: Inquiry,
        given: ChangeRunner | None = None,
        changed: str = "",
        calls: Mapping[Call, Call] | None = None,
        is_part: bool = False,
    ):
        self.inquiry = inquiry
        self._given = given
        self._changed = changed
        self._calls = calls or {}
        self.is_part = is_part
        self.changes = Changes(inquiry)
        self._runs: dict[object, tuple[Trial, PipelineRun] | None] = {}
        self._effects: dict[object, tuple[tuple[int, int], int, dict[Call, Call]]] = {}
        self._surroundings: dict[IRModule, Surroundings | None] = {}
        self._helps: dict[object, bool] = {}  # whether a trial helps in a part
        self._parts: dict[Hashable, tuple[IRModule, Call] | None] = {}
        # cached results of runs on parts
        self._known: Known = inquiry.outcome.known if is_part else {}
        self._narrow: dict[tuple[MergeComposite, frozenset[str]], MergeComposite] = {}

    def smallest(self, found: Diagnosis, call: Call) -> VerifiedChange | None:
        """The first change with which `call` is offloaded; None if no tried change offloads it."""
        trials = self.changes.of(found, call)
        if self.is_part:
            trials = (t for t in trials if not self.stays_out(t.setup, t.calls.get(call, call)))
        if found.cause not in OWN_CAUSES:  # OWN_CAUSES depend on more than nearby calls
            trials = self.likely(trials, call)
        return self.first(trials, call)

    def shared(self, group: Sequence[Diagnosis], calls: Sequence[Call]) -> VerifiedChange | None:
        """A change for calls that are on the host for one reason. If parameters lack values, it
        binds all of them; else it is the smallest change for the first call."""
        if group[0].cause == "unbound-constant":
            names = tuple(dict.fromkeys(name for found in group for name in found.unbound))
            change = self.first(self.changes.with_bound(names), calls[0])
            if change is not None:
                return change
        return self.smallest(group[0], calls[0])

    @cached_property
    def without_lets(self) -> ChangeRunner | None:
        """The runner for the module in graph form; None if that was tried, or cannot run."""
        ran = None if self._given is not None else self.run(self.changes.graph_form())
        if ran is None:
            return None
        trial, outcome = ran
        of = self.inquiry
        return ChangeRunner(Inquiry(trial.setup, outcome, of.given), self, f"{trial.what}; and ")

    def likely(self, trials: Iterator[Trial], call: Call) -> Iterator[Trial]:
        """The changes that are worth a run on the whole module: in a large module, only changes
        that offload the call in the part around it."""
        return (trial for trial in trials if self._may_help(trial, call))

    def _may_help(self, trial: Trial, call: Call) -> bool:
        if trial.key in self._runs:
            return True
        like = self.likeness(trial.setup.mod, trial.calls.get(call, call))
        if like is None:
            return True
        key = like, trial.setup.passes, trial.setup.contexts
        if key not in self._helps:
            self._helps[key] = self._helps_in(trial, self._parts[like])
        return self._helps[key]

    def likeness(self, mod: IRModule, call: Call) -> Hashable:
        """A key, equal for calls whose surroundings are equal; None in a small module."""
        if mod not in self._surroundings:
            self._surroundings[mod] = Surroundings.of(mod)
        around = self._surroundings[mod]
        if around is None:
            return None
        like = mod, around.likeness(call)
        if like not in self._parts:
            self._parts[like] = around.part(call)
        return like

    def in_part(self, call: Call) -> tuple[ChangeRunner, Call] | None:
        """The runner for the part around a call, and the call there; None in a small module,
        without a part, or if AnnotateTarget takes the call there."""
        like = self.likeness(self.inquiry.setup.mod, call)
        part = None if like is None else self._parts[like]
        if part is None:
            return None
        setup = replace(self.inquiry.setup, mod=part[0])
        ran = self.left_out(Trial("", setup, None), part[1])
        return ran and (ChangeRunner(Inquiry(setup, ran[1], {}), is_part=True), part[1])

    def left_out(self, trial: Trial, call: Call) -> tuple[Trial, PipelineRun] | None:
        """A run up to AnnotateTarget, if that leaves a call to the host permanently; else None."""
        setup = trial.setup
        found = setup.first(AnnotateTarget)
        if found is None or not self.stays_out(setup, trial.calls.get(call, call)):
            return None
        begun = replace(setup, passes=setup.passes[: found[0] + 1])
        outcome = self._outcome(begun, self._known)
        return None if outcome is None else (trial, outcome)

    def _helps_in(self, trial: Trial, part: tuple[IRModule, Call] | None) -> bool:
        if part is None:
            return True
        setup = replace(trial.setup, mod=part[0])
        if self.stays_out(setup, part[1]):
            return False
        outcome = self._outcome(setup, self._known)
        return outcome is None or trial.succeeds(outcome.place(part[1]))

    def stays_out(self, setup: Setup, call: Call) -> bool:
        """Whether AnnotateTarget leaves a call to the host, and later passes only group regions."""
        found = setup.first(AnnotateTarget)
        if found is None or any(type(p) not in GROUPING for p in setup.passes[found[0] + 1 :]):
            return False
        position, annotate = found
        merged = self._with_entries_of(call, replace(setup, passes=setup.passes[:position]))
        if merged is not None and _is_unknown(call, annotate, merged):
            return True
        begun = replace(setup, passes=setup.passes[: position + 1])
        outcome = self._outcome(begun, self._known)
        if outcome is None:
            return False
        images = outcome.images(call)
        return bool(images) and annotated(outcome.trace.final, outcome.target).isdisjoint(images)

    def _with_entries_of(self, call: Call, setup: Setup) -> PipelineRun | None:
        """A run with only those entries of the pattern table that may match a call, which no other
        entry puts into a composite."""
        found = setup.first(MergeComposite)
        before = found and self._outcome(
            replace(setup, passes=setup.passes[: found[0]]), self._known
        )
        if found and before:
            position, merge = found
            names = frozenset(i.op_name for i in before.images(call))
            if (merge, names) not in self._narrow:
                of_table = [(e, operators_of(e[1])) for e in merge.table]
                entries = [e for e, of in of_table if of is None or not of.isdisjoint(names)]
                self._narrow[merge, names] = MergeComposite(entries)
            setup = setup.replacing(position, self._narrow[merge, names])
        return self._outcome(setup, self._known)

    def first(self, trials: Iterator[Trial], call: Call) -> VerifiedChange | None:
        """The first change with which `call` is offloaded. If it loses calls that were offloaded
        before, the other changes are tried, too. Among changes that lose none (and still compute
        the same numbers if the first one does), the change that offloads the most calls is
        taken."""
        working = self._working(trials, call)
        found = next(working, None)
        if found is None or not found.lost:
            return found
        better = [c for c in working if not c.lost and c.keeps_numbers >= found.keeps_numbers]
        return max(better, key=lambda c: c.offloaded[1], default=found)

    def _working(self, trials: Iterator[Trial], call: Call) -> Iterator[VerifiedChange]:
        for wanted in trials:
            ran = self.run(wanted)
            if ran is None:
                continue
            trial, outcome = ran
            there = trial.calls.get(call, call)
            place = outcome.place(there)
            if trial.succeeds(place):
                gone = place.removed
                region = "" if gone else outcome.homes[place.inside[0]].region
                what = f"{self._changed}{wanted.what}"
                what += ", which leaves nothing of it to compute" if gone else ""
                offloaded, lost, images = self._effect(trial, outcome)
                yield VerifiedChange(
                    what, trial.keeps_numbers, trial.setup, outcome, there, region, trial.missing,
                    trial.decides, offloaded, lost, images,
                )  # fmt: skip

    @cached_property
    def _offloaded(self) -> set[Call]:
        """The calls of the module that are not computed on the host at all."""
        outcome = self._first.inquiry.outcome
        return {c for c in outcome.calls if not outcome.place(c).outside}

    def _effect(
        self, trial: Trial, outcome: PipelineRun
    ) -> tuple[tuple[int, int], int, dict[Call, Call]]:
        """The effect of a change that was run, cached for all calls: the numbers of offloaded calls
        before and with it, the number of lost calls, and the image of each call."""
        if trial.key not in self._effects:
            calls = self._first.inquiry.outcome.calls
            images = {c: self._image(trial, c) for c in calls}
            then = {c for c, image in images.items() if not outcome.place(image).outside}
            counts = len(self._offloaded), len(then)
            self._effects[trial.key] = counts, len(self._offloaded - then), images
        return self._effects[trial.key]

    @property
    def _first(self) -> ChangeRunner:
        """The runner of the user's setup."""
        return self._given or self

    def _image(self, trial: Trial, call: Call) -> Call:
        """The call that replaces a call of the user's setup in the module of a trial."""
        there = self._calls.get(call, call)
        return trial.calls.get(there, there)

    def run(self, trial: Trial) -> tuple[Trial, PipelineRun] | None:
        """The trial and the outcome of the run with this trial's key; None if the pipeline fails.
        Calls of the outcome are those of the returned trial."""
        if trial.key not in self._runs:
            outcome = self._outcome(trial.setup, self.inquiry.outcome.known)
            self._runs[trial.key] = None if outcome is None else (trial, outcome)
        return self._runs[trial.key]

    def _outcome(self, setup: Setup, known: Known | None = None) -> PipelineRun | None:
        """A run; None if the pipeline fails."""
        try:
            with warnings.catch_warnings():  # a change that may be dropped must not warn
                warnings.simplefilter("ignore")
                outcome = setup.run(self.inquiry.target, known)
        except ByocLabError:  # the pipeline fails with this change, so it is not offered
            return None
        return outcome if outcome.trace.error is None else None


def _is_unknown(call: Call, annotate: AnnotateTarget, before: PipelineRun) -> bool:
    """Whether AnnotateTarget has no predicate for a call that earlier passes put into no composite
    and no region."""
    images, mod, target = before.images(call), before.trace.final, before.target
    if not images or any(
        not isinstance(i.op, Op) or annotate.predicate(i.op, target) is not None for i in images
    ):
        return False
    inside = annotated(mod, target)
    for node in post_order(*mod.functions.values()):
        if isinstance(node, Function) and "Composite" in node.attrs:
            inside.update(post_order(node.body))
    return inside.isdisjoint(images)
