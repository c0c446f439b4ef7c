"""`Numbering`: the numbers of the regions of a stage, in every state of its pass.

If a pass keeps a begin annotation, its number stays. A begin annotation that the pass creates has,
in all states, the number of its region in the result. `relay.analysis.region_numbers` computes the
number of a region from the numbers of its begins. An external function has the number of the region
from which it was made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from byoc_lab.lab.tracing.nodes import nodes_of
from byoc_lab.lab.tracing.pass_record import PassRecord
from byoc_lab.lab.tracing.provenance import Provenance
from byoc_lab.passes.framework.hook import Round
from byoc_lab.relay.analysis.annotations import BEGIN, is_annotation
from byoc_lab.relay.analysis.region_numbers import Numbers, module_numbers, region_numbers
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.unparsed import UnparsedModule
from byoc_lab.relay.ir.visit import post_order


class Numbering:
    """The numbers of the regions of one stage, by begin and external function.

    before: returns the numbers in its input; by default they are computed from the input alone.
    """

    def __init__(self, stage: PassRecord, before: Callable[[], Numbers] | None = None):
        self._stage = stage
        self._numbers_before = before
        self._of_round: dict[Round, Numbers] = {}

    @cached_property
    def before(self) -> Numbers:
        """The numbers in the input."""
        known = self._numbers_before
        return module_numbers(self._stage.before) if known is None else known()

    @cached_property
    def after(self) -> Numbers:
        """The numbers in the result; in the input if there is no result."""
        after = self._stage.after
        if after is None or after is self._stage.before:
            return self.before
        return module_numbers(after, self._kept)

    @cached_property
    def _kept(self) -> Numbers:
        """The numbers of annotations and external functions that originate from regions of the
        input."""
        after = self._stage.after
        named = [] if after is None or not self.before else _named(after)
        found = {node: self._kept_number(node) for node in named}
        return {node: number for node, number in found.items() if number is not None}

    def _kept_number(self, node: Expr) -> int | None:
        """The number of the region of the input that a node of the result originates from."""
        provenance = self._stage.provenance
        position = provenance.position(node)
        if position in self.before:
            return self.before[position]
        sources, _ = self._added.get(position, ((), None))
        positions = [provenance.position(source) for source in sources]
        if not positions or not all(map(provenance.is_input, positions)):
            # slower: follows every node through all steps
            positions = list(self._stage.origins(node))
        return next((self.before[n] for n in positions if n in self.before), None)

    @cached_property
    def _created(self) -> Numbers:
        """The numbers of annotations that the pass created, by the created node."""
        position = self._stage.provenance.position
        created = ((position(node), number) for node, number in self.after.items())
        return {node: number for node, number in created if node not in self.before}

    def number_of(self, node: Expr) -> int | None:
        """The number of a begin annotation or an external function, of the input or that the pass
        created; None for a function that was not a region."""
        if node in self.before:
            return self.before[node]
        sources, found = self._added.get(node, ((), None))
        if found is None:
            return self._created.get(node)
        numbers = self.of_round(found)
        return next((numbers[node] for node in sources if node in numbers), None)

    @cached_property
    def _added(self) -> dict[Expr, tuple[Sequence[Expr], Round | None]]:
        """For each function that the pass adds: its source nodes, and the round whose root contains
        them."""
        added: dict[Expr, tuple[Sequence[Expr], Round | None]] = {}
        following: Round | None = None
        for event in reversed(self._stage.events):
            if event.round is not None:
                following = event.round
            elif event.before is None and event.after is not None:
                added[event.after] = event.sources or (), following
        return added

    def of_state(self, mod: IRModule, provenance: Provenance) -> Numbers:
        """The numbers in a state between two rewrites. provenance: the origins of its nodes in the
        input."""
        positions = {node: provenance.position(node) for node in _named(mod)}
        return module_numbers(mod, self._known(positions, self.before)) if positions else {}

    def of_function(self, func: Expr, found: Round, positions: Mapping[Expr, Expr]) -> Numbers:
        """The numbers in a function between two rewrites of a round. positions: maps its nodes to
        the nodes of the root at their positions."""
        begins = (n for n in post_order(func) if is_annotation(n, BEGIN))
        of_begin: dict[Expr, Expr] = {begin: positions.get(begin, begin) for begin in begins}
        return region_numbers(func, self._known(of_begin, self.of_round(found)))

    def of_round(self, found: Round) -> Numbers:
        """The numbers in the root of a round."""
        if found not in self._of_round:
            provenance = self._stage.provenance
            begins = (n for n in post_order(found.root) if is_annotation(n, BEGIN))
            known = self._known({b: provenance.position(b) for b in begins}, self.before)
            if not provenance.is_unchanged(found):
                known = region_numbers(found.root, known)
            self._of_round[found] = known
        return self._of_round[found]

    def _known(self, positions: Mapping[Expr, Expr], earlier: Numbers) -> Numbers:
        """The numbers of nodes whose position had a number earlier, or that the pass created."""
        known = {b: earlier[position] for b, position in positions.items() if position in earlier}
        for node, position in positions.items():
            if node not in known and (number := self.number_of(position)) is not None:
                known[node] = number
        return known


def _named(mod: IRModule) -> list[Expr]:
    """The nodes that carry region numbers."""
    if isinstance(mod, UnparsedModule):
        return []
    external = [func for func in mod.functions.values() if "Compiler" in func.attrs]
    return [*external, *(n for n in nodes_of(mod) if is_annotation(n, BEGIN))]
