"""`PassRecord`: one run of a pass, its rewrites, and the origins of the nodes of its result."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from byoc_lab.errors import StageIndexError
from byoc_lab.lab.diffing import Diff, diff_of
from byoc_lab.lab.tracing.events import Events, Notes
from byoc_lab.lab.tracing.provenance import Provenance
from byoc_lab.lab.tracing.replay import is_typed, replay, typed_if_possible
from byoc_lab.passes.framework.hook import Sentence
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.unparsed import UnparsedModule
from byoc_lab.relay.typing.infer import infer_module


@dataclass(eq=False)
class PassRecord:
    """One pass that ran or was skipped. The subclass `Stage` describes the fields."""

    index: int
    name: str
    before: IRModule
    after: IRModule | None
    seconds: float = 0.0
    events: Events = field(default_factory=Events)
    error: Exception | None = None
    skipped: str = ""
    group: str = ""
    notes: Notes = field(default_factory=Notes)
    needs_level: int | None = None
    nested: tuple[PassRecord, ...] = ()
    opt_level: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The fields, without cached values."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def changed(self) -> bool:
        """Whether the pass changed the structure of the module."""
        if self.after is None or self.after is self.before:
            return False
        if isinstance(self.before, UnparsedModule) or isinstance(self.after, UnparsedModule):
            return bool(self.diff())
        return not structural_equal(self.before, self.after)

    @property
    def outcome(self) -> str:
        """ "failed", "skipped", "changed" or "unchanged"."""
        if self.error is not None:
            return "failed"
        return "skipped" if self.skipped else "changed" if self.changed else "unchanged"

    def state_after(self, count: int) -> IRModule:
        """The module after the first `count` rewrites of this pass.

        After all rewrites it is the result of the pass, with the same types. Before that it may be
        malformed, and then its new nodes have no types. It contains all data types that the pass
        defines. Raises StageIndexError if `count` is out of range.
        """
        if not 0 <= count <= len(self.events):
            raise StageIndexError(
                f"count must be in [0, {len(self.events)}], found {count}; these are the rewrites "
                f"of {self.name}"
            )
        mod = replay(self.before, self.events[:count])
        if self.after is None:
            return mod
        mod.type_definitions.update(self.after.type_definitions)
        if not is_typed(self.after):
            return mod
        if count == len(self.events):
            return infer_module(mod)
        return typed_if_possible(mod) if is_typed(self.before) else mod

    @cached_property
    def provenance(self) -> Provenance:
        """The origins of the nodes of the result in the input. Without a result, the input counts
        as the result."""
        same: PassRecord | None = self.__dict__.get("_same")
        if same is not None:
            return same.provenance
        after = self.after if self.after is not None else self.before
        reported = {event.round for event in self.events}
        told = (n.told.round for n in self.notes if isinstance(n.told, Sentence))
        others = [found for found in dict.fromkeys(told) if found not in reported]
        return Provenance(self.before, after, self.events, rounds=others)

    def origins(self, node: Expr) -> tuple[Expr, ...]:
        """The nodes of `before` that `node`, of `after`, originates from, the nearest first.

        Empty for a node that a rewrite inserted; `rule_of` names the rule. If the pass reports no
        rewrites: the node that the diff pairs with `node`. Raises UnknownNodeError.
        """
        found = self.provenance.origins(node)
        return found or self._paired(node, "to_before")

    def images(self, node: Expr) -> tuple[Expr, ...]:
        """The nodes of `after` that originate from `node`, of `before`, the nearest first: `b` is
        in `images(a)` if and only if `a` is in `origins(b)`. Raises UnknownNodeError."""
        found = self.provenance.images(node)
        return found or self._paired(node, "to_after")

    def _paired(self, node: Expr, direction: str) -> tuple[Expr, ...]:
        """The node that the diff pairs with a node, if the pass reported no rewrites."""
        if self.is_reported:
            return ()
        partner = getattr(self._diff.correspondence, direction).get(node)
        return () if partner is None else (partner,)

    def rule_of(self, node: Expr) -> str:
        """The rule that created `node`, of `after`; "" if it is a node of `before` with at most new
        operands or types, or if the pass did not report the rule. Raises UnknownNodeError."""
        return self.provenance.rule(node)

    def diff(self) -> Diff:
        """The diff of the modules before and after the pass, using the provenance of the nodes."""
        return self._diff

    @cached_property
    def _diff(self) -> Diff:
        after = self.after if self.after is not None else self.before
        return diff_of(self.before, after, self._lineage)

    @cached_property
    def is_reported(self) -> bool:
        """Whether the pass reported its rewrites, so that `provenance` knows each node.

        A pass without reports may have changed everything. So may a function of the user: the
        passes that it runs report their rewrites, but its own changes are unknown. If the only
        event of a round replaces a whole function, its report is not useful: each new node then
        originates from every old node.
        """
        if isinstance(self.before, UnparsedModule) or isinstance(self.after, UnparsedModule):
            return False
        after = {} if self.after is None else self.after.functions
        if not self.events:
            return all(map(self.provenance.is_reported, after.values()))
        kept = {gv.name_hint for gv in self.before.functions}
        functions = (f for gv, f in after.items() if gv.name_hint in kept)
        if not all(map(self.provenance.is_reported, functions)):
            return False  # the user's function itself changed the module
        rewrites = Counter(event.round for event in self.events)
        return not any(
            rewrites[e.round] == 1 and e.round is not None and e.before is e.round.root
            for e in self.events
        )

    def _lineage(self) -> Provenance | None:
        return self.provenance if self.is_reported else None
