"""`Answer`: where one call of a module, in any language, is computed and why."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from byoc_lab.lab.explaining.diagnosis import Diagnosis, Nearest
from byoc_lab.lab.explaining.outcome import Home
from byoc_lab.printing import printable

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
    "needs-pass": "a pass that the pipeline lacks, or runs in another place, offloads it",
    "unused": "a let binds it, and the result of its function does not depend on it",
    "merge": "its region was not merged with a neighbour; a later pass gave it back to the host",
    "computed-twice": "a region computes it, and the host computes it again for another user",
    "pruned": "it was in a region that a later pass gave back to the host",
    "malformed": "it is annotated, and a pass refuses the regions of the module",
    "name": "the name of its composite, or of the target, is not the one that was asked for",
    "skipped-pass": "it is offloaded after a pass that this PassContext skips",
    "other-function": "the partitioning takes the operators of main alone",
    "unknown": "a pattern of the back end matches the call, and its passes left it",
}
"""Why a call is not offloaded, in a word and in a sentence; `other-function` is of Relax alone."""
WITHOUT_LETS = "no match crosses a let; and without lets (ToGraphNormalForm),"
"""The words before the reason that also holds in graph form."""


class Answer(ABC):
    """Why one call is offloaded, or why not.

    call: a node of the module. name: the operator that is called. place: where the call is in the
    text that the module was read from; "" if there is none. Each language says what it found
    (`home`, `diagnosis`, `change`); texts and JSON are written here.
    """

    def __init__(self, call: Any, name: str, place: str = ""):
        self.call, self.name, self.place = call, name, place
        self.warnings: Mapping[str, str] = {}  # of the cards of regions, by symbol

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
        """Floating-point operations; None where they are not known."""

    @property
    @abstractmethod
    def home(self) -> Home | None:
        """The region that computes the call; None if none does."""

    @property
    @abstractmethod
    def diagnosis(self) -> Diagnosis | None:
        """The reason that it is on the host, found once; None if it is not there."""

    @property
    @abstractmethod
    def change(self) -> Any:
        """The smallest change with which this call is offloaded, which was tried. None if it is
        offloaded, or if none of the changes that were tried offloads it."""

    def shared_change(self, group: Sequence[Any]) -> Any:
        """The change for a group of calls on the host with one reason, of which this is the
        first."""
        return next(filter(None, (e.change for e in group)), None)

    def offloaded_by(self, change: Any) -> bool:
        """Whether a change, of this call or of another one, offloads the call."""
        return bool(change == self.change)

    @staticmethod
    def diagnose_all(answers: Iterable[Any]) -> None:
        """Diagnose several calls."""
        for answer in answers:
            _ = answer.diagnosis

    @property
    def status(self) -> str:
        """ "offloaded" (a region computes it), "host" (none does), or "removed": nothing of it is
        left to compute."""
        return "host" if self.home is None else "offloaded"

    @property
    def offloaded(self) -> bool:
        """Whether regions compute everything that the call was rewritten into."""
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
        """The name of the pattern that it was matched by; None if it is supported by itself."""
        return self.home.composite if self.home else None

    @property
    def cause(self) -> str | None:
        """Why it is not offloaded: one of `CAUSES`. None if it is offloaded or removed."""
        return self.diagnosis.cause if self.diagnosis else None

    @property
    def reason(self) -> str:
        """The answer in a sentence."""
        if self.diagnosis is not None:
            return self.diagnosis.reason
        said = self.warnings.get(self.region or "", "")
        return self.why_offloaded + (f"; {said}" if said else "")

    @property
    def why_offloaded(self) -> str:
        """The region, and the pattern that matched, in words."""
        return f"in @{self.region}" + (f" as part of {self.pattern}" if self.pattern else "")

    @property
    def nearest(self) -> Nearest | None:
        """The pattern that came nearest to a match with the call, and how far it got."""
        return self.diagnosis.nearest if self.diagnosis else None

    @property
    def expected(self) -> str:
        """The text of the decisive mismatch's requirement; "" if there is none."""
        return self.diagnosis.expected if self.diagnosis else ""

    @property
    def found(self) -> str:
        """The text of the value found at the decisive mismatch; "" if there is none."""
        return self.diagnosis.found if self.diagnosis else ""

    @property
    def path_in_words(self) -> list[str]:
        """The calls that keep its region apart from another one."""
        return []

    @property
    def without_change(self) -> str:
        """The sentence that replaces a proposed change if none was found; "" for none."""
        return ""

    @property
    def elsewhere(self) -> str:
        """Where it is computed if it is not offloaded to the target: "on the host", or "by" another
        back end."""
        return "on the host"

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
        if self.path_in_words:
            lines.append(f"  path      {' -> '.join(self.path_in_words)}")
        return lines

    @printable
    def __str__(self) -> str:
        head = f"{self.heading} at {self.place}" if self.place else self.heading
        if self.status != "host":
            return f"{head}: {self.status}: {self.reason}"
        words = self.change or self.without_change
        change = [f"  change    {words}"] if words else []
        return "\n".join([f"{head}: {self.where}: {self.cause}", *self.about, *change])

    def __repr__(self) -> str:
        return f"<explanation of {self.name}: {self.status}>"

    @property
    def row(self) -> dict[str, Any]:
        """The explanation as plain data but for the change, so that nothing is tried for it."""
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
        """The explanation as plain data, for JSON; without `change` as in `row`."""
        return {**self.row, "change": self.change and str(self.change)} if change else self.row
