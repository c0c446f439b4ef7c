"""Changes that may offload a call, the smallest first; `change_runner.py` tries them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from byoc_lab.errors import ByocLabError, counted, enumerated
from byoc_lab.lab.explaining.diagnosis import Diagnosis
from byoc_lab.lab.explaining.inquiry import Inquiry
from byoc_lab.lab.explaining.module_changes import (
    Edited,
    as_global_pool,
    bound,
    computed_in_float32,
    computed_once,
    computed_twice,
    other_attributes,
    swapped,
    unknown_inputs,
    with_shapes,
)
from byoc_lab.lab.explaining.outcome import typed_calls
from byoc_lab.lab.explaining.pattern_changes import relaxed
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
    undone,
)
from byoc_lab.lab.explaining.setup_changes import annotated_first, of_context, of_partitioning
from byoc_lab.lab.explaining.setups import Setup
from byoc_lab.lab.explaining.trials import Trial
from byoc_lab.lab.explaining.unmade import used_outside
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.fold.fold_constant import FOLD_QNN, FoldConstant
from byoc_lab.passes.framework.passes import Pass, leaves, make_pass
from byoc_lab.passes.framework.predicates import Checked
from byoc_lab.passes.simplify.canonicalize_ops import CanonicalizeOps
from byoc_lab.passes.simplify.simplify_inference import SimplifyInference
from byoc_lab.relay.analysis.guessed_lengths import BATCH, guessed_lengths
from byoc_lab.relay.ir.expr import Call, Expr, Var
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import DominatorPattern
from byoc_lab.relay.patterns.partial_match import Conditions

OWN_CAUSES = (
    "name", "merge", "pruned", "let", "order", "outside-user", "computed-twice", "malformed",
    "unused",
)  # fmt: skip
"""Causes that are reported even if an additional pass would offload the call."""
NAMED = 5
"""Maximum number of parameters that a change names."""


class Changes:
    """The changes of a setup that may offload calls of an inquiry. Changes with equal keys are
    shared by several calls."""

    def __init__(self, inquiry: Inquiry):
        self.inquiry = inquiry
        self._made: dict[str, Pass] = {FOLD_QNN: FoldConstant(fold_qnn=True)}

    def of(self, found: Diagnosis, call: Call, all_weights: bool = True) -> Iterator[Trial]:
        """The candidate changes for the diagnosis of a call, the smallest first. all_weights:
        whether to include changes that bind all weights."""
        yield from of_context(self.inquiry.setup)
        yield from of_partitioning(self.inquiry)
        if found.cause not in OWN_CAUSES:
            yield from self.passes(found)
        yield from self._with_lengths()
        of_cause: dict[str, Callable[[Diagnosis, Call], Iterator[Trial]]] = {
            "name": self._names, "order": self._orders, "pruned": self._without_pass,
            "merge": self._without_pass, "malformed": self._well_formed,
            "let": self._without_lets, "unused": self._without_lets,
            "outside-user": self._computed_twice, "computed-twice": self._last_entry,
            "unbound-constant": self._bound, "no-pattern": self._as_pool,
            "sub-pattern": self._relaxed, "check": self._other_call, "predicate": self._other_call,
        }  # fmt: skip
        has_form = found.cause in ("check", "predicate", "sub-pattern")
        forms = list(self._other_form()) if has_form else []
        if found.stop is not None and isinstance(found.stop.pattern, Conditions):
            # The code generator may need the operator that the pattern requires.
            yield from (t for t in forms if t.keeps_numbers)
            forms = [t for t in forms if not t.keeps_numbers]
        if found.cause in of_cause:
            yield from of_cause[found.cause](found, call)
        if found.cause in ("order", "outside-user"):
            yield from self.passes(found)
        if all_weights and found.cause in ("no-pattern", "sub-pattern", "unbound-constant"):
            yield from self.prepared()
        for name in undone(self.inquiry, found, call):
            yield self._leaving_out(name)
        yield from forms

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

    def prepared(self) -> Iterator[Trial]:
        """Bind all weights, and run the simplifying and folding passes."""
        for trial in self.with_bound(self.inquiry.weights, "all weights"):
            yield trial
            names = self._preparing
            if names:
                setup, where = self._with_new(trial.setup, map(self._pass, names))
                yield replace(
                    trial,
                    what=f"{trial.what}; and run {enumerated(dict.fromkeys(names))} {where}",
                    setup=setup,
                    key=(trial.key, names),
                )

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

    def _names(self, found: Diagnosis, call: Call) -> Iterator[Trial]:
        target = self.inquiry.target
        if found.other:  # the name of a composite is wrong
            last = found.other.rpartition(".")[2]
            new = f"{target}.{last}"
            table = [(new, p, c) if n == found.other else (n, p, c) for n, p, c in self._table]
            yield self._with_table(f"call the pattern {new!r}, not {found.other!r}", table)
        yield from self._targets([target])

    def _targets(self, targets: list[str]) -> Iterator[Trial]:
        annotate = self.inquiry.annotate_target
        if annotate is None or list(annotate[1].targets) == targets:
            return
        old = annotate[1]
        new = AnnotateTarget(targets, old.include_non_call_ops, old.era, old.beyond_tvm)
        shown = repr(targets[0]) if len(targets) == 1 else repr(targets)
        yield Trial(
            f"write AnnotateTarget({shown}), not AnnotateTarget({old.targets!r})",
            self.inquiry.setup.replacing(annotate[0], new), ("targets", tuple(targets)),
        )  # fmt: skip

    def _orders(self, found: Diagnosis, call: Call) -> Iterator[Trial]:
        if found.attempt is None:  # a different target took the call
            others = [t for t in self.inquiry.annotated_targets if t != self.inquiry.target]
            yield from self._targets([self.inquiry.target, *others])
            yield from annotated_first(self.inquiry)
            rest = [entry for entry in self._table if entry[0] != found.other]
            if len(rest) < len(self._table):
                yield self._with_table(f"leave {found.other} out of the pattern table", rest)
            return
        entries = list(zip(self._table, self.inquiry.labels, strict=True))
        moved = entries.pop(found.attempt.position)
        names = ((entry[0], label) for entry, label in entries)
        before = next((n for n, known in enumerate(names) if found.other in known), 0)
        entries.insert(before, moved)
        table = [entry for entry, _ in entries]
        move = f"move {moved[1]} before {found.other} in the pattern table"
        yield self._with_table(move, table)

    def _last_entry(self, found: Diagnosis, call: Call) -> Iterator[Trial]:
        if found.attempt is not None:
            table = list(self._table)
            table.append(table.pop(found.attempt.position))
            yield self._with_table(f"move {table[-1][0]} to the end of the pattern table", table)

    def _without_pass(self, found: Diagnosis, call: Call) -> Iterator[Trial]:
        yield self._leaving_out(found.other)

    def _leaving_out(self, name: str) -> Trial:
        setup = self.inquiry.setup
        rest = tuple(p for p in setup.passes if getattr(p, "name", "") != name)
        what = f"leave {name} out of the pipeline"
        return Trial(what, replace(setup, passes=rest), ("without", name))

    def _well_formed(self, found: Diagnosis, call: Call) -> Iterator[Trial]:
        yield self.graph_form()
        yield self._leaving_out(MergeCompilerRegions.__name__)

    def _without_lets(self, found: Diagnosis, call: Call) -> Iterator[Trial]:
        yield self.graph_form()

    def graph_form(self) -> Trial:
        """Convert the module to graph form, which has no lets."""
        return self._with_passes("ToGraphNormalForm")

    def _computed_twice(self, found: Diagnosis, call: Call) -> Iterator[Trial]:
        if isinstance(found.user, Call) and self.inquiry.is_unused(found.user):
            yield self.graph_form()
        if found.attempt is None:
            return
        inquiry = self.inquiry
        origin = inquiry.origins_of(found.attempt.body)
        given = list(
            dict.fromkeys(origin[v] for v, _ in used_outside(found.attempt) if v in origin)
        )
        if given:
            match = frozenset(origin.values())
            below = [n for n in post_order(*given) if n in match and isinstance(n, Call)]
            rest = [inquiry.called(n) for n in below if n not in given]
            its, it = ("their", "them") if given[1:] else ("its", "it")
            yield self._edited(
                f"compute {enumerated(map(inquiry.called, given))} a second time for {its} users "
                f"outside of the match" + (f", and for {it} {enumerated(rest)}" if rest else ""),
                computed_twice(inquiry.setup.mod, given, match),
            )

    def _bound(self, found: Diagnosis, call: Call) -> Iterator[Trial]:
        yield from self.with_bound(found.unbound)

    def _with_lengths(self) -> Iterator[Trial]:
        mod = self.inquiry.setup.mod
        unknown = unknown_inputs(mod)
        batches = {n: (BATCH, *s[1:]) for n, s in unknown.items() if not isinstance(s[0], int)}
        where = "(from_onnx(..., shape=...), from_pytorch(..., shape=...), or --shape)"
        if batches:
            yield self._edited(
                f"give the batch, the first length of the inputs, which is not known; tried with "
                f"{BATCH} {where}", with_shapes(mod, batches), ("batch",),
            )  # fmt: skip
        whole = {name: guessed_lengths(shape) for name, shape in unknown.items()}
        if whole != batches:
            tried = [f"{name}={','.join(map(str, shape))}" for name, shape in whole.items()]
            more = f" and {counted(len(tried) - NAMED, 'more input')}" if tried[NAMED:] else ""
            yield self._edited(
                f"give the lengths of the inputs that are not known; tried with "
                f"{', '.join(tried[:NAMED])}{more} {where}", with_shapes(mod, whole), ("lengths",),
            )  # fmt: skip

    def with_bound(self, names: Sequence[str], words: str = "") -> Iterator[Trial]:
        shown = words or ", ".join(f"%{n}" for n in names[:NAMED])
        if not words and len(names) > NAMED:
            shown += f" and {counted(len(names) - NAMED, 'more parameter')}"
        for value in (1, 0):
            edited = bound(self.inquiry.setup.mod, names, value)
            if edited is not None:
                yield self._edited(
                    f"bind {shown} with bind_params_by_name(mod['main'], params); tried with "
                    f"{'ones' if value else 'zeros'} as values",
                    edited,
                    ("bound", tuple(names), value),
                )

    def _relaxed(self, found: Diagnosis, call: Call) -> Iterator[Trial]:
        yield from self._other_call(found, call, attributes=False)
        if found.attempt is None or found.stop is None:
            return
        if found.stop.reused or isinstance(found.stop.pattern, DominatorPattern):
            yield self._edited("compute equal values once", computed_once(self.inquiry.setup.mod))
        position, name = found.attempt.position, found.attempt.name
        for what, pattern in relaxed(found.attempt.pattern, found.stop):
            table = list(self._table)
            table[position] = (name, pattern, table[position][2])
            key = ("relaxed", position, found.stop.pattern, what)
            yield self._with_table(f"in the pattern {name}, {what}", table, key)

    def _other_call(self, found: Diagnosis, call: Call, attributes: bool = True) -> Iterator[Trial]:
        """The call itself, or a call that it is matched with, written in a different form."""
        mod = self.inquiry.setup.mod
        inside = found.attempt.fit.covered if found.attempt else frozenset()
        near = [c for n in inside if (c := self._origin(n)) is not None]
        if found.stop is not None:
            near += [c for c in (self._origin(found.stop.found),) if c is not None]
        calls = list(dict.fromkeys([call, *sorted(near, key=self._order.__getitem__)]))
        for c in calls:
            edited = swapped(mod, c)
            if edited is not None:
                yield self._edited(f"swap the operands of {self.inquiry.called(c)}", edited)
        if found.cause == "check":
            used = [a.name_hint for c in calls for a in c.args if isinstance(a, Var)]
            for name in dict.fromkeys(used):
                if name in self.inquiry.weights:
                    yield from self.with_bound([name])
        for c in calls if attributes else ():
            for value, changed, same in other_attributes(mod, c):
                what = f"write {value} for {self.inquiry.called(c)}"
                yield self._edited(what, changed, keeps=same)
        in_float32 = computed_in_float32(mod, call) if attributes else None
        if in_float32 is not None:
            yield self._edited(
                f"compute {self.inquiry.called(call)} in float32", in_float32, keeps=False
            )

    def _as_pool(self, found: Diagnosis, call: Call) -> Iterator[Trial]:
        pooled = as_global_pool(self.inquiry.setup.mod, call)
        if pooled is not None:
            what = f"write {self.inquiry.called(call)} as nn.global_avg_pool2d"
            yield self._edited(what, pooled)

    # Building blocks -----------------------------------------------------------------------------

    def _pass(self, name: str) -> Pass:
        """The pass with a name: the same object in all trials, so that they share its results."""
        if name not in self._made:
            self._made[name] = make_pass(name)
        return self._made[name]

    @property
    def _table(self) -> list[Checked]:
        return list(self.inquiry.table)

    def _with_table(self, what: str, table: list[Checked], key: object = None) -> Trial:
        merge = self.inquiry.merge_composite
        assert merge is not None
        setup = self.inquiry.setup.replacing(merge[0], MergeComposite(table))
        return Trial(what, setup, key or ("table", what))

    def _edited(self, what: str, edited: Edited, key: object = None, keeps: bool = True) -> Trial:
        """A trial on a changed module, whose calls are typed again."""
        mod, images = edited
        try:
            typed, types = typed_calls(mod)
        except ByocLabError:  # types do not agree: the run fails in the same way
            typed, types = mod, {}
        calls = {a: types.get(b, b) for a, b in images.items()}
        setup = replace(self.inquiry.setup, mod=typed)
        return Trial(what, setup, key or object(), calls, keeps)

    @property
    def _order(self) -> dict[Call, int]:
        return self.inquiry.positions

    def _origin(self, node: Expr | None) -> Call | None:
        """The call of the input from which a node of the matched module originates."""
        return self.inquiry.origin(node) if isinstance(node, Call) else None
