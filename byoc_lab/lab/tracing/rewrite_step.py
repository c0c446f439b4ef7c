"""`RewriteStep`: a single rewrite of a pass."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import NamedTuple

from byoc_lab.lab.diffing import Diff
from byoc_lab.lab.diffing.result import no_lineage
from byoc_lab.lab.diffing.side import Side
from byoc_lab.lab.tracing.lineage import ComposedLineage
from byoc_lab.lab.tracing.provenance import Provenance
from byoc_lab.passes.framework.hook import Event
from byoc_lab.relay.analysis.region_numbers import Numbers
from byoc_lab.relay.ir.module import IRModule


class Followed(NamedTuple):
    """A state of a pass between two rewrites, with the origins of its nodes in the input and the
    numbers of its regions."""

    side: Side
    provenance: Provenance
    numbers: Numbers


class RewriteStep:
    """One rewrite, with the modules before and after it.

    event: the rewrite. before, after: the states of the pass around it. provenances: the origins of
    the nodes of both states in the input of the pass. is_reported: see `Stage.is_reported`.
    """

    def __init__(
        self, event: Event, is_reported: bool, states: Callable[[], tuple[Followed, Followed]]
    ):
        """states: returns the states before and after the rewrite."""
        self.event, self.is_reported = event, is_reported
        self._computed = states

    @cached_property
    def _states(self) -> tuple[Followed, Followed]:
        return self._computed()

    @property
    def before(self) -> IRModule:
        return self._states[0].side.module

    @property
    def after(self) -> IRModule:
        return self._states[1].side.module

    @property
    def provenances(self) -> tuple[Provenance, Provenance]:
        return self._states[0].provenance, self._states[1].provenance

    @property
    def numbers(self) -> tuple[Numbers, Numbers]:
        """The numbers of the regions in the two states, by begin."""
        return self._states[0].numbers, self._states[1].numbers

    @cached_property
    def diff(self) -> Diff:
        """The diff of the two states; nodes that kept their position are paired with themselves."""
        sides = self._states[0].side, self._states[1].side
        lineage = partial(_lineage, *self.provenances) if self.is_reported else no_lineage
        return Diff(self.before, self.after, lineage, sides)


def _lineage(first: Provenance, second: Provenance) -> ComposedLineage:
    """Pairs the nodes of two states of a pass that are in the same position."""
    nodes = {at: node for node, at in first.positions.items()}
    pairs = {nodes[at]: node for node, at in second.positions.items() if at in nodes}
    return ComposedLineage([pairs])
