"""`Answer`: the place where one call of a Relay or Relax module is computed, and the reason."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from byoc_lab.lab.explaining.diagnosis import Diagnosis, Nearest
from byoc_lab.lab.explaining.outcome import EnclosingRegion
from byoc_lab.printing import printable

CAUSES = {
    "no-pattern": "the back end supports neither the operator nor a pattern with it",
    "no-operand": "the back end supports it, but it has no operands at which a region can begin",
    "sub-pattern": "a pattern matches in part; one operand or user differs",
    "check": "a pattern matches, but its check refuses the match",
    "predicate": "the back end's predicate refuses the call",
    "order": "an earlier entry, match or target contains it or a part of its match",
    "outside-user": "a value inside the match is also used outside it",
    "let": "there is a let inside the match, and no match crosses a let",
    "unbound-constant": "a pattern needs a constant, but the module has a parameter",
    "needs-pass": "a pass that the pipeline lacks, or runs at a different position, offloads it",
    "unused": "a let binds it, and the result of its function does not depend on it",
    "merge": "its region was not merged with a neighbour; a later pass moved it back to the host",
    "computed-twice": "a region computes it, and the host computes it again for another user",
    "pruned": "it was in a region that a later pass moved back to the host",
    "malformed": "it is annotated, but a pass refuses the regions of the module",
    "name": "the name of its composite, or of the target, is not the requested one",
    "skipped-pass": "it is offloaded after a pass that this PassContext skips",
    "other-function": "the partitioning only covers the operators of main",
    "unknown": "a pattern of the back end matches the call, but its passes did not offload it",
}
"""Causes for calls that are not offloaded, as a word and as a sentence; `other-function` occurs
only in Relax."""
WITHOUT_LETS = "no match crosses a let; and without lets (ToGraphNormalForm),"
"""The text before a reason that also holds in graph form."""


class Answer(ABC):
    """Why one call is offloaded, or why not.

    call: a node of the module. name: the called operator. place: the source location of the call in
    the text from which the module was read; "" if there is none. Each language computes `home`,
    `diagnosis` and `change`; this class writes texts and JSON.
    """

    def __init__(self, call: Any, name: str, place: str = ""):
        self.call, self.name, self.place = call, name, place
        self.warnings: Mapping[str, str] = {}  # warnings on the cards of regions, by symbol

    @property
    @abstractmethod
    def number(self) -> str:
        """The name of the call in the printed module, such as "%12" or "result of @main"; "" if it
        has none."""

    @property
    @abstractmethod
    def heading(self) -> str:
        """The call in words."""

    @property
    @abstractmethod
    def flops(self) -> int | None:
        """Floating-point operations; None if they are not known."""

    @property
    @abstractmethod
    def home(self) -> EnclosingRegion | None:
        """The region that computes the call; None if there is none."""

    @property
    @abstractmethod
    def diagnosis(self) -> Diagnosis | None:
        """The reason why the call is on the host, computed once; None if it is not on the host."""

    @property
    @abstractmethod
    def change(self) -> Any:
        """The smallest tried change with which this call is offloaded. None if it is already
        offloaded, or if no tried change offloads it."""

    def shared_change(self, group: Sequence[Any]) -> Any:
        """The change for a group of calls that are on the host for one reason; this call is the
        first of the group."""
        return next(filter(None, (e.change for e in group)), None)

    def offloaded_by(self, change: Any) -> bool:
        """Whether a change, found for this call or for another one, offloads this call."""
        return bool(change == self.change)

    @staticmethod
    def diagnose_all(answers: Iterable[Any]) -> None:
        """Diagnose several calls."""
        for answer in answers:
            _ = answer.diagnosis

    @property
    def status(self) -> str:
        """ "offloaded" (a region computes it), "host" (no region computes it), or "removed"
        (nothing of it is left to compute)."""
        return "host" if self.home is None else "offloaded"

    @property
    def offloaded(self) -> bool:
        """Whether regions compute all calls into which the call was rewritten."""
        return self.status == "offloaded"

    @property
    def region(self) -> str | None:
        """The name of the external function that computes it."""
        return self.home.region if self.home else None

    @property
    def back_end(self) -> str | None:
        """The name of the back end that computes it."""
        return self.home.compiler if self.home else None

    @property
    def pattern(self) -> str | None:
        """The name of the pattern that matched it; None if the operator itself is supported."""
        return self.home.composite if self.home else None

    @property
    def cause(self) -> str | None:
        """Why it is not offloaded: one of `CAUSES`. None if it is offloaded or removed."""
        return self.diagnosis.cause if self.diagnosis else None

    @property
    def reason(self) -> str:
        """The answer in one sentence."""
        if self.diagnosis is not None:
            return self.diagnosis.reason
        said = self.warnings.get(self.region or "", "")
        return self.why_offloaded + (f"; {said}" if said else "")

    @property
    def why_offloaded(self) -> str:
        """The region and the matching pattern, in words."""
        return f"in @{self.region}" + (f" as part of {self.pattern}" if self.pattern else "")

    @property
    def nearest(self) -> Nearest | None:
        """The pattern that came nearest to a match with the call, and the size of the partial
        match."""
        return self.diagnosis.nearest if self.diagnosis else None

    @property
    def expected(self) -> str:
        """The requirement at the decisive mismatch, as text; "" if there is none."""
        return self.diagnosis.expected if self.diagnosis else ""

    @property
    def found(self) -> str:
        """The value found at the decisive mismatch, as text; "" if there is none."""
        return self.diagnosis.found if self.diagnosis else ""

    @property
    def path_in_words(self) -> list[str]:
        """The calls on the path that keeps its region separate from another region."""
        return []

    @property
    def without_change(self) -> str:
        """The sentence that replaces a proposed change if none was found; "" for none."""
        return ""

    @property
    def elsewhere(self) -> str:
        """The place of computation if it is not offloaded to the target: "on the host", or "by"
        another back end."""
        return "on the host"

    @property
    def where(self) -> str:
        """ "not offloaded", or "also on the host" if a region computes it, too."""
        return "also on the host" if self.cause == "computed-twice" else "not offloaded"

    @property
    def about(self) -> list[str]:
        """The lines between the first line and the change: reason, nearest pattern and path."""
        lines = [f"  reason    {self.reason}"]
        if self.nearest and self.nearest.matched > 1:
            lines.append(f"  nearest   {self.nearest}")
        if self.expected and self.found != self.reason.removeprefix(f"{WITHOUT_LETS} "):
            lines += [f"  expected  {self.expected}", f"  found     {self.found}"]
        if self.path_in_words:
            lines.append(f"  path      {' -> '.join(self.path_in_words)}")
        return lines

    @printable
    def __str__(self) -> str:
        host = self.status == "host"
        return self.described(str(self.change or self.without_change) if host else "")

    def described(self, change: str) -> str:
        """The explanation as text, including the proposed change."""
        head = f"{self.heading} at {self.place}" if self.place else self.heading
        if self.status != "host":
            return f"{head}: {self.status}: {self.reason}"
        last = [f"  change    {change}"] if change else []
        return "\n".join([f"{head}: {self.where}: {self.cause}", *self.about, *last])

    def __repr__(self) -> str:
        return f"<explanation of {self.name}: {self.status}>"

    @property
    def row(self) -> dict[str, Any]:
        """The explanation as plain data without the change, so that no change is tried."""
        return {
            "call": self.name,
            "number": self.number,
            "place": self.place,
            "status": self.status,
            "pattern": self.pattern,
            "region": self.region,
            "cause": self.cause,
            "nearest": str(self.nearest) if self.nearest else None,
            "expected": self.expected,
            "found": self.found,
            "path": self.path_in_words,
            "reason": self.reason,
        }

    def as_dict(self, change: bool = True) -> dict[str, Any]:
        """The explanation as plain data, for JSON; without `change`, as `row`."""
        return {**self.row, "change": self.change and str(self.change)} if change else self.row
