"""The registry of back ends: their patterns, predicates, code generators and pipelines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from byoc_lab import plugins
from byoc_lab.backends.child_process import TIME_LIMIT
from byoc_lab.backends.isolation import isolated as isolated_codegen
from byoc_lab.errors import ArgumentError, PassError, UnknownNameError
from byoc_lab.passes.byoc.annotate_target import BEYOND_TVM, AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Pass, PassContext, Sequential
from byoc_lab.passes.framework.pipelines import (
    named_pipeline,
    register_pipeline,
    unregister_pipeline,
)
from byoc_lab.passes.framework.predicates import Refused as Refused
from byoc_lab.passes.framework.predicates import ask_check, ask_operator, checked_entry, refusal
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.ir.expr import Call, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.op.contrib.register import register_pattern_table, unregister_pattern_table
from byoc_lab.relay.op.contrib.vendors import unregistered
from byoc_lab.relay.patterns.below import called_operators, post_order_patterns
from byoc_lab.relay.patterns.patterns import CallPattern, DFPattern
from byoc_lab.run.backends import (
    RESERVED,
    Codegen,
    invalid_name,
    register_backend,
    unregister_backend,
)

Entry = tuple[Any, ...]  # (name, pattern) or (name, pattern, check)


Predicate = Callable[[Call], "bool | Refused"]


@dataclass(frozen=True)
class Backend:
    """A registered back end. supports: operator name -> predicate for calls of that operator."""

    name: str
    patterns: Callable[[], Sequence[Entry]]
    supports: Mapping[str, Predicate]
    codegen: Codegen | None = field(default=None, compare=False)
    compiles: Callable[[Call], str | None] | None = field(default=None, compare=False)
    missing: Callable[[], str | None] | None = field(default=None, compare=False)

    def stand_in(self) -> str | None:
        """The sentence that NumPy replaces this back end's library (`run.stand_in`), if that
        library is missing; else None."""
        return None if self.missing is None else self.missing()

    def operators(self) -> frozenset[str] | None:
        """The operators that it supports alone or in a pattern; None if a pattern accepts any."""
        found = set(self.supports)
        for _, pattern, *_ in self.patterns():
            for part in post_order_patterns(pattern):
                if isinstance(part, CallPattern):
                    called = called_operators(part)
                    if called is None:
                        return None
                    found |= called
        return frozenset(found)

    def why_not_compiled(self, call: Call) -> str | None:
        """The reason why the code generator refuses a typed call in a region; None if it accepts
        the call.

        Back ends that compile more calls than `supports` accepts define `compiles`.
        """
        return self.compiles(call) if self.compiles is not None else self.why_not(call)

    def why_not(self, call: Call) -> str | None:
        """The reason why this back end supports a typed operator call neither alone nor as the last
        call of a pattern; None if it does. The partitioning passes report the same reason.

        If there are several reasons, the result is the predicate's reason, else the reason of the
        first pattern in the table.
        """
        name = call.op.name if isinstance(call.op, Op) else "a call of a function"
        refusals = []
        if name in self.supports:
            refusals.append(self._refusal(ask_operator(self.supports[name], call, self.name), call))
        for entry, pattern, *check in self.patterns():
            if None in refusals:
                return None
            if pattern.match(call):
                answer = ask_check(check[0], call, entry) if check and check[0] else True
                refusals.append(self._refusal(answer, call))
        if None in refusals:
            return None
        return refusals[0] if refusals else f"{self.name} has no counterpart of {name}"

    def _refusal(self, answer: bool | Refused, call: Call) -> str | None:
        if answer:
            return None
        return answer.reason if isinstance(answer, Refused) else refusal(self.name, call, answer)


_registered: dict[str, Backend] = {}


def register(
    name: str,
    *,
    patterns: Sequence[Entry] | Callable[[], Sequence[Entry]] = (),
    supports: Collection[str] | Mapping[str, Predicate] = (),
    beyond_tvm: Collection[str] = (),
    codegen: Codegen | None = None,
    compiles: Callable[[Call], str | None] | None = None,
    missing: Callable[[], str | None] | None = None,
    pipeline: Callable[[], Sequence[Pass]] | None = None,
    isolated: bool = False,
    time_limit: float = TIME_LIMIT,
) -> Backend:
    """Register a back end; registering a name again replaces the earlier one.

    patterns: the combinations of operators that it computes as one, as (pattern name, pattern) or
        (pattern name, pattern, check), tried in this order; or a function that returns the list.
        The names must begin with "<name>.", because AnnotateTarget uses that prefix.
    supports: the operators it supports one by one; with a mapping, `supports[operator](typed call)`
        says whether it supports this call (False or `Refused("why")`).
    beyond_tvm: the operators of `supports` that TVM's back end of this name does not offload. They
        have the attribute "beyond_tvm.<name>" in place of "target.<name>", and scripts that run
        with `byoc_lab.compat` do not offload them.
    codegen: codegen(function, symbol) compiles an external function (`run.CompiledRegion`). Without
        it modules can be partitioned and inspected, but not built.
    compiles: compiles(typed call) returns the reason why `codegen` refuses a call inside a region,
        or None; for back ends that compile more calls than `supports` accepts.
    missing: a function that returns the sentence that NumPy replaces the back end's library
        (`run.stand_in.in_place_of(library)`) if the library is missing, else None; `codegen` then
        returns a `ReferenceRegion`.
    pipeline: the passes from a plain module to a partitioned one; by default the five usual passes.
        `named_pipeline(name)` returns them.
    isolated: run each call of a region in a separate process, so that a crash, or a call of more
        than `time_limit` seconds, raises RegionError (see `isolation.isolated`).

    Raises PassError for a name that cannot be part of a symbol, and for a pattern name without the
    prefix, UnknownNameError for an unknown operator.
    """
    if why := why_no_name(name):
        raise PassError(why)
    makes = callable(patterns) and not isinstance(patterns, DFPattern)  # a pattern can be called
    if not makes and not isinstance(patterns, (list, tuple)):
        raise PassError(
            f"the patterns of {name!r} must be a list of (name, pattern) or (name, pattern, "
            f"check), or a function that makes one, found {type(patterns).__name__}"
        )
    table = patterns if callable(patterns) else partial(list, patterns)
    for n, entry in enumerate(table()):
        pattern_name, *_ = checked_entry(n, entry)
        if not pattern_name.startswith(f"{name}."):
            raise PassError(
                f"the patterns of {name!r} must have names that begin with '{name}.', found "
                f"{pattern_name!r}; AnnotateTarget finds a composite's target before the dot"
            )
    if isinstance(supports, str) or not isinstance(supports, Collection):
        raise PassError(
            f"supports={supports!r:.80}: {name!r} must list the names of operators, or map them to "
            f"predicates, found {type(supports).__name__}"
        )
    predicates = supports if isinstance(supports, Mapping) else {n: _always for n in supports}
    for operator, predicate in predicates.items():
        if not callable(predicate):
            raise PassError(
                f"supports[{operator!r}] of {name!r} must be a function of a typed call, found "
                f"{type(predicate).__name__} {predicate!r:.80}"
            )
    operators = {n: Op.get(n) for n in predicates}
    if codegen is not None and not callable(codegen):
        raise PassError(
            f"codegen={codegen!r:.80} of {name!r} must be a function of an external function and "
            f"its symbol, found {type(codegen).__name__}"
        )
    if pipeline is not None and not callable(pipeline):
        raise PassError(
            f"the pipeline of {name!r} must be a function that makes a list of passes, found "
            f"{type(pipeline).__name__}; write pipeline=lambda: [...]"
        )
    if isolated and codegen is not None:
        codegen = isolated_codegen(codegen, time_limit)
    backend = Backend(name, table, dict(predicates), codegen, compiles, missing)
    if name in _registered:
        unregister(name)
    for operator, predicate in predicates.items():
        attribute = BEYOND_TVM if operator in beyond_tvm else "target"
        operators[operator].set_attr(f"{attribute}.{name}", predicate)
    register_pattern_table(name, table)
    if codegen is not None:
        register_backend(name, codegen)
    register_pipeline(name, pipeline or partial(_usual_pipeline, backend))
    _registered[name] = backend
    return backend


def unregister(name: str) -> None:
    """Remove a back end: its supported operators, patterns, code generator and pipeline.

    Raises UnknownNameError when there is no such back end.
    """
    for operator in get(name).supports:
        Op.get(operator).reset_attr(f"target.{name}")
        Op.get(operator).reset_attr(f"{BEYOND_TVM}.{name}")
    unregister_pattern_table(name)
    unregister_backend(name)
    unregister_pipeline(name)
    del _registered[name]


def _always(call: Call) -> bool:
    return True


def _usual_pipeline(backend: Backend, era: str | None = None) -> list[Pass]:
    return [
        InferType(),
        MergeComposite(backend.patterns()),
        AnnotateTarget(backend.name, era=AnnotateTarget.era_of(era)),
        MergeCompilerRegions(),
        PartitionGraph(era=PartitionGraph.era_of(era)),
    ]


def get(name: str) -> Backend:
    """A registered back end; if an installed package provides it, the package is loaded first.

    Raises UnknownNameError, ArgumentError for anything but a name, and PlugInError for a package
    that cannot be loaded.
    """
    if not isinstance(name, str):
        raise ArgumentError(
            f"the name of a back end must be a str, found {type(name).__name__}; the module comes "
            f"first: partition(mod, 'dnnl')"
        )
    if not is_registered(name):
        known = sorted({*names(), *plugins.packages()})
        why = why_no_name(name)
        how = why[:1].upper() + why[1:] or (
            f"byoc_lab.backends.register({name!r}, ...) registers one; a command runs a file that "
            f"does so with --import FILE.py"
        )
        raise UnknownNameError(
            f"no back end is registered as {name!r}; {unregistered(name, known)} {how}"
        )
    return _registered[name]


def why_no_name(name: Any) -> str:
    """The reason why a name is not allowed for back ends; empty if it is allowed."""
    if why := invalid_name(name):
        return why
    if name in RESERVED:
        return (
            f"a back end cannot be named {name!r}: PartitionGraph removes annotations of that "
            f"name, so that the host compiles the annotated operators; choose another name"
        )
    return ""


def stand_in_of(name: str) -> str | None:
    """The sentence that NumPy replaces a back end; None if the back end computes its regions, or is
    not registered for Relay."""
    return _registered[name].stand_in() if name in _registered else None


def is_registered(name: str) -> bool:
    """Whether `get` finds a back end of this name. Raises PlugInError."""
    return plugins.has(_registered, name)


def names() -> list[str]:
    """The names of registered back ends; back ends of installed packages are included once
    loaded."""
    return sorted(_registered)


def partition(mod: IRModule, name: str, params: Mapping[str, Any] | None = None) -> IRModule:
    """Partition `mod`: moves the calls that back end `name` supports into external functions.

    params: bound into @main first.

    Raises UnknownNameError when there is no such back end.
    """
    get(name)
    if params:
        mod = mod.copy()
        mod["main"] = bind_params_by_name(mod["main"], params)
    with PassContext(opt_level=3):
        return Sequential(named_pipeline(name), name=name)(mod)
