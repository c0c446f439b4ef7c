"""`Explanation`: the answer about one call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from byoc_lab.lab.explaining.causes import diagnose
from byoc_lab.lab.explaining.changes import OWN_CAUSES
from byoc_lab.lab.explaining.diagnosis import Diagnosis
from byoc_lab.lab.explaining.inquiry import Inquiry
from byoc_lab.lab.explaining.outcome import Home
from byoc_lab.lab.explaining.trials import VerifiedChange
from byoc_lab.lab.explaining.workbench import Workbench
from byoc_lab.lab.tracing.collection import without_collection
from byoc_lab.printing import printable
from byoc_lab.relay.analysis.costs import call_flops
from byoc_lab.relay.ir.expr import Call, Expr, Op, describe

CAUSES = {
    "no-pattern": "the back end supports neither the operator nor a pattern with it",
    "no-operand": "the back end supports it, and it has no operands at which a region can begin",
    "sub-pattern": "a pattern fits in part; something else stands in one place",
    "check": "a pattern matches, and its check refuses the match",
    "predicate": "the back end's predicate refuses the call",
    "order": "an earlier entry, match or target took it or a part of its match",
    "outside-user": "a value inside the match is also used outside of it",
    "let": "a let stands inside the match, and no match crosses a let",
    "unbound-constant": "a pattern wants a constant where the module has a parameter",
    "needs-pass": "it is offloaded after a pass that the pipeline does not run",
    "merge": "its region was not merged with a neighbour; a later pass gave it back to the host",
    "computed-twice": "a region computes it, and the host computes it again for another user",
    "pruned": "it was in a region that a later pass gave back to the host",
    "malformed": "it is annotated, and a pass refuses the regions of the module",
    "name": "the name of its composite, or of the target, is not the one that was asked for",
    "skipped-pass": "it is offloaded after a pass that this PassContext skips",
}
"""Why a call is not offloaded, in a word and in a sentence."""
WITHOUT_LETS = "no match crosses a let; and without lets (ToGraphNormalForm),"
"""The words before the reason that also holds in graph form."""


@without_collection()
def diagnose_all(explanations: Iterable[Explanation]) -> None:
    """Diagnose several calls; partial matches are kept until all are explained."""
    inquiries: dict[Inquiry, None] = {}
    for explanation in explanations:
        explanation.diagnose()
        inquiries[explanation._inquiry] = None
    for inquiry in inquiries:
        inquiry.forget_partial_matches()


class Nearest:
    """The pattern that came nearest: `matched` of its `total` parts fit."""

    def __init__(self, name: str, matched: int, total: int):
        self.name, self.matched, self.total = name, matched, total

    @printable
    def __str__(self) -> str:
        return f"{self.name} ({self.matched} of {self.total} parts match)"

    __repr__ = __str__


class Explanation:
    """Why one call is offloaded, or why not.

    call: the call, a node of the module that was asked about. typed: the same call with types. What
    is not known yet is computed when it is asked for.
    """

    def __init__(self, call: Call, typed: Call, inquiry: Inquiry, workbench: Workbench):
        self.call = call
        self.typed = typed
        self._inquiry = inquiry
        self._given = workbench

    @cached_property
    def status(self) -> str:
        """ "offloaded" (a region of the target computes it), "host" (it does not), or "removed":
        after some pass nothing is left to compute, as for a dropout or a constant."""
        place = self._inquiry.outcome.place(self.typed)
        if place.removed:
            return "removed"
        return "offloaded" if place.offloaded else "host"

    @property
    def offloaded(self) -> bool:
        """Whether regions of the target compute everything that the call was rewritten into."""
        return self.status == "offloaded"

    @property
    def pattern(self) -> str | None:
        """The name of the pattern that it was matched by; None if it is supported by itself."""
        return self._home.composite if self._home else None

    @property
    def region(self) -> str | None:
        """The name of the external function that computes it."""
        return self._home.region if self._home else None

    @cached_property
    def _home(self) -> Home | None:
        place = self._inquiry.outcome.place(self.typed)
        return self._inquiry.outcome.homes[place.inside[0]] if place.offloaded else None

    @cached_property
    def _found(self) -> tuple[Diagnosis | None, Workbench]:
        """The reason that it is on the host, and the workbench for changes that turn that. If a let
        is in its way and it would stay there in graph form, too, both are of the graph form."""
        work = self._given
        if self.status != "host":
            return None, work
        found, beyond = diagnose(self._inquiry, self.typed), None
        if found.cause == "let" and work.smallest(found, self.typed) is None:
            beyond = work.without_lets
        if beyond is None:
            return found, work
        there = diagnose(beyond.inquiry, self.typed)
        return replace(there, reason=f"{WITHOUT_LETS} {there.reason}"), beyond

    def diagnose(self) -> Diagnosis | None:
        """The reason that it is on the host, found once; None if it is not there."""
        return self._found[0]

    @property
    def _diagnosis(self) -> Diagnosis | None:
        return self.diagnose()

    @property
    def _workbench(self) -> Workbench:
        return self._found[1]

    @cached_property
    def _by_pass(self) -> tuple[str, VerifiedChange] | None:
        """The cause, if it is a pass that did not run, and the change that runs it."""
        if self._diagnosis is None:
            return None
        work = self._workbench
        change = work.first(work.changes.levels(), self.typed)
        if change is not None:
            return "skipped-pass", change
        change = work.first(work.changes.partitioning(), self.typed)
        if change is None and self._diagnosis.cause not in OWN_CAUSES:
            trials = work.likely(work.changes.passes(self._diagnosis), self.typed)
            change = work.first(trials, self.typed)
        return None if change is None else ("needs-pass", change)

    @property
    def cause(self) -> str | None:
        """Why it is not offloaded: one of `CAUSES`. None if it is offloaded or removed."""
        if self._by_pass is not None:
            return self._by_pass[0]
        return self._diagnosis.cause if self._diagnosis else None

    @property
    def nearest(self) -> Nearest | None:
        """The pattern that came nearest to a match with the call, and how far it got."""
        attempt = self._diagnosis.attempt if self._diagnosis else None
        return Nearest(attempt.name, attempt.fit.matched, attempt.fit.needed) if attempt else None

    @property
    def expected(self) -> str:
        """The text of the decisive mismatch's requirement; "" if there is none."""
        return self._diagnosis.expected if self._diagnosis else ""

    @property
    def found(self) -> str:
        """The text of the value found at the decisive mismatch; "" if there is none."""
        return self._diagnosis.found if self._diagnosis else ""

    @cached_property
    def path(self) -> tuple[Expr, ...]:
        """The calls from one region to another that was not merged with it, through code outside:
        merged, the two would depend on themselves. Empty if nothing was kept apart."""
        given = self._inquiry.given
        return tuple(given.get(n, n) if isinstance(n, Call) else n for n in self._typed_path)

    @cached_property
    def _typed_path(self) -> tuple[Expr, ...]:
        if self._diagnosis is not None:
            return self._diagnosis.path
        if not self.offloaded:
            return ()
        return self._inquiry.path_apart(self._inquiry.subjects(self.typed)[0])

    @property
    def reason(self) -> str:
        """The answer in a sentence."""
        if self.offloaded:
            return self._why_offloaded()
        if self._diagnosis is None:
            return f"{self._removed_by()} leaves nothing of it to compute"
        if self._by_pass is not None:
            change = self._by_pass[1]
            return change.missing + ("" if change.decides else f"; {self._diagnosis.reason}")
        return self._diagnosis.reason

    @cached_property
    def change(self) -> VerifiedChange | None:
        """The smallest change with which this call is offloaded; the pipeline was run with it. None
        if it is offloaded, or if none of the changes that were tried offloads it."""
        if self._diagnosis is None:
            return None
        if self._by_pass is not None:
            return self._by_pass[1]
        return self._workbench.smallest(self._diagnosis, self.typed)

    def shared_change(self, group: Sequence[Explanation]) -> VerifiedChange | None:
        """The smallest change for a group of calls on the host with one reason, of which this is
        the first; if parameters lack values, it binds those of all these calls."""
        diagnoses = [e._diagnosis for e in group if e._diagnosis is not None]
        if self._by_pass is not None or len(group) == 1 or len(diagnoses) < len(group):
            return self.change
        return self._workbench.shared(diagnoses, [e.typed for e in group])

    def offloaded_by(self, change: VerifiedChange) -> bool:
        """Whether a change, of this call or of another one, offloads the call."""
        return change.offloads(self.typed)

    @property
    def back_end(self) -> str | None:
        """The name of the back end that computes it."""
        return self._inquiry.target if self.offloaded else None

    @property
    def flops(self) -> int | None:
        """Floating-point operations of the operator; None for a call of a function, whose calls
        have their own explanations, and where they are not known."""
        return call_flops(self.typed) if isinstance(self.typed.op, Op) else None

    @property
    def name(self) -> str:
        """The operator that is called."""
        return self.call.op_name or describe(self.call)

    @property
    def number(self) -> str:
        """The name of the call in the printed module, such as "%12" or "result of @main"; "" if it
        has none."""
        return self._inquiry.names.of(self.typed)

    def _why_offloaded(self) -> str:
        images = self._inquiry.outcome.place(self.typed).inside
        names = dict.fromkeys(i.op_name or describe(i) for i in images)
        became = "" if self.name in names else f"became {' and '.join(names)}, "
        matched = f" as part of {self.pattern}" if self.pattern else ""
        said = self._inquiry.warnings.get(self.region or "", "")
        slow = f"; {said}" if said else ""
        return f"{became}in @{self.region}{matched}{self._computed_again()}{slow}"

    def _computed_again(self) -> str:
        """That regions compute the call more than once, in words; empty if they do not."""
        inquiry = self._inquiry
        before = inquiry.outcome.images(self.typed, inquiry.matching)
        copies = [n for b in before for n in inquiry.outcome.follow(b, inquiry.matching)]
        if len(copies) <= len(before) or any(n.op is not self.typed.op for n in copies):
            return ""
        places = dict.fromkeys(inquiry.outcome.homes[n] for n in copies)
        listed = " and ".join(f"@{h.region} ({h.composite or 'alone'})" for h in places)
        return f"; computed {len(copies)} times, in {listed}: matches take copies of it"

    def _removed_by(self) -> str:
        outcome = self._inquiry.outcome
        for stage in outcome.trace.stages:
            if not outcome.images(self.typed, stage.index + 1):
                return stage.name
        return "the pipeline"

    @printable
    def __str__(self) -> str:
        where = f" at {self.call.span}" if self.call.span else ""
        head = f"{self._inquiry.called(self.typed)}{where}"
        if self.status != "host":
            return f"{head}: {self.status}: {self.reason}"
        change = f"  change    {self.change or self.without_change}"
        return "\n".join([f"{head}: {self.where}: {self.cause}", *self.about, change])

    @property
    def where(self) -> str:
        """ "not offloaded", or "also on the host" if a region computes it too."""
        return "also on the host" if self.cause == "computed-twice" else "not offloaded"

    @property
    def about(self) -> list[str]:
        """The lines between the first one and the change: reason, nearest pattern and path."""
        lines = [f"  reason    {self.reason}"]
        if self.nearest and self.nearest.matched > 1:
            lines.append(f"  nearest   {self.nearest}")
        if self.expected and self.found != self.reason.removeprefix(f"{WITHOUT_LETS} "):
            lines += [f"  expected  {self.expected}", f"  found     {self.found}"]
        if self.path:
            lines.append(f"  path      {' -> '.join(self._path_in_words)}")
        return lines

    @property
    def _path_in_words(self) -> list[str]:
        return [self._inquiry.called(n) for n in self._typed_path]

    @property
    def without_change(self) -> str:
        """The sentence that replaces a proposed change if none was found."""
        if self._diagnosis is not None and self.cause == "no-pattern":
            subject = self._diagnosis.subject
            if subject.op_name:
                return f"in the back end: {self._inquiry.target} has to support {subject.op_name}"
        return "none of the changes that were tried offloads it"

    def __repr__(self) -> str:
        return f"<explanation of {self.name}: {self.status}>"

    @property
    def row(self) -> dict[str, Any]:
        """The explanation as plain data but for the change, so that nothing is tried for it."""
        return {
            "call": self.name,
            "number": self.number,
            "place": str(self.call.span or ""),
            "status": self.status,
            "pattern": self.pattern,
            "region": self.region,
            "cause": self.cause,
            "nearest": str(self.nearest) if self.nearest else None,
            "expected": self.expected,
            "found": self.found,
            "path": self._path_in_words,
            "reason": self.reason,
        }

    def as_dict(self, change: bool = True) -> dict[str, Any]:
        """The explanation as plain data, for JSON; without `change` as in `row`."""
        return {**self.row, "change": self.change and str(self.change)} if change else self.row
