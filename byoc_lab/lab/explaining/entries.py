"""`explain_patterns`: tells which entries of a pattern table match, and why the others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from byoc_lab.backends.registry import is_registered
from byoc_lab.errors import ArgumentError, ByocLabError, UnknownNameError, counted
from byoc_lab.lab.explaining.diagnosis import CHANGES, Nearest
from byoc_lab.lab.explaining.inquiry import Inquiry
from byoc_lab.lab.explaining.outcome import typed_calls
from byoc_lab.lab.explaining.pattern_report import EntryReport, PatternReport
from byoc_lab.lab.explaining.setups import Setup
from byoc_lab.lab.language import language_of
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.predicates import (
    Checked,
    ask_check,
    checked_entry,
    labels,
    odd_answer,
    refusal,
)
from byoc_lab.printing import printable
from byoc_lab.relay.ir.expr import Call, Expr, Function
from byoc_lab.relay.ir.foreign import adopted
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.op.contrib import get_pattern_table
from byoc_lab.relay.patterns.below import root_operators
from byoc_lab.relay.patterns.grouping import Group, find_groups
from byoc_lab.relay.patterns.impossible import why_impossible
from byoc_lab.relay.patterns.indexed_graph import IndexedGraph
from byoc_lab.relay.patterns.partial_match import PartialMatch

MAX_CANDIDATES = 50
"""Maximum number of nodes of a module to which a pattern without matches is compared."""


def explain_patterns(
    table: str | Sequence[tuple[Any, ...]], modules: IRModule | Sequence[IRModule]
) -> PatternReport:
    """Report for each entry of a pattern table the number of its matches in `modules`, or why it
    has none.

    table: entries (name, pattern) or (name, pattern, check) as for MergeComposite, or the name of a
    registered table; for Relax, entries of FuseOpsByPattern, or the name of a back end. modules:
    inputs of MergeComposite (for Relax, FuseOpsByPattern), that is, modules after the passes that
    precede it.

    Raises PassError for a malformed entry, UnknownNameError for an unknown table, ArgumentError if
    an argument is not a module, PredicateError if a check raises an exception.
    """
    listed = [adopted(m) for m in (modules if isinstance(modules, (list, tuple)) else [modules])]
    if not all(isinstance(m, IRModule) for m in listed):
        raise ArgumentError(
            f"modules must be a module or a list of modules, found {type(modules).__name__}"
        )
    first, *others = [language_of(m, "explain_patterns") for m in listed or [IRModule()]]
    alike = 1 + sum(m.language == first.language for m in others)
    if alike <= len(others):
        raise ArgumentError(
            f"explain_patterns takes modules of one language, found {alike} of {first.language} "
            f"among {len(listed)}; call it for each language separately"
        )
    return first.explain_patterns(table, others)


def explain_relay_patterns(table: Any, modules: Sequence[IRModule]) -> PatternReport:
    """Explains the patterns of a table on Relay modules."""
    if isinstance(table, str):
        is_registered(table)  # loads the installed package that provides this back end
        found = get_pattern_table(table)
        if found is None:
            raise UnknownNameError(f"no pattern table is registered as {table!r}")
        table = found
    if not isinstance(table, (list, tuple)):
        raise ArgumentError(
            f"table must be a list of (name, pattern) or (name, pattern, check), or the name of a "
            f"registered one, found {type(table).__name__}"
        )
    entries = [checked_entry(n, entry) for n, entry in enumerate(table)]
    # Entries with the same name get different names, so that their composites can be distinguished.
    keys = labels(entries)
    merge = MergeComposite([(k, p, c) for k, (_, p, c) in zip(keys, entries, strict=True)])
    runs = [_run(m, merge) for m in modules]
    return PatternReport([_Entry(n, entries, keys, runs).report() for n in range(len(entries))])


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _run(mod: IRModule, merge: MergeComposite) -> Inquiry:
    typed, types = typed_calls(mod)
    setup = Setup.of(typed, [merge])
    return Inquiry(setup, setup.run(""), {t: c for c, t in types.items()})


@dataclass(frozen=True)
class _Merged:
    """The totals of a pattern table on some modules: merged operators, and composites."""

    operators: int
    composites: int

    @classmethod
    def of(cls, runs: Sequence[Inquiry]) -> _Merged:
        inside = sum(
            any(run.composite(n) is not None for n in run.outcome.images(c, run.matching))
            for run in runs
            for c in run.outcome.calls
        )
        return cls(inside, _composites_in(runs).total())

    def better_than(self, other: _Merged) -> bool:
        """Whether more operators are merged, or equally many into fewer composites."""
        return (self.operators, -self.composites) > (other.operators, -other.composites)

    @printable
    def __str__(self) -> str:
        return f"{counted(self.operators, 'operator')} into {counted(self.composites, 'composite')}"


def _composites_in(runs: Sequence[Inquiry]) -> Counter[str]:
    """The number of composites with each name in the results of runs."""
    finals = (f for run in runs for f in run.outcome.trace.final.functions.values())
    functions = (n for f in finals for n in post_order(f) if isinstance(n, Function))
    return Counter(str(f.attrs["Composite"]) for f in functions if "Composite" in f.attrs)


class _Entry:
    """One entry under examination."""

    def __init__(
        self, position: int, entries: Sequence[Checked], keys: Sequence[str], runs: list[Inquiry]
    ):
        self.position, self.keys, self.runs = position, keys, runs
        self.names = dict(zip(keys, (name for name, _, _ in entries), strict=True))
        self.name, self.pattern, self.check = entries[position]

    def report(self) -> EntryReport:
        impossible = why_impossible(self.pattern)
        if impossible:
            return self._report("impossible", impossible)
        groups = list(self._groups())
        accepted = [g for g in groups if self._refusal(g[2].root) is None]
        made = [g for g in accepted if self.keys[self.position] in self._composites(g)]
        own = self.keys[self.position]
        count = _composites_in(self.runs)[own]
        if groups and any(run.is_changing(self.check) for run in self.runs):
            module, _, group = groups[0]
            status, done = "refused", "matches nothing"
            if count:
                status, done = "matches", f"matches {_times(count)}"
            return self._report(
                status,
                f"{done} in this run; its check {CHANGES} match",
                module, group.root, matches=count,
            )  # fmt: skip
        if count:
            seen = made or accepted or groups  # 0 if it only matches composites
            number, root = (seen[0][0], seen[0][2].root) if seen else (None, None)
            return self._report(
                "matches", f"matches {_times(count)}{self._odd_answer(made)}", number, root,
                matches=count, alone=len(accepted),
            )  # fmt: skip
        by = dict.fromkeys(k for g in accepted for k in self._taken_by(g) if k != own)
        if accepted and not by:
            return self._of_operands(accepted)
        if accepted:
            names = tuple(self.names[k] for k in by)
            number, _, group = accepted[0]
            return self._report(
                "shadowed",
                f"would match {_times(len(accepted))}, but {' and '.join(by)} took the nodes "
                f"before; {self._moved_before(tuple(by))}",
                number, group.root, alone=len(accepted), shadowed_by=names,
            )  # fmt: skip
        if groups:
            number, _, group = groups[0]
            reason = str(self._refusal(group.root))
            return self._report("refused", reason, number, group.root)
        return self._nearest()

    def _report(
        self, status: str, reason: str, number: int | None = None, node: Expr | None = None,
        **more: Any,
    ) -> EntryReport:  # fmt: skip
        """number: the position of a module. node: the witness, a node of this module at the time of
        matching."""
        place = ""
        if number is not None and node is not None:
            run = self.runs[number]
            place = run.called(node)
            node = (run.origin(node) if isinstance(node, Call) else None) or node
            node = run.given.get(node, node) if isinstance(node, Call) else node
        return EntryReport(
            self.position, self.name, status, reason, witness=node, place=place, module=number,
            **more,
        )  # fmt: skip

    def _groups(self) -> Iterator[tuple[int, Inquiry, Group]]:
        """The matches if the table has no other entry, each with the position and the run of its
        module."""
        for number, run in enumerate(self.runs):
            for graph in run.graphs:
                for group in find_groups(self.pattern, graph):
                    yield number, run, group

    def _of_operands(self, accepted: Sequence[tuple[int, Inquiry, Group]]) -> EntryReport:
        """The entry would match if it were the only one, but earlier entries made composites of
        operands."""
        number, _, group = accepted[0]
        by = dict.fromkeys(
            k
            for _, run, g in accepted
            for n in g.inputs
            if isinstance(n, Call) and (k := run.composite(n)) is not None
        )
        names = tuple(self.names[k] for k in by)
        reason = f"would match {_times(len(accepted))} as the only entry"
        if by:
            reason += (
                f", but {' and '.join(by)} made composites of operands before; "
                f"{self._moved_before(tuple(by))}"
            )
        return self._report(
            "shadowed", reason, number, group.root, alone=len(accepted), shadowed_by=names
        )

    def _moved_before(self, others: Sequence[str]) -> str:
        """Describe the result of moving the entry before others, by running the moved table."""
        first = min(map(self.keys.index, others))
        moved = list(self.runs[0].table)
        moved.insert(first, moved.pop(self.position))
        name, other = self.keys[self.position], self.keys[first]
        try:
            merge = MergeComposite(moved)
            runs = [_run(run.setup.mod, merge) for run in self.runs]
        except ByocLabError as error:
            return f"if it were moved before {other}, the pass would fail: {error}"
        now, then = _Merged.of(self.runs), _Merged.of(runs)
        if then.better_than(now):
            return f"move {name} before {other}, which merges {then}, not {now}"
        if now.better_than(then):
            return f"leave the order: {name} before {other} merges {then}, not {now}"
        return f"{name} before {other} merges as much, {then}"

    def _answer(self, root: Expr) -> object:
        return self.check is None or ask_check(self.check, root, self.name)

    def _odd_answer(self, found: Sequence[tuple[int, Inquiry, Group]]) -> str:
        """A return value of the check that counts as True but may not be intended, in words."""
        odd = next((o for *_, g in found if (o := odd_answer(self._answer(g.root)))), "")
        return odd and f"; its check {odd}"

    def _refusal(self, root: Expr) -> str | None:
        answer = self._answer(root)
        return None if answer else refusal(f"the check of {self.name}", root, answer)

    def _composites(self, found: tuple[int, Inquiry, Group]) -> Sequence[str]:
        _, run, group = found
        if isinstance(group.root, Call):
            return run.composites(group.root)
        # a tuple or a field: the composites of the calls in it
        return list(self._taken_by(found))[:1]

    def _taken_by(self, found: tuple[int, Inquiry, Group]) -> Iterator[str]:
        _, run, group = found
        for node in group.body:
            name = run.composite(node) if isinstance(node, Call) else None
            if name is not None:
                yield name

    def _nearest(self) -> EntryReport:
        """The report of an entry without matches: its best partial match."""
        best: tuple[PartialMatch, Expr, int, Inquiry] | None = None
        for number, run in enumerate(self.runs):
            for graph in run.graphs:
                for root in self._candidates(graph):
                    fit = run.matcher(self.position, graph).fit(root)
                    if best is None or fit.rank > best[0].rank:
                        best = fit, root, number, run
        if best is None:
            roots = root_operators(self.pattern)
            what = " or ".join(sorted(roots)) if roots else "what it begins with"
            return self._report("never", f"no module has {what}")
        fit, root, number, run = best
        near = Nearest(self.name, fit)
        if not fit.stops:
            reason = "a value inside the match is also used outside of it"
            return self._report("used outside", reason, number, root, nearest=near)
        stop = fit.stops[0]
        return self._report(
            "never",
            f"{fit} parts match at best, counted from its end: expects {stop.expected}, found "
            f"{stop.seen(run.described)}",
            number, root, nearest=near,
        )  # fmt: skip

    def _candidates(self, graph: IndexedGraph) -> list[Expr]:
        roots = root_operators(self.pattern)
        if roots is None:
            return graph.nodes[-MAX_CANDIDATES:]
        return [c for name in sorted(roots) for c in graph.calls_of.get(name, ())][:MAX_CANDIDATES]
