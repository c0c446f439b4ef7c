"""`Explanation`: the answer about one call of a Relay module."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from byoc_lab.errors import enumerated
from byoc_lab.lab.explaining.answer import WITHOUT_LETS, Answer
from byoc_lab.lab.explaining.causes import computed_from_parameters, diagnose
from byoc_lab.lab.explaining.change_runner import ChangeRunner
from byoc_lab.lab.explaining.changes import OWN_CAUSES
from byoc_lab.lab.explaining.diagnosis import Diagnosis
from byoc_lab.lab.explaining.inquiry import Inquiry
from byoc_lab.lab.explaining.outcome import EnclosingRegion
from byoc_lab.lab.explaining.pairs import Pairs
from byoc_lab.lab.explaining.setup_changes import of_context, of_partitioning
from byoc_lab.lab.explaining.trials import VerifiedChange
from byoc_lab.lab.tracing.collection import without_collection
from byoc_lab.relay.analysis.costs import call_flops
from byoc_lab.relay.ir.expr import Call, Expr, Op, describe


class Explanation(Answer):
    """Why one call is offloaded, or why not.

    call: the call, a node of the given module. typed: the call with types. Everything else is
    computed on demand.
    """

    def __init__(
        self, call: Call, typed: Call, inquiry: Inquiry, runner: ChangeRunner, pairs: Pairs
    ):
        super().__init__(call, call.op_name or describe(call), str(call.span or ""))
        self.typed, self._inquiry, self._given = typed, inquiry, runner
        self._pairs = pairs

    @cached_property
    def status(self) -> str:
        """ "offloaded" (a region of the target computes it), "host" (no region computes it), or
        "removed": after some pass nothing is left to compute, as for a dropout or a constant."""
        place = self._inquiry.outcome.place(self.typed)
        if place.removed:
            return "removed"
        return "offloaded" if place.offloaded else "host"

    @property
    def elsewhere(self) -> str:
        outcome = self._inquiry.outcome
        homes = [outcome.homes.get(image) for image in outcome.place(self.typed).outside]
        taken = {home.compiler if home else None for home in homes}
        return f"by {taken.pop()}" if len(taken) == 1 and None not in taken else "on the host"

    @cached_property
    def home(self) -> EnclosingRegion | None:
        place = self._inquiry.outcome.place(self.typed)
        return self._inquiry.outcome.homes[place.inside[0]] if place.offloaded else None

    @cached_property
    def _found(self) -> tuple[Diagnosis | None, ChangeRunner]:
        """The reason why the call is on the host, and the runner for changes that may offload it.
        If a let is the obstacle but the call would also stay on the host in graph form, both refer
        to the graph form."""
        work = self._given
        if self.status != "host":
            return None, work
        found, beyond = _diagnosis(self._inquiry, self.typed, work), None
        if found.cause == "let" and work.smallest(found, self.typed) is None:
            beyond = work.without_lets
        if beyond is None:
            return found, work
        there = _diagnosis(beyond.inquiry, self.typed, beyond)
        # The regions that compute the call exist only in the graph form.
        cause = found.cause if there.cause == "computed-twice" else there.cause
        return replace(there, cause=cause, reason=f"{WITHOUT_LETS} {there.reason}"), beyond

    @property
    def diagnosis(self) -> Diagnosis | None:
        return self._found[0]

    @staticmethod
    @without_collection()
    def diagnose_all(answers: Iterable[Explanation]) -> None:
        """Diagnose several calls; partial matches are cached until all are explained."""
        answers = list(answers)
        Answer.diagnose_all(answers)
        for inquiry in {explanation._inquiry: None for explanation in answers}:
            inquiry.forget_partial_matches()

    @cached_property
    def _by_pass(self) -> tuple[str, VerifiedChange] | None:
        """The cause, if it is a pass that did not run, and the change that runs this pass."""
        if self.diagnosis is None or self.diagnosis.by_chance:
            return None
        work = self._found[1]
        change = work.first(of_context(work.inquiry.setup), self.typed)
        if change is not None:
            return "skipped-pass", change
        change = work.first(of_partitioning(work.inquiry), self.typed)
        if change is None and not self._has_own_cause(self.diagnosis, work):
            trials = work.likely(work.changes.passes(self.diagnosis), self.typed)
            change = work.first(trials, self.typed)
        return None if change is None else ("needs-pass", change)

    def _has_own_cause(self, found: Diagnosis, work: ChangeRunner) -> bool:
        """Whether a cause is reported even if an additional pass would offload the call."""
        if found.cause != "unbound-constant":
            return found.cause in OWN_CAUSES
        return work.first(work.changes.with_bound(found.unbound), self.typed) is not None

    @property
    def cause(self) -> str | None:
        return super().cause if self._by_pass is None else self._by_pass[0]

    @property
    def _is_of_pass(self) -> bool:
        """Whether the pass that did not run is the only reason."""
        return self._by_pass is not None and self._by_pass[1].decides

    @property
    def expected(self) -> str:
        return "" if self._is_of_pass else super().expected

    @property
    def found(self) -> str:
        return "" if self._is_of_pass else super().found

    @cached_property
    def path(self) -> tuple[Expr, ...]:
        """The calls on a path from one region, through code outside, to another region. The two
        were not merged, because the merged region would depend on itself. Empty if there is no such
        path."""
        given = self._inquiry.given
        return tuple(given.get(n, n) if isinstance(n, Call) else n for n in self._typed_path)

    @cached_property
    def _typed_path(self) -> tuple[Expr, ...]:
        if self.diagnosis is not None:
            return self.diagnosis.path
        if not self.offloaded:
            return ()
        return self._inquiry.path_apart(self._inquiry.subjects(self.typed)[0])

    @property
    def reason(self) -> str:
        if self.status == "removed":
            return f"{self._removed_by()} leaves nothing of it to compute"
        if self._by_pass is not None:
            missing = self._by_pass[1].missing
            return missing if self._is_of_pass else f"{missing}; {super().reason}"
        return super().reason

    @cached_property
    def change(self) -> VerifiedChange | None:
        if self.diagnosis is None or self.diagnosis.by_chance:
            return None
        if self._by_pass is not None:
            return self._by_pass[1]
        return self._found[1].smallest(self.diagnosis, self.typed) or self._pair

    def shared_change(self, group: Sequence[Explanation]) -> VerifiedChange | None:
        """The smallest change for a group of calls that are on the host for one reason; this call
        is the first of the group. If parameters lack values, the change binds the parameters of all
        these calls."""
        diagnoses = [e.diagnosis for e in group if e.diagnosis is not None]
        alone = len(group) == 1 or len(diagnoses) < len(group) or diagnoses[0].by_chance
        if self._by_pass is not None or alone:
            return self.change
        return self._found[1].shared(diagnoses, [e.typed for e in group]) or self._pair

    @cached_property
    def _pair(self) -> VerifiedChange | None:
        """Two changes that offload the call together, if no single change does."""
        found, work = self._found
        if found is None or work is not self._given:
            return None
        return self._pairs.smallest(found, self.typed)

    def offloaded_by(self, change: VerifiedChange) -> bool:
        return change.offloads(self.typed)

    @property
    def flops(self) -> int | None:
        """Floating-point operations of the operator; None if they are not known, and for a call of
        a function, whose inner calls are explained separately."""
        return call_flops(self.typed) if isinstance(self.typed.op, Op) else None

    @property
    def number(self) -> str:
        return self._inquiry.names.of(self.typed)

    @property
    def why_offloaded(self) -> str:
        images = self._inquiry.outcome.place(self.typed).inside
        names = dict.fromkeys(i.op_name or describe(i) for i in images)
        became = "" if self.name in names else f"became {' and '.join(names)}, "
        return f"{became}{super().why_offloaded}{self._computed_again()}"

    def _computed_again(self) -> str:
        """A sentence that regions compute the call more than once; empty if they do not."""
        inquiry = self._inquiry
        before = inquiry.outcome.images(self.typed, inquiry.matching)
        copies = [n for b in before for n in inquiry.outcome.follow(b, inquiry.matching)]
        if len(copies) <= len(before) or any(n.op is not self.typed.op for n in copies):
            return ""
        places = dict.fromkeys(inquiry.outcome.homes[n] for n in copies)
        listed = enumerated(f"@{h.region} ({h.composite or 'alone'})" for h in places)
        return f"; computed {len(copies)} times, in {listed}: matches take copies of it"

    def _removed_by(self) -> str:
        outcome = self._inquiry.outcome
        for stage in outcome.trace.stages:
            if not outcome.images(self.typed, stage.index + 1):
                return stage.name
        return "the pipeline"

    @property
    def heading(self) -> str:
        return self._inquiry.called(self.typed)

    @property
    def path_in_words(self) -> list[str]:
        return [self._inquiry.called(n) for n in self._typed_path]

    @property
    def without_change(self) -> str:
        if self.diagnosis is not None and self.diagnosis.by_chance:
            return "in the back end: give one answer about one match or call"
        if self.diagnosis is not None and self.cause == "no-pattern":
            inquiry, subject = self._inquiry, self.diagnosis.subject
            known = inquiry.registered_with(subject.op_name), inquiry.matched_later(subject.op_name)
            if subject.op_name and not any(known):
                parts = [n for n in inquiry.outcome.place(self.typed).outside if n.op_name]
                missing = [subject, *(n for n in parts if not inquiry.may_take(n))]
                listed = enumerated(dict.fromkeys(n.op_name for n in missing))
                return f"in the back end: {inquiry.target} has to support {listed}"
        return "none of the changes that were tried offloads it"


def _diagnosis(inquiry: Inquiry, call: Call, work: ChangeRunner) -> Diagnosis:
    found = computed_from_parameters(inquiry, call)
    if found is not None and work.first(work.changes.prepared(), call) is not None:
        return found
    return diagnose(inquiry, call)
