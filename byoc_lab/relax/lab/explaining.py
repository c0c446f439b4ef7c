"""`relax.explain`: the operators of a Relax module that a back end computes, and why it does not
compute the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.lab.explaining import CAUSES, Card, Explanations
from byoc_lab.lab.explaining.answer import Answer
from byoc_lab.lab.explaining.attempts import Attempt
from byoc_lab.lab.explaining.diagnosis import Diagnosis
from byoc_lab.lab.explaining.outcome import EnclosingRegion
from byoc_lab.relax.backends import RelaxBackend, Table
from byoc_lab.relax.ir.batch import NOMINAL, unknown_sizes, with_sizes
from byoc_lab.relax.ir.calls import (
    CODEGEN,
    COMPOSITE,
    LOWERED,
    OperatorCall,
    checked_relax,
    functions_of,
    host_functions,
    lowered_in,
    operator_calls,
    region_functions,
)
from byoc_lab.relax.ir.origins import Origin, Origins
from byoc_lab.relax.lab.costs import call_flops
from byoc_lab.relax.operators import OPERATORS
from byoc_lab.relax.partition import TARGET, unreached, why_not_relax
from byoc_lab.relax.passes import FUSES, MERGES, applied
from byoc_lab.relax.patterns.near_miss import NearMisses
from byoc_lab.relax.patterns.reading import RelaxFunction
from byoc_lab.relax.patterns.report import Entry, entries_of, fused
from byoc_lab.relax.pipelines import backend_of
from byoc_lab.run.tvm_runtime import import_tvm

OUTSIDE_DATAFLOW = "the call is not in a dataflow block, and patterns are matched only there"
NHWC = {"relax.nn.conv2d": ["NHWC", "OHWI"]}
"""The image layouts that GPU libraries require."""


class RelaxExplanation(Answer):
    """Why one operator call, after the passes that precede the partitioning, is offloaded or not.

    operator: the call in the partitioned module. origin: the original call. asked: the back end.
    home: the region that computes it, or None. where: the enclosing function of a call on the host;
    apart: whether main never calls that function.
    """

    def __init__(
        self,
        operator: OperatorCall,
        origin: Origin,
        asked: _Asked,
        home: EnclosingRegion | None = None,
        where: _Function | None = None,
        apart: bool = False,
    ):
        super().__init__(origin.call, operator.name)
        self.operator, self._origin = operator, origin
        self._home, self._asked, self._where, self._apart = home, asked, where, apart

    @property
    def number(self) -> str:
        return self._origin.name

    @property
    def position(self) -> int:
        """The position in the module in which patterns are matched."""
        return self._origin.position

    @property
    def heading(self) -> str:
        shown = str(self.call.ty).strip().splitlines()[-1].replace("R.", "")
        where = f" of the module that {FUSES} gets" if self._origin.prepared else ""
        return f"{self.name} ({self.number}{where}: {shown})"

    @property
    def flops(self) -> int | None:
        return call_flops(self.call)

    @property
    def home(self) -> EnclosingRegion | None:
        return self._home

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        if self._where is None:
            return None
        found = self._asked.why(self.operator, self._where)
        if self._apart and found.cause in ("unknown", "needs-pass", "order"):
            return Diagnosis("other-function", CAUSES["other-function"], self.operator)
        return found

    @cached_property
    def change(self) -> str | None:
        """A tried change that leaves fewer calls of this operator on the host."""
        if self._where is None or self.cause in ("no-pattern", "other-function"):
            return None
        return self._asked.change(self.operator, self._where)


def explain(
    mod: Any, target: str = TARGET, pipeline: Any = None, *, cards: Sequence[Card] = ()
) -> Explanations[RelaxExplanation]:
    """For each operator of a Relax module: whether a back end computes it, and if not, the reason.

    mod: before partitioning for the target, or partitioned. The operators are listed after the
    passes that precede the partitioning (which fold batch norms). Causes and changes are computed
    on access. A change is proposed only if it was tried and put that call into a region. target: a
    back end of `relax.register`, or one with patterns in TVM. pipeline: the passes that partition,
    as for `trace`; by default the passes of the back end. RunCodegen and later passes are not run.
    cards: as for `byoc_lab.explain`.

    Raises ArgumentError unless `mod` is a Relax module and `cards` are cards, UnknownNameError for
    an unknown target or pipeline, PassError for an invalid pipeline and for a TVM pass that fails.
    """
    mod = checked_relax(mod, "relax.explain")
    backend = backend_of(target, pipeline, mod)
    partitioned = pipeline is None and any(
        str(f.attrs[CODEGEN]) == target for f in region_functions(mod).values()
    )
    given, cut = (mod, mod) if partitioned else backend.matched(mod)
    asked, there = _Asked(backend, None if partitioned else mod), _Given(given)
    origins = Origins(mod, mod if given is cut else given, cut)
    apart, found = {cut[gv] for gv in unreached(cut)}, []
    for symbol, function in functions_of(cut):
        attrs, calls = function.attrs or {}, list(operator_calls(function))
        if CODEGEN in attrs or COMPOSITE in attrs:  # equal functions are merged, with several calls
            places = origins.inside(symbol, calls)
        else:
            places = [[origins.of(call) for call in calls]]
        for call, origin in (pair for made in places for pair in zip(calls, made, strict=True)):
            if CODEGEN in attrs:
                home = EnclosingRegion(symbol, str(attrs[CODEGEN]), call.composite)
                found.append(RelaxExplanation(call, origin, asked, home))
            else:
                where = there.of(call, function)
                found.append(RelaxExplanation(call, origin, asked, None, where, function in apart))
    found.sort(key=lambda e: e.position)
    warnings = [
        f"@{symbol} is for {function.attrs[CODEGEN]}, and has {' and '.join(lowered)}: a pass such "
        f"as LegalizeOps replaced its operators by code; run that pass after RunCodegen"
        for symbol, function in region_functions(cut).items()
        if (lowered := lowered_in(function))
    ]
    return Explanations(target, found, warnings).with_cards(cards)


class _Given:
    """The input module of FuseOpsByPattern. Patterns are matched in it, not in the result, where
    other matches have already been outlined."""

    def __init__(self, mod: Any):
        self._places: dict[Any, _Function] = {}
        self._new: dict[Any, _Function] = {}
        for function in host_functions(mod):
            asked = _Function(function)
            self._places.update(dict.fromkeys(asked.calls, asked))

    def of(self, call: OperatorCall, function: Any) -> _Function:
        """The function in which a call of the partitioned module was matched; the given function if
        passes have bound the call to a new variable."""
        if call.bound in self._places:
            return self._places[call.bound]
        return self._new.setdefault(function, _Function(function))


class _Function:
    """The matches of pattern-table entries in a Relax function; each query runs once."""

    def __init__(self, function: Any):
        self.function = function
        self.misses: Callable[[Entry], NearMisses] = cache(lambda e: NearMisses(e.read, self.read))
        self._alone = cache(self._run_alone)
        self._matches = cache(self._found_by)
        self.read = RelaxFunction(function)
        self.values = self.read.values
        self.calls = {c.bound: c for c in self.read.calls if c.bound is not None}

    def refusal(self, entry: Entry, call: OperatorCall) -> str | None:
        """The reason that the check of an entry refuses a match that contains the call, during
        FuseOpsByPattern: "" without a reason; None if no such match is refused."""
        _, refused = self._alone(entry)
        return next((refused[r] for r in self._roots(entry, call) if r in refused), None)

    def is_root(self, entry: Entry, call: OperatorCall) -> bool:
        """Whether a pattern matches with the call as its root."""
        found = self.calls.get(call.bound, call)
        return bool(entry.pattern.match(found.call, self.values))

    def takes(self, entry: Entry, call: OperatorCall) -> bool:
        """Whether FuseOpsByPattern, with this entry alone, puts the call into a composite."""
        left, _ = self._alone(entry)
        return bool(self._roots(entry, call)) and call.bound not in left

    def _roots(self, entry: Entry, call: OperatorCall) -> list[Any]:
        """The roots of the matches that contain a call."""
        return self._matches(entry).get(call.bound, [])

    def _found_by(self, entry: Entry) -> dict[Any, list[Any]]:
        """The roots of the matches that contain each variable; operands from outside a match are
        not contained."""
        bound = {c.call: variable for variable, c in self.calls.items()}
        found: dict[Any, list[Any]] = {}
        for root in bound:
            parts = entry.pattern.extract_matched_expr(root, self.values) or {}
            for part in filter(bound.__contains__, parts.values()):
                found.setdefault(bound[part], []).append(root)
        return found

    def _run_alone(self, entry: Entry) -> tuple[set[Any], dict[Any, str]]:
        """The calls left on the host by FuseOpsByPattern with only this entry, and the roots that
        its check refuses, with the reasons."""
        if entry.check is not None:
            entry.check.refused.clear()
        (made,) = fused([entry], [import_tvm().IRModule({"main": self.function})])
        left = {c.bound for c in operator_calls(made["main"])}
        return left, {} if entry.check is None else dict(entry.check.refused)


class _Asked:
    """Queries about calls on the host, and changes; each change is tried once, and counts the calls
    that it leaves on the host. mod: None if no changes are tried."""

    def __init__(self, backend: RelaxBackend, mod: Any):
        self.backend, self.mod = backend, mod
        self._gone: dict[str, Counter[Any]] = {}
        self._late: dict[str, None] = {}  # entries whose match an earlier entry broke up

    @cached_property
    def entries(self) -> list[Entry]:
        return entries_of(self.backend.table())

    def why(self, call: OperatorCall, where: _Function) -> Diagnosis:
        """The reason that a call is on the host. where: its function in the input module of
        FuseOpsByPattern."""

        def found(cause: str, reason: str, attempt: Attempt | None = None) -> Diagnosis:
            return Diagnosis(cause, reason, call, attempt)

        if call.composite is not None:
            return found(
                "needs-pass",
                f"its composite {call.composite} is not in a function with the attribute "
                f"{CODEGEN}, so no back end compiles it",
            )
        if call.name in LOWERED:
            return found(
                "no-pattern",
                f"{call.name} calls code that an earlier pass generated from operators, but "
                "patterns match only operators: run that pass after the partitioning",
            )
        if self.backend.name == TARGET:
            reason = why_not_relax(call.call)
            if reason is not None:
                return found("check" if call.name in OPERATORS else "no-pattern", reason)
            return self._left_over(call)
        with_it = [e for e in self.entries if call.name in e.operators]
        if not with_it:
            return found("no-pattern", f"no pattern of {self.backend.name} has {call.name}")
        roots = [e for e in with_it if where.is_root(e, call)]
        for e in [*roots, *with_it]:
            refusal = where.refusal(e, call)
            if refusal is not None:
                why = (
                    f"the pattern matches, and the check of {e.name} refuses"
                    if e in roots
                    else f"it is part of a match of {e.name}, whose check refuses"
                )
                return found("check", f"{why}: {refusal}" if refusal else why)
        for e in with_it:
            if where.takes(e, call):
                self._late[e.name] = None
                return found(
                    "order",
                    f"{e.name} matches it alone; an earlier entry took a part of its match",
                )
        if roots:
            return self._left_over(call)
        there = where.calls.get(call.bound, call)
        misses = {entry: where.misses(entry).nearest_to(there) for entry in with_it}
        entry = max(with_it, key=lambda e: m.fit.matched if (m := misses[e]) is not None else 0)
        reason = f"pattern {entry.name} has {call.name}"
        miss = misses[entry]
        if miss is None:
            return found("sub-pattern", f"{reason}, but no partial match contains this call")
        root, graph, at = (
            where.read.node(miss.call.call),
            where.read.graph,
            self.entries.index(entry),
        )
        pattern = entry.read.root
        attempt = Attempt(at, entry.name, pattern, entry.check, root, graph, miss.fit)
        return found("sub-pattern", f"{reason}, but does not match here; nearest: {miss}", attempt)

    def _left_over(self, call: OperatorCall) -> Diagnosis:
        if call.dataflow:
            return Diagnosis("unknown", CAUSES["unknown"], call)
        return Diagnosis("needs-pass", OUTSIDE_DATAFLOW, call)

    def change(self, call: OperatorCall, where: _Function) -> str | None:
        """The first change that leaves fewer calls of this operator, and fewer calls with this
        reason, on the host; None if no change does."""
        if self.mod is None:
            return None
        keys = self._keys(call, where)
        refused = self.why(call, where).cause == "check"
        for what, backend, mod in (*self._attempts(), *(self._spelled if refused else ())):
            if what not in self._gone:
                # TVM passes fail on some modules; a change with such a result is ignored.
                with suppress(PassError):
                    self._gone[what] = self._before - self._left(backend, mod)
            if all(self._gone.get(what, {}).get(key) for key in keys):
                return what
        return None

    def _attempts(self) -> Iterator[tuple[str, RelaxBackend, Any]]:
        for what, made in self._modules:
            yield what, self.backend, made
        if self.backend.passes is not None:
            passes = list(self.backend.passes())
            names = [str(each.info.name) for each in passes]
            at = names.index(FUSES) + 1 if FUSES in names else len(names)
            if FUSES in names and MERGES not in names[at:]:
                passes.insert(at, import_tvm().relax.transform.MergeCompositeFunctions())
                what = f"run relax.transform.{MERGES}() after {FUSES}"
                yield what, replace(self.backend, passes=partial(list, passes)), self.mod
        else:
            for name in list(self._late):
                table = partial(_with_first, self.backend.table, name)
                what = f"move {name} to the front of the pattern table"
                yield what, replace(self.backend, table=table), self.mod

    @cached_property
    def _spelled(self) -> list[tuple[str, RelaxBackend, Any]]:
        """The module with other layouts and dtypes, which checks may require."""
        found = []
        transform = import_tvm().relax.transform
        for what, each in (
            (f"ConvertLayout({NHWC})", transform.ConvertLayout(NHWC)),
            ("ToMixedPrecision()", transform.ToMixedPrecision()),
        ):
            # If a pass fails on the module, there is no such change.
            with suppress(PassError):
                made = applied([each], self.mod, "explain")
                found.append((f"run relax.transform.{what} before", self.backend, made))
        return found

    @cached_property
    def _modules(self) -> list[tuple[str, Any]]:
        return list(_changed(self.mod))

    @cached_property
    def _before(self) -> Counter[Any]:
        return self._left(self.backend, self.mod)

    def _left(self, backend: RelaxBackend, mod: Any) -> Counter[Any]:
        """The number of calls that stay on the host, per operator, and per operator and reason."""
        given, cut = backend.matched(mod)
        there = _Given(given)
        return Counter(
            key
            for f in host_functions(cut)
            for c in operator_calls(f)
            for key in self._keys(c, there.of(c, f))
        )

    def _keys(self, call: OperatorCall, where: _Function) -> list[Any]:
        why = self.why(call, where)
        return [call.name, (call.name, why.cause, why.reason)]


def _changed(mod: Any) -> Iterator[tuple[str, Any]]:
    """Changed modules, each with a description of the change."""
    transform = import_tvm().relax.transform
    yield (
        "run relax.transform.ConvertToDataflow(min_size=1) before",
        transform.ConvertToDataflow(1)(mod),
    )
    sizes = list(unknown_sizes(mod["main"]))
    if sizes:
        shown = ", ".join(f'"{name}": size' for name in sizes)
        known = with_sizes(mod, dict.fromkeys(sizes, NOMINAL))
        yield f"give sizes with relax.transform.BindSymbolicVars({{{shown}}}) before", known


def _with_first(table: Table, name: str) -> list[Any]:
    """The entries of a table, with the entries of the given name first."""
    return sorted(table(), key=lambda e: str(e[0] if isinstance(e, tuple) else e.name) != name)
