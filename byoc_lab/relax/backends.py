"""Back ends of Relax: supported operators, patterns, and code generators.

`register` corresponds to `byoc_lab.backends.register`, for the current TVM; `register(name)` reuses
a back end of Relay. DNNL is one of the back ends. A pattern table of TVM (tensorrt, cutlass,
cublas, ...) is a back end that only partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from byoc_lab import plugins
from byoc_lab.backends import registry as backends_of_relay
from byoc_lab.errors import ArgumentError, PassError, UnknownNameError, nearest
from byoc_lab.passes.framework.predicates import checked_entry
from byoc_lab.relax import partition
from byoc_lab.relax.codegens import compile_functions
from byoc_lab.relax.ir.calls import checked_relax, host_functions
from byoc_lab.relax.passes import FUSES, applied
from byoc_lab.relax.patterns.checks import (
    CallCheck,
    CompilableCheck,
    Compiles,
    EntryCheck,
    Predicate,
)
from byoc_lab.relax.patterns.translation import relax_entry, relax_name
from byoc_lab.relax.registration import PREFIX, keep_errors
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.patterns import DFPattern, is_op, wildcard
from byoc_lab.run.backends import Codegen, get_backend, invalid_name
from byoc_lab.run.tvm_runtime import import_tvm

OF_TVM = {
    "cublas": "tvm.relax.backend.cuda.cublas",
    "cudnn": "tvm.relax.backend.cuda.cudnn",
    "cutlass": "tvm.relax.backend.cuda.cutlass",
    "example_npu": "tvm.relax.backend.contrib.example_npu",
    "tensorrt": "tvm.relax.backend.contrib.tensorrt",
}
"""Tables of TVM, with the module that registers each when it is imported."""
Table = Callable[[], Sequence[Any]]


@dataclass(frozen=True)
class RelaxBackend:
    """A back end of Relax.

    name: the value of the attribute Codegen of its functions. table: returns the entries for
    FuseOpsByPattern, (name, pattern, ...) or FusionPatterns. codegen: compiles one region, given as
    a Relay function and its symbol; None if unknown to byoc_lab. passes: returns the passes that
    partition a module; None for the default passes. missing: a sentence that NumPy computes its
    regions here, or None. left_out: operators in `supports` of the Relay back end that Relax does
    not have.
    """

    name: str
    table: Table
    codegen: Codegen | None = None
    passes: Callable[[], Sequence[Any]] | None = None
    missing: Callable[[], str | None] | None = None
    left_out: tuple[str, ...] = ()

    def partition(self, mod: Any) -> Any:
        """Moves the matches of the table into functions for this back end.

        Raises the errors of `partition.partitioned`.
        """
        return self.matched(mod)[1]

    def matched(self, mod: Any) -> tuple[Any, Any]:
        """The input module of FuseOpsByPattern, and the partitioned module; errors as for
        `partition`. If FuseOpsByPattern is not visible among the passes, both are the partitioned
        module."""
        who = f"the partitioning for {self.name}"
        mod = checked_relax(mod, who)
        passes = self.pipeline(mod)
        names = [str(each.info.name) for each in passes]
        at = names.index(FUSES) if FUSES in names else len(passes)
        given = applied(passes[:at], mod, who)
        return given, applied(passes[at:], given, who)

    def pipeline(self, mod: Any) -> list[Any]:
        """The TVM passes that `partition` runs on a module, for a trace."""
        if self.passes is not None:
            return self._own_passes()
        cutting = partition.partitioning_passes(self.table(), mod)
        if len(host_functions(mod)) > 1:
            cutting = list(map(partition.on_reached, cutting))
        return [*partition.preparing_passes(mod), *cutting]

    def _own_passes(self) -> list[Any]:
        """The result of `passes`. Raises PassError unless all items are TVM passes."""
        assert self.passes is not None
        made = self.passes()
        a_pass = import_tvm().transform.Pass
        if not isinstance(made, (list, tuple)) or not all(isinstance(p, a_pass) for p in made):
            raise PassError(
                f"the pipeline of {self.name!r} must return a list of passes of TVM, such as "
                f"relax.transform.FoldConstant(), found {made!r:.80}; "
                f"tvm.transform.module_pass makes a pass of a function"
            )
        return list(made)


_registered: dict[str, RelaxBackend] = {}


def register(
    name: str,
    *,
    patterns: Sequence[Any] | Table = (),
    supports: Collection[str] | Mapping[str, Predicate] = (),
    codegen: Codegen | None = None,
    compiles: Compiles | None = None,
    missing: Callable[[], str | None] | None = None,
    pipeline: Callable[[], Sequence[Any]] | None = None,
) -> RelaxBackend:
    """Register a back end of Relax; registering a name again replaces the earlier one.

    Without `patterns`, `supports` and `codegen`, they are taken from the back end that
    `byoc_lab.backends.register` registered under this name, so that one registration serves both
    languages. Operators in its `supports` that Relax does not have are omitted
    (`RelaxBackend.left_out`).

    patterns: entries for FuseOpsByPattern, (name, pattern), (name, pattern, annotations, check) or
        FusionPatterns, tried in this order; or a function that returns such a list. Names of
        entries begin with "<name>.". An entry of a Relay table, (name, pattern) or (name, pattern,
        check) with a         pattern of `byoc_lab.relay.dataflow_pattern`, is translated; its check
        receives the matched part as a typed Relay call, with variables for values from outside the
        match.
    supports: names, without "relax.", of operators that are supported individually; in a mapping,
        `supports[operator](call)` says whether the back end supports this Relax call. They are
        tried after `patterns`.
    codegen: codegen(function, symbol) compiles a region, as for `byoc_lab.backends.register`: the
        function is in Relay and contains its composites as inner functions; the result may be a
        `PythonRegion` (which needs a C compiler), a `ModuleRegion` or any other compiled region. It
        is registered as `relax.ext.<name>`, which RunCodegen calls. Matches with an operator that
        has no counterpart in Relay, or with an unknown size, stay on the host. Without a code
        generator, modules can be partitioned and explained, but not built.
    compiles: compiles(typed Relay call) returns the reason that `codegen` refuses a call, or None.
    missing: as for `byoc_lab.backends.register`.
    pipeline: returns the TVM passes that partition a module; by default, batch norms and constants
        are folded, then FuseOpsByPattern and MergeCompositeFunctions run.

    The patterns are also registered in TVM (`relax.backend.get_patterns_with_prefix`), except for a
    name in OF_TVM, whose patterns stay TVM's. Raises PassError for an invalid name, pattern or
    operator, PatternTranslationError for a Relay pattern without a translation, UnknownNameError if
    only a name is given and no Relay back end has it.
    """
    if why := invalid_name(name):
        raise PassError(why)
    if name == partition.TARGET:
        raise PassError(f"{name!r} is byoc_lab's own back end of Relax; choose another name")
    functions = {"codegen": codegen, "compiles": compiles, "missing": missing, "pipeline": pipeline}
    for what, value in functions.items():
        if value is not None and not callable(value):
            raise PassError(f"{what} of {name!r} must be a function, found {value!r:.80}")
    if isinstance(patterns, str) or not (callable(patterns) or isinstance(patterns, Iterable)):
        raise PassError(
            f"patterns of {name!r} must be a list of entries or a function that makes one, found "
            f"{type(patterns).__name__}"
        )
    left_out: tuple[str, ...] = ()
    nothing = not callable(patterns) and not patterns and not supports
    if nothing and codegen is not None and pipeline is None:
        raise PassError(
            f"{name!r} would support nothing: give patterns= or supports= with the code generator. "
            f"The patterns that TVM has for a name are "
            f"tvm.relax.backend.get_patterns_with_prefix('{name}.')"
        )
    if nothing and codegen is None:
        of_relay = backends_of_relay.get(name)
        patterns, codegen, compiles = of_relay.patterns, of_relay.codegen, of_relay.compiles
        missing = missing or of_relay.missing
        single, left_out = _single_of_relay(name, of_relay.supports)
    else:
        single = _single(name, supports)
    given = patterns if callable(patterns) else partial(list, patterns)

    def table() -> list[Any]:
        made = given()
        if not isinstance(made, Iterable):
            raise PassError(
                f"the function of the patterns of {name!r} must return a list of entries, found "
                f"{type(made).__name__}"
            )
        kind = EntryCheck if codegen is None else partial(CompilableCheck, compiles=compiles)
        return [_asked(name, kind, entry) for entry in (*map(_translated, made), *single)]

    table()  # raises for invalid entries
    backend = RelaxBackend(name, table, codegen, pipeline, missing, left_out)
    _register_in_tvm(backend)
    _registered[name] = backend
    return backend


def unregister(name: str) -> None:
    """Remove a back end that `register` registered, here and in TVM."""
    import tvm_ffi

    if _registered.pop(name, None) is None:
        return
    if name not in OF_TVM:
        _forget_patterns(name)
    tvm_ffi.remove_global_func(f"{PREFIX}{name}")


def get(name: Any) -> RelaxBackend:
    """The back end with a name: a registered back end, one of an installed package, or a table of
    TVM.

    Raises ArgumentError unless `name` is a string, UnknownNameError, and PlugInError if a package
    cannot be loaded.
    """
    if not isinstance(name, str):
        raise ArgumentError(
            f"a back end of Relax is given by its name, found {type(name).__name__} {name!r:.80}"
        )
    if name == partition.TARGET:
        return RelaxBackend(name, partition.patterns, get_backend(name))
    if plugins.has(_registered, name):
        return _registered[name]
    if name in OF_TVM and find_spec(OF_TVM[name]) is not None:
        import_module(OF_TVM[name])
    find = import_tvm().relax.backend.get_patterns_with_prefix
    if not find(f"{name}."):
        check_not_of_relay(name)
        raise UnknownNameError(
            f"no back end of Relax is named {name!r:.80}; {nearest(name, names())} Register it "
            f"with byoc_lab.relax.register, or import the module of TVM that registers its patterns"
        )
    return RelaxBackend(name, lambda: list(find(f"{name}.")))


def stand_in_of(name: str) -> str | None:
    """The sentence that NumPy computes the regions of a back end here; None if the back end itself
    does."""
    own = _registered.get(name)
    if own is None:
        return backends_of_relay.stand_in_of(name)
    return None if own.missing is None else own.missing()


def check_not_of_relay(name: str) -> None:
    """Raises UnknownNameError if the name is a back end registered only for Relay."""
    if backends_of_relay.is_registered(name):
        raise UnknownNameError(
            f"the back end {name!r} is registered for Relay alone: "
            f"byoc_lab.relax.register({name!r}) registers it for Relax, too"
        )


def names() -> list[str]:
    """The names of registered back ends, DNNL, and back ends with a table in TVM."""
    return sorted({*_registered, partition.TARGET, *OF_TVM})


def registered() -> list[RelaxBackend]:
    """The back ends that `register` registered, by name."""
    return [_registered[name] for name in sorted(_registered)]


def is_known(name: str) -> bool:
    """Whether `get` finds a back end."""
    try:
        get(name)
    except UnknownNameError:
        return False
    return True


def _single(
    name: str, supports: Collection[str] | Mapping[str, Predicate]
) -> list[tuple[Any, ...]]:
    """One entry per supported operator. Raises PassError."""
    if isinstance(supports, str) or not isinstance(supports, Collection):
        raise PassError(
            f"supports={supports!r:.80}: {name!r} must list operators or map them to checks"
        )
    tvm = import_tvm()
    dpl, known = tvm.relax.dpl, set(map(str, tvm.ir.Op.list_op_names()))
    checks = supports if isinstance(supports, Mapping) else dict.fromkeys(supports, None)
    entries = []
    for operator, check in checks.items():
        if f"relax.{operator}" not in known:
            near = nearest(f"relax.{operator}", [k for k in known if k.startswith("relax.")])
            raise PassError(f"TVM has no operator relax.{operator}; {near}")
        pattern = dpl.is_op(f"relax.{operator}")(varg_default_wildcard=True)
        asked = [] if check is None else [{}, CallCheck(check)]
        entries.append((f"{name}.{operator.removeprefix('nn.')}", pattern, *asked))
    return entries


def _single_of_relay(
    name: str, supports: Mapping[str, Any]
) -> tuple[list[tuple[Any, ...]], tuple[str, ...]]:
    """One entry per supported operator of Relay, and the operators that Relax does not have."""
    entries, left_out = [], []
    for operator, predicate in supports.items():
        if relax_name(operator) is None:
            left_out.append(operator)
            continue
        inputs = Op.get(operator).definition.inputs
        pattern = is_op(operator)(*(wildcard() for _ in inputs))
        label = f"{name}.{operator.removeprefix('nn.')}"
        entries.append(relax_entry(label, pattern, predicate))
    return entries, tuple(left_out)


def _translated(entry: Any) -> Any:
    """An entry for FuseOpsByPattern; an entry of a Relay table is translated."""
    if isinstance(entry, (tuple, list)) and any(isinstance(part, DFPattern) for part in entry):
        return relax_entry(*checked_entry(0, entry))
    return entry


def _asked(owner: str, kind: Callable[..., EntryCheck], entry: Any) -> tuple[Any, ...]:
    """An entry of the back end `owner` with a check of class `kind`. Raises PassError for a name of
    another back end, and for parts that TVM does not accept."""
    whole = isinstance(entry, tuple) and len(entry) > 1
    label = str(entry[0] if isinstance(entry, tuple) and entry else getattr(entry, "name", entry))
    if not label.startswith(f"{owner}."):
        raise PassError(
            f"the patterns of {owner!r} must have names that begin with '{owner}.', found "
            f"{label!r:.80}; MergeCompositeFunctions reads the back end from them"
        )
    pattern = entry[1] if whole else getattr(entry, "pattern", entry)
    if not isinstance(pattern, import_tvm().relax.dpl.DFPattern):
        raise PassError(
            f"the pattern of {label!r:.80} must be one of byoc_lab.relay.dataflow_pattern or "
            f"one of tvm.relax.dpl, found "
            f"{type(pattern).__module__}.{type(pattern).__name__}"
        )
    _, _, *rest = entry if whole else _as_tuple(entry)
    annotations = rest[0] if rest else {}
    check = rest[1] if len(rest) > 1 else None
    if not isinstance(annotations, Mapping) or not (check is None or callable(check)):
        raise PassError(
            f"the entry {label!r:.80} must be (name, pattern, annotations, check) with a dict of "
            f"patterns and a function, found {annotations!r:.40} and {check!r:.40}; write {{}} for "
            f"no annotations"
        )
    return (label, pattern, annotations, kind(label, check), *rest[2:])


def _register_in_tvm(backend: RelaxBackend) -> None:
    """Register the patterns and the code generator in TVM."""
    import tvm_ffi

    registry = import_tvm().relax.backend.pattern_registry
    keep_errors()
    if backend.codegen is not None:
        compiled = partial(compile_functions, backend.name, backend.codegen)
        tvm_ffi.register_global_func(f"{PREFIX}{backend.name}", compiled, override=True)
    elif backend.name in _registered:
        tvm_ffi.remove_global_func(f"{PREFIX}{backend.name}")  # registered earlier
    if backend.name in OF_TVM:
        return
    entries = list(backend.table())
    _forget_patterns(backend.name)
    # Patterns registered later are tried first. TVM drops patterns that it got as tuples when
    # Python ends, and would call checks of the others after that.
    made = [e if isinstance(e, tuple) else _as_tuple(e) for e in reversed(entries)]
    registry.register_patterns(made)


def _as_tuple(entry: Any) -> tuple[Any, ...]:
    return (entry.name, entry.pattern, entry.annotation_patterns, entry.check, entry.attrs_getter)


def _forget_patterns(name: str) -> None:
    registry = import_tvm().relax.backend.pattern_registry
    names = [str(pattern.name) for pattern in registry.get_patterns_with_prefix(f"{name}.")]
    if names:
        registry._ffi_api.RemovePatterns(names)


__all__ = ["RelaxBackend", "get", "is_known", "names", "register", "unregister"]
