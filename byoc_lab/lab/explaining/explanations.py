"""`Explanations`: the answers about the calls of a module."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from html import escape
from typing import Any, overload

from byoc_lab.errors import UnknownNodeError, counted
from byoc_lab.lab.explaining.explanation import Explanation
from byoc_lab.markup import table
from byoc_lab.relay.ir.expr import Call, Expr, describe

SHOWN = 30
"""Groups of calls that a text or table has."""
NAMED = 5
"""Calls of a group that are named."""
VARYING = re.compile(r"%[\w.:]+|result of @\w+|Tensor\[[^\]]*\]")
"""What differs between the explanations of two calls that are alike: names and types."""


class Explanations(Sequence[Explanation]):
    """The explanations of the calls of a module, in its order; displays itself as a table.

    `explanations[call]` is the one of a call, `explanations.host` has those that are not offloaded,
    `explanations.by_cause` has these by cause. `explanations.warnings`: answers of checks and
    predicates of the back end that count as True and may not be meant so.
    """

    def __init__(self, target: str, found: Sequence[Explanation], warnings: Sequence[str] = ()):
        self.target = target
        self.warnings = list(warnings)
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
            return Explanations(self.target, self._all[index], self.warnings)
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
        text = f"{counts['offloaded']} of {counted(len(self), 'call')} offloaded to {self.target}"
        if counts["host"]:
            causes = ", ".join(f"{len(es)} {cause}" for cause, es in self.by_cause.items())
            text += f", {counts['host']} on the host ({causes})"
        return text + (f", {counts['removed']} removed" if counts["removed"] else "")

    @cached_property
    def groups(self) -> list[list[Explanation]]:
        """Those that are not offloaded; those with the same reason are one group, names and types
        aside: calls of one operator, or the parts of one match. The most frequent cause is first.
        """
        groups: dict[tuple[str | None, ...], list[Explanation]] = {}
        for es in self.by_cause.values():
            for e in es:
                groups.setdefault((e.cause, VARYING.sub("", e.reason)), []).append(e)
        return list(groups.values())

    def __str__(self) -> str:
        lines = [self.summary, *(f"warning: {text}" for text in self.warnings)]
        for group in self.groups[:SHOWN]:
            first = group[0]
            if len(group) == 1:
                lines += ["", str(first)]
            else:
                head = f"{len(group)} calls of {_operators(group)} {first.where}: {first.cause}"
                lines += ["", f"{head} ({_numbers(group)})", *first.about, _change_line(group)]
        if len(self.groups) > SHOWN:
            lines += ["", f"... {len(self.groups) - SHOWN} more; explanations.groups has all"]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The explanations as plain data, for JSON.

        Calls with the same reason are one group, and the change is that of the first call of the
        group, which was tried. `offloads`: how many calls of the group it offloads.
        """
        groups = self.groups
        group_of = {e: n for n, es in enumerate(groups) for e in es}
        return {
            "target": self.target,
            "summary": self.summary,
            "warnings": self.warnings,
            "calls": [{**e.as_dict(change=False), "group": group_of.get(e)} for e in self._all],
            "groups": [
                {
                    "call": es[0].name,
                    "cause": es[0].cause,
                    "numbers": [e.number for e in es],
                    "change": str(es[0].change) if es[0].change else None,
                    "offloads": _offloaded_by_change(es),
                }
                for es in groups
            ],
        }

    def __repr__(self) -> str:
        return f"<Explanations: {self.summary}>"

    def _repr_html_(self) -> str:
        """The summary, and a row for each group of alike calls: first those on the host."""
        titles = ("operator", "calls", "where", "why", "nearest pattern", "change")
        inside: dict[tuple[str, str | None], list[Explanation]] = {}
        for e in self.offloaded:
            inside.setdefault((e.name, e.pattern), []).append(e)
        rows = [_row(g) for g in (*self.groups, *inside.values())]
        more = f"<p>{len(rows) - SHOWN} more rows</p>" if len(rows) > SHOWN else ""
        warnings = "".join(f"<p>warning: {escape(text)}</p>" for text in self.warnings)
        return f"<p>{escape(self.summary)}</p>{warnings}{table(titles, rows[:SHOWN])}{more}"


def _numbers(group: Sequence[Explanation]) -> str:
    """What the text calls the calls of a group."""
    shown = [e.number for e in group if e.number][:NAMED]
    rest = len(group) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def _operators(group: Sequence[Explanation]) -> str:
    """Such as "nn.conv2d and nn.relu"."""
    return " and ".join(dict.fromkeys(e.name for e in group))


def _offloaded_by_change(group: Sequence[Explanation]) -> int:
    """The number of calls of a group that the change of the first one offloads."""
    change = group[0].change
    return 0 if change is None else sum(change.offloads(e.typed) for e in group)


def _change(group: Sequence[Explanation]) -> str:
    """The change of a group in words: that of its first call, and how many it offloads."""
    first, count = group[0], _offloaded_by_change(group)
    some = f" (offloads {count} of these {len(group)})" if 0 < count < len(group) else ""
    return f"{first.change or first.without_change}{some}"


def _change_line(group: Sequence[Explanation]) -> str:
    return f"  change    {_change(group)}"


def _row(group: Sequence[Explanation]) -> list[str]:
    first = group[0]
    if first.offloaded:
        regions = {e.region for e in group}
        where = f"@{first.region}" if len(regions) == 1 else f"{len(regions)} regions"
        return [first.name, str(len(group)), where, str(first.pattern or "taken alone"), "", ""]
    why = f"{first.cause}: {first.reason}"
    calls = f"{len(group)}: {_numbers(group)}"
    nearest = str(first.nearest or "")
    return [_operators(group), calls, "host", why, nearest, _change(group)]
