"""`Explanations`: tells for each call of a module, in any language, where it is computed and
why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from html import escape
from typing import Any, TypeVar

from byoc_lab.display import text_in_full
from byoc_lab.errors import UnknownNodeError, counted, enumerated, nearest
from byoc_lab.lab.explaining.answer import Answer
from byoc_lab.lab.explaining.cards import Card, warnings_of
from byoc_lab.markup import table
from byoc_lab.printing import printable
from byoc_lab.relay.ir.expr import Expr, describe

SHOWN = 30
"""Maximum number of groups of calls in a text or table."""
NAMED = 5
"""Maximum number of calls of a group that are named."""
VARYING = re.compile(r"%[\w.:]+|result of @\w+|Tensor\[[^\]]*\]")
"""The parts in which the explanations of two similar calls may differ: names and types."""


A = TypeVar("A", bound=Answer)


class Group(list[A]):
    """Calls that are not offloaded for the same reason: calls of one operator, or the parts of one
    match.

    beside: the groups of the same module whose changes may also offload these calls.
    """

    beside: Sequence[Group[A]] = ()

    @cached_property
    def change(self) -> Any:
        """The smallest change with which the first call is offloaded; if parameters lack values, it
        binds the parameters of all calls. Else a change of another group that offloads the first
        call; None if no tried change offloads it."""
        tried = (g.own_change for g in self.beside)
        return self.own_change or next((c for c in tried if c and self[0].offloaded_by(c)), None)

    @cached_property
    def own_change(self) -> Any:
        return self[0].shared_change(self)

    @cached_property
    def offloads(self) -> int:
        """The number of these calls that the change offloads."""
        change = self.change
        return 0 if change is None else sum(e.offloaded_by(change) for e in self)

    @property
    def change_in_words(self) -> str:
        """The change, and the number of calls that it offloads unless it offloads all of them."""
        some = f" (offloads {self.offloads} of these {len(self)})"
        return f"{self.change or self[0].without_change}" + some * (0 < self.offloads < len(self))

    @property
    def operators(self) -> str:
        """The operators in words, such as "nn.conv2d and nn.relu"."""
        return enumerated(dict.fromkeys(e.name.removeprefix("call of ") for e in self))

    @property
    def numbers(self) -> str:
        """The names of the calls in the printed module, shortened to a few."""
        shown = [e.number for e in self if e.number][:NAMED]
        rest = len(self) - len(shown)
        return ", ".join(shown) + (f" and {rest} more" if rest else "")

    @printable
    def __str__(self) -> str:
        first = self[0]
        if len(self) == 1:
            return first.described(self.change_in_words)
        head = f"{len(self)} calls of {self.operators} {first.where}: {first.cause}"
        words = self.change_in_words
        change = [f"  change    {words}"] if words else []
        return "\n".join([f"{head} ({self.numbers})", *first.about, *change])


class Explanations(Sequence[A]):
    """The explanations of the calls of a module, in module order; displays itself as a table.

    `explanations[call]` is the explanation of a call, `explanations.host` has the calls that are
    not offloaded, `explanations.by_cause` groups them by cause. `explanations.warnings`: return
    values of checks and predicates of the back end that count as True but may not be intended.
    """

    def __init__(self, target: str, found: Sequence[A], warnings: Sequence[str] = ()):
        self.target = target
        self.warnings = list(warnings)
        self._all = list(found)
        self._of = {e.call: e for e in found}

    def with_cards(self, cards: Sequence[Card]) -> Explanations[A]:
        """A copy with the warnings from the cards of an executable. Raises ArgumentError for
        anything other than cards."""
        said = warnings_of(cards, self.target, "explain")
        for e in self._all:
            e.warnings = said
        return self

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[A]:
        return iter(self._all)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Explanations(self.target, self._all[index], self.warnings)
        if isinstance(index, int):
            return self._all[index]
        return self.of(index)[0]

    def of(self, call: Any) -> Explanations[A]:
        """The explanations of one call, given as a node or by its name in the printed module
        ("%12"), or of all calls of an operator. Raises UnknownNodeError."""
        if isinstance(call, str):
            found = [e for e in self._all if call == (e.number if call[:1] == "%" else e.name)]
        else:
            known = isinstance(call, Hashable) and call in self._of
            found = [self._of[call]] if known else []
        if not found:
            raise UnknownNodeError(f"explain: {self._unknown(call)}")
        return Explanations(self.target, found, self.warnings)

    def _unknown(self, call: Any) -> str:
        if not isinstance(call, str):
            what = describe(call) if isinstance(call, Expr) else repr(call)
            return (
                f"{what:.80} is not a call of this module. Nodes are found by identity: take it "
                f"from the module, or give its name in the text ('%12') or the name of its operator"
            )
        if call.startswith("%"):
            named = dict.fromkeys(e.number for e in self._all if e.number.startswith("%"))
            return f"the text of this module shows no call as {call}; {nearest(call, list(named))}"
        called = sorted({e.name for e in self._all})
        shown = ", ".join(called[:20]) + ", ..." * (len(called) > 20)
        return f"this module has no call of {call}; it has calls of {shown or 'no operator'}"

    @property
    def offloaded(self) -> list[A]:
        """The explanations of calls that a back end computes."""
        return [e for e in self._all if e.offloaded]

    @property
    def host(self) -> list[A]:
        """The explanations of calls that are computed elsewhere."""
        return [e for e in self._all if e.status == "host"]

    @property
    def by_cause(self) -> dict[str, list[A]]:
        """The explanations of calls that are not offloaded, by cause, the most frequent cause
        first."""
        host, groups = self.host, dict[str, list[A]]()
        for e in host[:1]:
            e.diagnose_all(host)
        for e in host:
            groups.setdefault(str(e.cause), []).append(e)
        return dict(sorted(groups.items(), key=lambda item: -len(item[1])))

    @property
    def summary(self) -> str:
        """A summary, such as "58 of 86 calls offloaded to dnnl, 2 on the host (1 no-pattern, 1
        check)"."""
        computed = Counter(str(e.back_end) for e in self.offloaded)
        own = computed.pop(self.target, 0)
        text = f"{own} of {counted(len(self), 'call')} offloaded to {self.target}"
        text += "".join(f", {count} to {other}" for other, count in computed.items())
        for place, left in self._causes_by_place().items():
            causes = ", ".join(f"{count} {cause}" for cause, count in left.items())
            text += f", {left.total()} {place} ({causes})"
        removed = sum(e.status == "removed" for e in self._all)
        return text + (f", {removed} removed" if removed else "")

    def _causes_by_place(self) -> dict[str, Counter[str]]:
        """The places of computation of calls that are not offloaded, with the number for each
        cause."""
        found: dict[str, Counter[str]] = {}
        for cause, es in self.by_cause.items():
            for e in es:
                found.setdefault(e.elsewhere, Counter())[cause] += 1
        return found

    @cached_property
    def groups(self) -> list[Group[A]]:
        """The calls that are not offloaded, grouped by reason (ignoring names and types). The most
        frequent cause is first."""
        groups: dict[tuple[str | None, ...], Group[A]] = {}
        for es in self.by_cause.values():
            for e in es:
                groups.setdefault((e.cause, VARYING.sub("", e.reason)), Group()).append(e)
        found = list(groups.values())
        for group in found:
            group.beside = found[:SHOWN]
        return found

    @printable
    def __str__(self) -> str:
        lines = [self.summary, *(f"warning: {text}" for text in self.warnings)]
        for group in self.groups[:SHOWN]:
            lines += ["", str(group)]
        if len(self.groups) > SHOWN:
            lines += ["", f"... {len(self.groups) - SHOWN} more; explanations.groups has all"]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The explanations as plain data, for JSON.

        Calls with the same reason are one group, and have the change of the group, which was tried.
        `offloads`: the number of calls of the group that it offloads.
        """
        group_of = {id(e): n for n, es in enumerate(self.groups) for e in es}
        return {
            "target": self.target,
            "summary": self.summary,
            "warnings": self.warnings,
            "calls": [{**e.row, "group": group_of.get(id(e))} for e in self._all],
            "groups": [
                {
                    "call": es[0].name,
                    "cause": es[0].cause,
                    "numbers": [e.number for e in es],
                    "change": str(es.change) if es.change else None,
                    "offloads": es.offloads,
                }
                for es in self.groups
            ],
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary}>"

    _repr_pretty_ = text_in_full

    def _repr_html_(self) -> str:
        """The summary, and a row for each group of similar calls: first the calls that are not
        offloaded."""
        titles = ("calls", "operator", "where", "why", "nearest pattern", "change")
        inside: dict[tuple[str, str | None], Group[A]] = {}
        for e in self.offloaded:
            inside.setdefault((e.name, e.pattern), Group()).append(e)
        rows = [_row(g) for g in (*self.groups, *inside.values())]
        more = f"<p>{len(rows) - SHOWN} more rows</p>" if len(rows) > SHOWN else ""
        warnings = "".join(f"<p>warning: {escape(text)}</p>" for text in self.warnings)
        return f"<p>{escape(self.summary)}</p>{warnings}{table(titles, rows[:SHOWN], (0,))}{more}"


def _row(group: Group[Any]) -> list[str]:
    first = group[0]
    if first.offloaded:
        regions = {e.region for e in group}
        where = f"@{first.region}" if len(regions) == 1 else f"{len(regions)} regions"
        alone, matched = "supported by itself", f"matched {first.pattern}"
        return [str(len(group)), first.name, where, matched if first.pattern else alone, "", ""]
    why = f"{first.cause}: {first.reason}"
    calls = f"{group.operators} ({group.numbers})" if group.numbers else group.operators
    nearest = str(first.nearest or "")
    where = ", ".join(dict.fromkeys(e.elsewhere for e in group))
    return [str(len(group)), calls, where, why, nearest, group.change_in_words]
