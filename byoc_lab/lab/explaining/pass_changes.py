"""Changes of the passes of a pipeline: passes added, moved or left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from byoc_lab.errors import enumerated
from byoc_lab.lab.explaining.diagnosis import Diagnosis
from byoc_lab.lab.explaining.inquiry import Inquiry
from byoc_lab.lab.explaining.recipes import (
    FOLDED,
    FOLDING,
    called,
    composers,
    integer_forms,
    merging,
    misplaced,
    other_forms,
    quantised_folding,
    simplifiers,
)
from byoc_lab.lab.explaining.setups import Setup
from byoc_lab.lab.explaining.trials import Trial
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.fold.fold_constant import FOLD_QNN, FoldConstant
from byoc_lab.passes.framework.passes import Pass, leaves, make_pass
from byoc_lab.passes.simplify.canonicalize_ops import CanonicalizeOps
from byoc_lab.passes.simplify.simplify_inference import SimplifyInference
from byoc_lab.relay.ir.expr import Call


class PassChanges:
    """The changes of the passes of a setup that may offload calls of an inquiry."""

    def __init__(self, inquiry: Inquiry):
        self.inquiry = inquiry
        self._made: dict[str, Pass] = {FOLD_QNN: FoldConstant(fold_qnn=True)}

    def passes(self, found: Diagnosis) -> Iterator[Trial]:
        """Changes that run a simplifying pass on the obstacle before patterns are matched."""
        there = {getattr(p, "name", "") for p in self.inquiry.setup.passes}
        if (annotate := self.inquiry.annotate_target) is not None:
            for name in composers(self.inquiry, found.subject):
                if name not in there:
                    yield self._with_passes(name, at=annotate[0])
        for name in simplifiers(found):
            if name not in there:
                yield self._with_passes(name)
                yield self._with_passes(name, "FoldConstant")
                yield self._with_passes(name, *FOLDING)
        supported = found.cause != "no-pattern"
        if self._preparing and (supported or found.subject.op_name == FOLDED):
            yield self._with_passes(*self._preparing)
        suspects = [found.subject, *([found.stop.found] if found.stop else [])]
        if any(map(self.inquiry.is_computed_constant, suspects)):
            yield self._with_passes("FoldConstant")
            yield self._with_passes(*FOLDING)
            yield self._with_passes(FOLD_QNN)
        for name in self._integer_forms:
            if name not in there:
                yield self._with_passes(name)
                for at in quantised_folding(self.inquiry.setup.passes):
                    yield self._with_passes(name, at=at)
        if merged := merging(found):
            yield self._with_passes(*merged)
        for place, new in misplaced(self.inquiry.setup.passes, self._position()):
            yield self._moved(place, new)

    @cached_property
    def _integer_forms(self) -> list[str]:
        return integer_forms(self._order)

    @cached_property
    def _other_forms(self) -> tuple[tuple[str, Pass, bool], ...]:
        return tuple(other_forms(self._order))

    @cached_property
    def _preparing(self) -> tuple[str, ...]:
        """The simplifying and folding passes for operators of the module that the pipeline
        lacks."""
        there = {getattr(p, "name", "") for p in self.inquiry.setup.passes}
        operators = {c.op_name for c in self._order}
        names = [
            simplify.__name__
            for simplify in (SimplifyInference, CanonicalizeOps)
            if simplify.__name__ not in there and not operators.isdisjoint(simplify.replaces)
        ]
        return (*names, *FOLDING) if names else ()

    def _with_passes(self, *names: str, at: int | None = None) -> Trial:
        """Insert passes before the pass at a position: by default the pass that looks for operators
        to offload."""
        setup = self.inquiry.setup
        position = self._position() if at is None else at
        listed = enumerated(dict.fromkeys(names))
        earlier = {getattr(p, "name", "") for p in setup.passes[:position]}
        lacking = [n for n in dict.fromkeys(names) if n not in earlier]
        again = "" if lacking else "again, right "
        setup, where = self._with_new(setup, map(self._pass, names), at)
        return Trial(
            f"run {listed} {again}{where}",
            setup, ("passes", names, at),
            missing=f"the pipeline does not run {enumerated(lacking or names)} {again}before "
            f"{self._before(position)}",
        )  # fmt: skip

    def _moved(self, place: int, new: int) -> Trial:
        """Move the pass at `place` directly before the pass at `new`."""
        passes = self.inquiry.setup.passes
        moved, later = passes[place], place < new
        there = passes[new - 1 if later else new]
        without = replace(self.inquiry.setup, passes=(*passes[:place], *passes[place + 1 :]))
        setup, at_level = self._running(without, [moved], new - later)
        shown, before, after = called(moved), f"before {called(there)}", f"after {called(there)}"
        return Trial(
            f"move {shown} {after if later else before}{at_level}",
            setup.with_pass(new - later, moved), ("moved", place, new),
            missing=f"the pipeline runs {shown} {before if later else after}",
        )  # fmt: skip

    def _other_form(self) -> Iterator[Trial]:
        """Convert the convolutions to the other layout, or to float16."""
        for text, recipe, keeps in self._other_forms:
            for more in ((), ("FoldConstant",)):
                new = (recipe, *map(self._pass, more))
                setup, where = self._with_new(self.inquiry.setup, new)
                listed = enumerated((text, *more))
                yield Trial(f"run {listed} {where}", setup, ("form", text, more), {}, keeps)

    def _with_new(
        self, setup: Setup, new: Iterable[Pass], at: int | None = None
    ) -> tuple[Setup, str]:
        """Insert further passes before the pass that looks for operators to offload, at a level
        that does not skip them; also returns their position in words."""
        passes = tuple(new)
        position = self._position() if at is None else at
        setup, at_level = self._running(setup, passes, position)
        where = f"before {self._before(position)}{at_level}"
        return setup.with_pass(position, *passes), where

    def _running(self, setup: Setup, passes: Iterable[Pass], position: int) -> tuple[Setup, str]:
        """A level that does not skip new passes at a position; and the level in words, if it
        differs."""
        context = setup.context_at(position)
        every = [q for p in passes for q in (p, *leaves([p]))]
        level = max((context.needed_level(q.info) or 0 for q in every), default=0)
        if level <= context.opt_level:
            return setup, ""
        return setup.at_level(level), f", under PassContext(opt_level={level})"

    def _position(self) -> int:
        """The position of the pass that looks for operators to offload."""
        setup = self.inquiry.setup
        found: tuple[int, Pass] | None = self.inquiry.merge_composite
        found = found or setup.first(AnnotateTarget)
        return found[0] if found else len(setup.passes)

    def _before(self, position: int) -> str:
        passes = self.inquiry.setup.passes
        return called(passes[position]) if position < len(passes) else "it"

    def _leaving_out(self, name: str) -> Trial:
        setup = self.inquiry.setup
        rest = tuple(p for p in setup.passes if getattr(p, "name", "") != name)
        what = f"leave {name} out of the pipeline"
        return Trial(what, replace(setup, passes=rest), ("without", name))

    def graph_form(self) -> Trial:
        """Convert the module to graph form, which has no lets."""
        return self._with_passes("ToGraphNormalForm")

    # Building blocks -----------------------------------------------------------------------------

    def _pass(self, name: str) -> Pass:
        """The pass with a name: the same object in all trials, so that they share its results."""
        if name not in self._made:
            self._made[name] = make_pass(name)
        return self._made[name]

    @property
    def _order(self) -> dict[Call, int]:
        return self.inquiry.positions
