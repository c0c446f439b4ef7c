"""Changes that may offload a call, the smallest first; `change_runner.py` tries them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from byoc_lab.errors import ByocLabError, counted, enumerated
from byoc_lab.lab.explaining.diagnosis import Diagnosis
from byoc_lab.lab.explaining.module_changes import (
    Edited,
    as_global_pool,
    bound,
    computed_in_float32,
    computed_once,
    computed_twice,
    other_attributes,
    size_parameters,
    swapped,
    unknown_inputs,
    with_shapes,
)
from byoc_lab.lab.explaining.outcome import typed_calls
from byoc_lab.lab.explaining.pass_changes import PassChanges
from byoc_lab.lab.explaining.pattern_changes import relaxed
from byoc_lab.lab.explaining.recipes import (
    undone,
)
from byoc_lab.lab.explaining.setup_changes import annotated_first, of_context, of_partitioning
from byoc_lab.lab.explaining.trials import Trial
from byoc_lab.lab.explaining.unmade import used_outside
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.predicates import Checked
from byoc_lab.passes.simplify.dynamic_to_static import DynamicToStatic
from byoc_lab.relay.analysis.guessed_sizes import BATCH, guessed_sizes
from byoc_lab.relay.ir.expr import Call, Expr, Var
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import DominatorPattern
from byoc_lab.relay.patterns.partial_match import Conditions
from byoc_lab.relay.patterns.patterns import DataTypePattern

OWN_CAUSES = (
    "name", "merge", "pruned", "let", "order", "outside-user", "computed-twice", "malformed",
    "unused",
)  # fmt: skip
"""Causes that are reported even if an additional pass would offload the call."""
NAMED = 5
"""Maximum number of parameters that a change names."""


class Changes(PassChanges):
    """The changes of a setup that may offload calls of an inquiry. Changes with equal keys are
    shared by several calls."""

    def of(self, found: Diagnosis, call: Call, all_weights: bool = True) -> Iterator[Trial]:
        """The candidate changes for the diagnosis of a call, the smallest first. all_weights:
        whether to include changes that bind all weights."""
        yield from of_context(self.inquiry.setup)
        yield from of_partitioning(self.inquiry)
        if found.cause == "unbound-constant":
            yield from self.with_bound(found.unbound)
        if found.cause not in OWN_CAUSES:
            yield from self.passes(found)
        yield from self._with_lengths()
        yield from self._with_sizes()
        of_cause: dict[str, Callable[[Diagnosis, Call], Iterator[Trial]]] = {
            "name": self._names, "order": self._orders, "pruned": self._without_pass,
            "merge": self._without_pass, "malformed": self._well_formed,
            "let": self._without_lets, "unused": self._without_lets,
            "outside-user": self._computed_twice, "computed-twice": self._last_entry,
            "no-pattern": self._as_pool, "sub-pattern": self._relaxed,
            "check": self._other_call, "predicate": self._other_call,
        }  # fmt: skip
        has_form = found.cause in ("check", "predicate", "sub-pattern")
        forms = list(self._other_form()) if has_form else []
        if found.stop is not None and isinstance(found.stop.pattern, Conditions):
            # The code generator may need the operator that the pattern requires.
            at = found.stop.pattern
            half = isinstance(at, DataTypePattern) and at.dtype == "float16"
            yield from (t for t in forms if half or t.keeps_numbers)
            forms = [t for t in forms if not (half or t.keeps_numbers)]
        if found.cause in of_cause:
            yield from of_cause[found.cause](found, call)
        if found.cause in ("order", "outside-user"):
            yield from self.passes(found)
        if all_weights and found.cause in ("no-pattern", "sub-pattern", "unbound-constant"):
            yield from self.prepared()
        for name in undone(self.inquiry, found, call):
            yield self._leaving_out(name)
        yield from forms

    def prepared(self) -> Iterator[Trial]:
        """Bind all weights, and run the simplifying and folding passes."""
        for trial in self.with_bound(self.inquiry.weights, "all weights"):
            yield trial
            if self._preparing:
                yield self._and_passes(trial, self._preparing)

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

    def _well_formed(self, found: Diagnosis, call: Call) -> Iterator[Trial]:
        yield self.graph_form()
        yield self._leaving_out(MergeCompilerRegions.__name__)

    def _without_lets(self, found: Diagnosis, call: Call) -> Iterator[Trial]:
        yield self.graph_form()

    def _computed_twice(self, found: Diagnosis, call: Call) -> Iterator[Trial]:
        if isinstance(found.user, Call) and self.inquiry.is_unused(found.user):
            yield self.graph_form()
        if found.attempt is None:
            return
        yield from self._copied(used_outside(found.attempt), found.attempt.body)

    def _copied(
        self, escaping: Iterable[tuple[Expr, Expr]], inside: Collection[Expr]
    ) -> Iterator[Trial]:
        """Compute values a second time for their users outside of a match. escaping: the values,
        each with such a user. inside: the nodes of the match."""
        inquiry = self.inquiry
        origin = inquiry.origins_of(inside)
        given = list(dict.fromkeys(origin[v] for v, _ in escaping if v in origin))
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

    def _with_sizes(self) -> Iterator[Trial]:
        """Bind the parameters from which dynamic operators take sizes, and make these operators
        static."""
        for trial in self.with_bound(size_parameters(self.inquiry.setup.mod)):
            yield trial
            yield self._and_passes(trial, (DynamicToStatic.__name__,))

    def _and_passes(self, trial: Trial, names: tuple[str, ...]) -> Trial:
        """A trial that also runs passes."""
        setup, where = self._with_new(trial.setup, map(self._pass, names))
        what = f"{trial.what}; and run {enumerated(dict.fromkeys(names))} {where}"
        return replace(trial, what=what, setup=setup, key=(trial.key, names))

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
        whole = {name: guessed_sizes(shape) for name, shape in unknown.items()}
        if whole != batches:
            tried = [f"{name}={','.join(map(str, shape))}" for name, shape in whole.items()]
            more = f" and {counted(len(tried) - NAMED, 'more input')}" if tried[NAMED:] else ""
            yield self._edited(
                f"give the inputs known dimension sizes; tried with "
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
        yield from self._copied(found.stop.outside, found.stop.inside)
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

    def _origin(self, node: Expr | None) -> Call | None:
        """The call of the input from which a node of the matched module originates."""
        return self.inquiry.origin(node) if isinstance(node, Call) else None
