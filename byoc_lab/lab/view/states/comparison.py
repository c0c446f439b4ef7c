"""The state (`messages.State`) of two traces side by side.

It is the state of a trace whose stages are the pairs of the comparison: `before` is the module of
the first trace, `after` the module of the second; `replaced` has the ids of corresponding nodes
that differ.

In each pair, a node of the second module has the id of its partner in the first module; nodes
without partners have new ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from byoc_lab.errors import counted
from byoc_lab.lab.comparing import Comparison, StagePair
from byoc_lab.lab.comparing.comparison import moves_text
from byoc_lab.lab.diffing import Diff
from byoc_lab.lab.linting import Finding
from byoc_lab.lab.tracing import Stage
from byoc_lab.lab.tracing.nodes import nodes_of
from byoc_lab.lab.view.messages import Move, Outcome, State
from byoc_lab.lab.view.messages import Stage as StageSent
from byoc_lab.lab.view.states.captions import outcome
from byoc_lab.lab.view.states.hunks import lines_and_hunks
from byoc_lab.lab.view.states.ids import Ids
from byoc_lab.lab.view.states.stage import new_stage
from byoc_lab.lab.view.states.state import MAX_EVENTS, Builder
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.unparsed import UnparsedModule

SAME: Outcome = {**outcome("unchanged"), "word": "same"}
DIFFERS: Outcome = {**outcome("changed"), "word": "differs"}
DIFFERS_FIRST: Outcome = {"sign": "◆", "word": "differs first here", "kind": "first"}
# changes of a node that stays in its position
OF_THE_NODE = ("attribute", "constant", "operands", "type")


def comparison_state(comparison: Comparison) -> State:
    """The state of a `Comparison`."""
    return _Sides(comparison).state()


class _Sides:
    """Builds the modules of both traces with one set of ids."""

    def __init__(self, comparison: Comparison):
        self.comparison = comparison
        self.ids = Ids()
        self.builders = Builder(self.ids), Builder(self.ids)
        self.builders[1].modules = self.builders[0].modules
        self.made: dict[Diff, tuple[int, int, list[Any]]] = {}  # modules shared by equal pairs
        titles = comparison.titles
        if titles[0] == titles[1]:
            titles = "the first", "the second"
        self.names = dict(zip(("first", "second"), titles, strict=True))
        starts = comparison.first.stages[0], comparison.second.stages[0]
        self.findings: list[Iterable[Finding]] = [stage.findings_before for stage in starts]
        for builder, stage in zip(self.builders, starts, strict=True):
            builder.number(stage)

    def state(self) -> State:
        comparison = self.comparison
        first = comparison.first_difference
        builder = self.builders[0]
        builder.opens = 0 if first is None else comparison.pairs.index(first)
        stages = [self.stage(pair) for pair in comparison.pairs]
        made = builder.state("comparison", comparison.title, stages)
        titles, names = comparison.titles, self.names
        words = {
            "before": f"First: {titles[0]}",
            "after": f"Second: {titles[1]}",
            "isNew": f"only in {names['second']}",
            "gone": f"Only in {names['first']}",
            "fresh": "differs",
            "changedOnly": "Different only",
        }
        return {**made, "words": words}

    def stage(self, pair: StagePair) -> StageSent:
        for side, stage in enumerate((pair.first, pair.second)):
            if stage is not None:
                self.follow(side, stage)
        made = new_stage(pair.name, pair.differs, None, *self.modules(pair))
        if pair.differs:
            self.builders[0].add_changes(made, pair.diff())
        made["caption"] = self.caption(pair)
        made["outcome"] = self.outcome(pair)
        made["note"] = f"only in {self.names[pair.only_in]}" if pair.only_in else ""
        made["moved"], made["moved_total"] = self.moved(pair), len(pair.moved)
        made["replaced"] = self.replaced(pair)
        return made

    def modules(self, pair: StagePair) -> tuple[int, int, list[Any]]:
        """The positions of the modules of a pair, and the hunks of their diff."""
        first, second, delta = pair.first_module, pair.second_module, pair.diff()
        left, right = self.builders
        if self.ids.share(pair.partners, _nodes(first), _nodes(second)):
            for drawn in (right.known, right.drawn, self.made):
                drawn.clear()
        if delta not in self.made:
            before, after, hunks = lines_and_hunks(delta)
            b = left.module(first, before, self.findings[0])
            a = (left if first is second else right).module(second, after, self.findings[1])
            self.made[delta] = b, a, hunks
        return self.made[delta]

    def follow(self, side: int, stage: Stage) -> None:
        """Give the nodes of a stage's result their ids, and record its findings."""
        builder = self.builders[side]
        builder.number(stage)
        self.findings[side] = stage.findings_after
        if stage.after is None:
            return
        if stage.is_reported:
            self.ids.follow(stage.provenance)
        else:
            builder.pair(stage.diff())

    def caption(self, pair: StagePair) -> str:
        """Describe the differences after a stage in sentences."""
        names, first = self.names, pair is self.comparison.first_difference
        said = ["The first difference."] if first else []
        for side, stage in (("first", pair.first), ("second", pair.second)):
            if stage is not None and stage.error is not None:
                said.append(f"In {names[side]}, {pair.name} raised {type(stage.error).__name__}.")
        if pair.only_in:
            said.append(f"Only {names[pair.only_in]} has the pass {pair.name}.")
        if not pair.differs:
            return " ".join([*said, "The two modules are the same."])
        found = pair.summary
        if pair.moved:  # the page lists the moved operators below, with all other changes
            found = (
                f"{moves_text(pair.moved)}; {counted(len(pair.diff().changes), 'change')} in all"
            )
        return " ".join([*said, f"From {names['first']} to {names['second']}: {found}."])

    def outcome(self, pair: StagePair) -> Outcome:
        if pair is self.comparison.first_difference:
            return DIFFERS_FIRST
        return DIFFERS if pair.differs else SAME

    def moved(self, pair: StagePair) -> list[Move]:
        counts = Counter(move.way for move in pair.moved)
        in_groups = sorted(pair.moved, key=lambda move: move.way)
        return [
            {
                "way": f"{move.way} ({counts[move.way]})",
                "text": f"{move.operator}: {move.source} → {move.target}",
                "node": self.ids.get(move.second),
            }
            for move in in_groups[:MAX_EVENTS]
        ]

    def replaced(self, pair: StagePair) -> list[str]:
        changes = pair.diff().changes if pair.differs else []
        nodes = [c.after for c in changes if c.kind in OF_THE_NODE and c.before is not None]
        nodes += [move.second for move in pair.moved]
        return sorted({ident for node in nodes if (ident := self.ids.get(node))})


def _nodes(mod: IRModule) -> Iterable[Expr]:
    return () if isinstance(mod, UnparsedModule) else nodes_of(mod)
