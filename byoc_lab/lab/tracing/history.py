"""`History`: follows a node through all stages of a trace, to the kernels that compute it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from byoc_lab.errors import UnknownNodeError, counted
from byoc_lab.lab.tracing.nodes import has_origin
from byoc_lab.lab.tracing.pass_record import PassRecord
from byoc_lab.lab.tracing.provenance import Nodes
from byoc_lab.printing import printable
from byoc_lab.relay.ir.expr import Expr, describe
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order

if TYPE_CHECKING:
    from byoc_lab.run.executable import Executable
    from byoc_lab.run.metering.cards import RegionCard


@dataclass(frozen=True, eq=False)
class HistoryStep:
    """The nodes after a pass that correspond to one node.

    name: the name of the pass; "input" for the module before the first pass. nodes: its origins or
    images, nearest first. rules: the rules that created some of these nodes.
    """

    name: str
    nodes: Nodes
    rules: tuple[str, ...] = ()

    @printable
    def __str__(self) -> str:
        shown = ", ".join(dict.fromkeys(map(describe, self.nodes))) or "nothing"
        return f"{self.name}: {shown}" + (f" ({', '.join(self.rules)})" if self.rules else "")


class History:
    """A node through all stages: one step for the input, and one for each stage.

    Steps before `first` have the origins of the node, steps after `last` its images. node: the
    requested node. first, last: the first and last module that contains it, by the number of stages
    before the module.
    """

    def __init__(self, stages: Sequence[PassRecord], node: Expr):
        self.node = node
        self.first, self.last = _modules_with(stages, node)
        self._stages = stages

    @cached_property
    def steps(self) -> tuple[HistoryStep, ...]:
        """The nodes that correspond to the node in each module: the input, and the result of each
        stage."""
        nodes: list[Nodes] = [()] * (len(self._stages) + 1)
        nodes[self.first] = (self.node,)
        for n, stage in enumerate(self._stages[self.first :], self.first):
            nodes[n + 1] = _union(stage.images(x) for x in nodes[n])
        back: Nodes = (self.node,)
        for n in range(self.last, 0, -1):
            back = _union(self._stages[n - 1].origins(x) for x in back)
            nodes[n - 1] = _union((nodes[n - 1], back))
        steps = [HistoryStep("input", nodes[0])]
        for n, stage in enumerate(self._stages, 1):
            rules = dict.fromkeys(stage.rule_of(x) for x in nodes[n])
            steps.append(HistoryStep(stage.name, nodes[n], tuple(r for r in rules if r)))
        return tuple(steps)

    @property
    def origins(self) -> Nodes:
        """The nodes of the pipeline's input that the node originates from."""
        return self.steps[0].nodes

    @property
    def images(self) -> Nodes:
        """The nodes of the pipeline's result that originate from the node."""
        return self.steps[-1].nodes

    @property
    def regions(self) -> tuple[str, ...]:
        """The names of the external functions of the result that compute the node."""
        if not self._stages:
            return ()
        inside = set(self.images)
        functions = _result(self._stages[-1]).functions
        return tuple(
            gv.name_hint
            for gv, func in functions.items()
            if "Compiler" in func.attrs and any(n in inside for n in post_order(func.body))
        )

    def cards(self, built: Executable) -> tuple[RegionCard, ...]:
        """The cards of the regions that compute the node, with their kernels. built: the executable
        of the pipeline's result (`byoc_lab.build(trace.result)`)."""
        wanted = set(self.regions)
        return tuple(card for card in built.cards() if card.symbol in wanted)

    @printable
    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))

    def __repr__(self) -> str:
        return f"<history of {describe(self.node)}: {counted(len(self.steps), 'step')}>"


def _modules_with(stages: Sequence[PassRecord], node: Expr) -> tuple[int, int]:
    """The first and the last module that contain a node, by the number of stages before the
    module."""
    found = [n for n, stage in enumerate(stages, 1) if node in stage.provenance.results]
    if stages and node in stages[0].provenance.inputs:
        found.insert(0, 0)
    if found:
        return found[0], found[-1]
    hint = "" if has_origin(node) else "; operators and names of functions have no history"
    raise UnknownNodeError(
        f"{describe(node)} is in no module of the trace{hint}. Nodes are found by identity: take "
        f"them from a stage's before or after, or from trace.initial"
    )


def _union(found: Iterable[Nodes]) -> Nodes:
    return tuple(dict.fromkeys(node for nodes in found for node in nodes))


def _result(stage: PassRecord) -> IRModule:
    return stage.after if stage.after is not None else stage.before
