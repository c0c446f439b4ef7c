"""`Explanation` and `Explanations`: the answer about one call, and about all calls of a module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from html import escape
from typing import Any, overload

from byoc_lab.errors import UnknownNodeError
from byoc_lab.lab.explaining.causes import Diagnosis, diagnose
from byoc_lab.lab.explaining.changes import Change, Workbench
from byoc_lab.lab.explaining.inquiry import Inquiry
from byoc_lab.lab.explaining.outcome import Home
from byoc_lab.lab.explaining.region_paths import path_apart
from byoc_lab.relay.ir.expr import Call, Expr, describe

CAUSES = {
    "no-pattern": "the back end supports neither the operator nor a pattern with it",
    "sub-pattern": "a pattern fits in part; something else stands in one place",
    "check": "a pattern matches, and its check refuses the match",
    "predicate": "the back end's predicate refuses the call",
    "order": "an earlier entry of the table, or an earlier target, took it or a part of its match",
    "outside-user": "a value inside the match is also used outside of it",
    "let": "a let stands inside the match, and no match crosses a let",
    "unbound-constant": "a pattern wants a constant where the module has a parameter",
    "needs-pass": "it is offloaded after a pass that the pipeline does not run",
    "merge": "its region could not be merged with its neighbour, and is too small alone",
    "pruned": "it was in a region that a later pass gave back to the host",
    "name": "the name of its composite, or of the target, is not the one that was asked for",
    "skipped-pass": "it is offloaded after a pass that this PassContext skips",
}
"""Why a call is not offloaded, in a word and in a sentence."""
SHOWN = 30


class Nearest:
    """The pattern that came nearest: `matched` of its `total` parts fit."""

    def __init__(self, name: str, matched: int, total: int):
        self.name, self.matched, self.total = name, matched, total

    def __str__(self) -> str:
        return f"{self.name} ({self.matched} of {self.total} parts match)"

    __repr__ = __str__


class Explanation:
    """Why one call is offloaded, or why not.

    call: the call, a node of the module that was asked about. What is not known yet is computed
    when it is asked for.
    """

    def __init__(self, call: Call, typed: Call, inquiry: Inquiry, workbench: Workbench):
        self.call = call
        self._typed = typed
        self._inquiry = inquiry
        self._workbench = workbench

    @cached_property
    def status(self) -> str:
        """ "offloaded" (a region of the target computes it), "host" (it does not), or "removed":
        after some pass nothing is left to compute, as for a dropout or a constant."""
        place = self._inquiry.outcome.place(self._typed)
        if place.removed:
            return "removed"
        return "offloaded" if place.offloaded else "host"

    @property
    def offloaded(self) -> bool:
        """Whether regions of the target compute the call, all of what became of it."""
        return self.status == "offloaded"

    @property
    def pattern(self) -> str | None:
        """The name of the pattern that it was matched by; None if it was taken alone."""
        return self._home.composite if self._home else None

    @property
    def region(self) -> str | None:
        """The name of the external function that computes it."""
        return self._home.region if self._home else None

    @cached_property
    def _home(self) -> Home | None:
        place = self._inquiry.outcome.place(self._typed)
        return self._inquiry.outcome.homes[place.inside[0]] if place.offloaded else None

    @cached_property
    def _diagnosis(self) -> Diagnosis | None:
        return diagnose(self._inquiry, self._typed) if self.status == "host" else None

    @cached_property
    def _by_pass(self) -> tuple[str, Change] | None:
        """The cause, if it is a pass that did not run, and the change that runs it."""
        if self._diagnosis is None:
            return None
        work = self._workbench
        change = work.first(work.levels(), self._typed)
        if change is not None:
            return "skipped-pass", change
        change = work.first(work.passes(self._diagnosis), self._typed)
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
        return Nearest(attempt.name, attempt.fit.matched, attempt.fit.total) if attempt else None

    @property
    def expected(self) -> str:
        """What was wanted at the place that decides."""
        return self._diagnosis.expected if self._diagnosis else ""

    @property
    def found(self) -> str:
        """What is at that place."""
        return self._diagnosis.found if self._diagnosis else ""

    @cached_property
    def path(self) -> tuple[Expr, ...]:
        """The calls from one region to another that was not merged with it, through code outside:
        merged, the two would depend on themselves. Empty if nothing was kept apart."""
        if self._diagnosis is not None:
            return self._diagnosis.path
        subject = self._inquiry.subject(self._typed)
        return path_apart(self._inquiry, subject) if self.offloaded else ()

    @property
    def reason(self) -> str:
        """The answer in a sentence."""
        if self.offloaded:
            return self._why_offloaded()
        if self._diagnosis is None:
            return f"{self._removed_by()} leaves nothing of it to compute"
        if self._by_pass is not None:
            return f"{self._diagnosis.reason}; it is offloaded with this change: {self.change}"
        return self._diagnosis.reason

    @cached_property
    def change(self) -> Change | None:
        """The smallest change with which this call is offloaded; the pipeline was run with it. None
        if it is offloaded, or if none of the changes that were tried offloads it."""
        if self._diagnosis is None:
            return None
        if self._by_pass is not None:
            return self._by_pass[1]
        return self._workbench.smallest(self._diagnosis, self._typed)

    @property
    def name(self) -> str:
        """The operator that is called."""
        return self.call.op_name or describe(self.call)

    def _why_offloaded(self) -> str:
        images = self._inquiry.outcome.place(self._typed).inside
        names = dict.fromkeys(i.op_name or describe(i) for i in images)
        became = "" if self.name in names else f"became {' and '.join(names)}, "
        matched = f" as part of {self.pattern}" if self.pattern else ""
        return f"{became}in @{self.region}{matched}"

    def _removed_by(self) -> str:
        outcome = self._inquiry.outcome
        for stage in outcome.trace.stages:
            if not outcome.images(self._typed, stage.index + 1):
                return stage.name
        return "the pipeline"

    def __str__(self) -> str:
        where = f" at {self.call.span}" if self.call.span else ""
        head = f"{self.name}{where}"
        if self.status != "host":
            return f"{head}: {self.status}: {self.reason}"
        lines = [f"{head}: not offloaded: {self.cause}", f"  reason    {self.reason}"]
        if self.nearest:
            lines.append(f"  nearest   {self.nearest}")
        if self.expected:
            lines += [f"  expected  {self.expected}", f"  found     {self.found}"]
        if self.path:
            lines.append(f"  path      {' -> '.join(map(describe, self.path))}")
        shown = self.change or "none of the changes that were tried offloads it"
        lines.append(f"  change    {shown}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<explanation of {self.name}: {self.status}>"

    def as_dict(self) -> dict[str, Any]:
        """The explanation as plain data, for JSON."""
        return {
            "call": self.name,
            "place": str(self.call.span or ""),
            "status": self.status,
            "pattern": self.pattern,
            "region": self.region,
            "cause": self.cause,
            "nearest": str(self.nearest) if self.nearest else None,
            "expected": self.expected,
            "found": self.found,
            "path": [describe(n) for n in self.path],
            "reason": self.reason,
            "change": str(self.change) if self.change else None,
        }


class Explanations(Sequence[Explanation]):
    """The explanations of the calls of a module, in its order; displays itself as a table.

    `explanations[call]` is the one of a call, `explanations.host` has those that are not offloaded,
    `explanations.by_cause` has these by cause.
    """

    def __init__(self, target: str, found: Sequence[Explanation]):
        self.target = target
        self._all = list(found)
        self._of = {e.call: e for e in found}

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self._all)

    @overload
    def __getitem__(self, index: int) -> Explanation: ...
    @overload
    def __getitem__(self, index: slice) -> Explanations: ...
    @overload
    def __getitem__(self, index: Expr) -> Explanation: ...
    def __getitem__(self, index: int | slice | Expr) -> Explanation | Explanations:
        if isinstance(index, slice):
            return Explanations(self.target, self._all[index])
        if isinstance(index, int):
            return self._all[index]
        if isinstance(index, Call) and index in self._of:
            return self._of[index]
        raise UnknownNodeError(
            f"{describe(index)} is no call that was explained. Calls are found by identity: take "
            f"it from the module that explain() was given"
        )

    @property
    def offloaded(self) -> list[Explanation]:
        """Those that the target computes."""
        return [e for e in self._all if e.offloaded]

    @property
    def host(self) -> list[Explanation]:
        """Those that are computed elsewhere."""
        return [e for e in self._all if e.status == "host"]

    @property
    def by_cause(self) -> dict[str, list[Explanation]]:
        """Those that are not offloaded, by cause, the most frequent cause first."""
        groups: dict[str, list[Explanation]] = {}
        for e in self.host:
            groups.setdefault(str(e.cause), []).append(e)
        return dict(sorted(groups.items(), key=lambda item: -len(item[1])))

    @property
    def summary(self) -> str:
        """Such as "58 of 86 calls offloaded to dnnl, 2 on the host (1 no-pattern, 1 check)"."""
        counts = Counter(e.status for e in self._all)
        text = f"{counts['offloaded']} of {len(self)} calls offloaded to {self.target}"
        if counts["host"]:
            causes = ", ".join(f"{len(es)} {cause}" for cause, es in self.by_cause.items())
            text += f", {counts['host']} on the host ({causes})"
        return text + (f", {counts['removed']} removed" if counts["removed"] else "")

    def _groups(self) -> list[list[Explanation]]:
        """Those that are not offloaded; what is alike is one group."""
        groups: dict[tuple[str | None, ...], list[Explanation]] = {}
        for es in self.by_cause.values():
            for e in es:
                nearest = e.nearest.name if e.nearest else ""
                groups.setdefault((e.cause, e.name, nearest, e.expected[:40]), []).append(e)
        return list(groups.values())

    def __str__(self) -> str:
        lines = [self.summary]
        groups = self._groups()
        for group in groups[:SHOWN]:
            head, _, rest = str(group[0]).partition("\n")
            lines += ["", head + (f" ({len(group)} alike)" if len(group) > 1 else ""), rest]
        if len(groups) > SHOWN:
            lines += ["", f"... {len(groups) - SHOWN} more; explanations.host has all"]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Explanations: {self.summary}>"

    def _repr_html_(self) -> str:
        """The summary, and a row for each group of alike calls: first those on the host."""
        titles = ("call", "number", "where", "why", "nearest pattern", "change")
        groups = self._groups()
        inside: dict[tuple[str, str | None], list[Explanation]] = {}
        for e in self.offloaded:
            inside.setdefault((e.name, e.pattern), []).append(e)
        rows = [_row(g) for g in (*groups, *inside.values())]
        head = "".join(f"<th>{t}</th>" for t in titles)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(c)}</td>' for c in r)}</tr>" for r in rows[:SHOWN]
        )
        more = f"<p>{len(rows) - SHOWN} more rows</p>" if len(rows) > SHOWN else ""
        return (
            f"<p>{escape(self.summary)}</p><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>{more}"
        )


def _row(group: Sequence[Explanation]) -> list[str]:
    first = group[0]
    if first.offloaded:
        regions = {e.region for e in group}
        where = f"@{first.region}" if len(regions) == 1 else f"{len(regions)} regions"
        return [first.name, str(len(group)), where, str(first.pattern or "taken alone"), "", ""]
    why = f"{first.cause}: {first.reason}"
    return [
        first.name, str(len(group)), "host", why, str(first.nearest or ""), str(first.change or "")
    ]  # fmt: skip
