"""Passes, and sequences of them.

Source: `tvm.transform` of TVM 0.16 (names, levels, what runs when).
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from byoc_lab.errors import ArgumentError, PassError, UnknownNameError, nearest
from byoc_lab.passes.framework.context import PassContext as PassContext  # re-exported
from byoc_lab.passes.framework.hook import rewriting
from byoc_lab.passes.framework.instrument import PassInfo
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.foreign import refuse_foreign
from byoc_lab.relay.ir.module import IRModule, module_expected
from byoc_lab.relay.typing.infer import infer_module

if TYPE_CHECKING:
    from typing_extensions import Self


class Composes(NamedTuple):
    """The operators that a pass moves into composite functions of a back end. condition: the
    minimum requirement on the surrounding operators, as the end of a sentence with "only if"."""

    back_end: str
    operators: Collection[str]
    condition: str


class Pass(ABC):
    """A function from module to module. Its input is never changed.

    If called directly, a pass always runs (unless an instrument declines it); a Sequential runs it
    if the context enables it, after the passes it lists as `required`.

    replaces: the operators that it replaces by other operators, always or if their arguments allow
    it.

    composes: what it moves into composite functions of a back end, beside the pattern table.

    eras: the earlier TVM versions whose behaviour the argument `era` selects.

    takes_modules: whether an option may be a module; if not, `P(mod)` is an error.
    """

    opt_level: int = 0
    required: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    composes: tuple[Composes, ...] = ()
    eras: tuple[str, ...] = ()
    takes_modules: ClassVar[bool] = False

    @classmethod
    def era_of(cls, era: str | None) -> str | None:
        """The argument `era` to pass in a pipeline of `era`; None if the pass has no variant of
        that era."""
        return era if era in cls.eras else None

    @classmethod
    def checked_era(cls, era: str | None) -> str | None:
        """The argument `era`. Raises PassError for an era without a variant."""
        if era is not None and era not in cls.eras:
            known = " or ".join(f'"{known}"' for known in cls.eras)
            raise PassError(f"{cls.__name__}: era must be None or {known}, found {era!r}")
        return era

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Raises PassError if the class does not define all abstract methods, or if it is called
        with a module, unless an option may be a module (`takes_modules`)."""
        if not cls.takes_modules and any(isinstance(a, (IRModule, Function)) for a in args):
            raise PassError(
                f"{cls.__name__} was given a module in place of its options; a pass is made first "
                f"and then called: {cls.__name__}(...)(mod)"
            )
        if cls.__abstractmethods__:
            raise PassError(
                f"{cls.__name__} must define {' and '.join(sorted(cls.__abstractmethods__))}"
            )
        if cls.__init__ is object.__init__ and (args or options):
            raise ArgumentError(f"{cls.__name__}() takes no arguments")
        return super().__new__(cls)

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def info(self) -> PassInfo:
        return PassInfo(self.opt_level, self.name, self.required)

    def __call__(self, mod: IRModule) -> IRModule:
        if not isinstance(mod, IRModule):
            raise PassError(module_expected(self.name, mod))
        refuse_foreign(mod, self.name)
        observer = _observer.get()
        if observer is None:
            return self._run_if_allowed(mod)[0]
        instead = observer.begin(self, mod)
        if instead is not None:
            return instead
        try:
            after, skipped = self._run_if_allowed(mod)
        except Exception as error:
            observer.end(self, None, error=error)
            raise
        observer.end(self, after, skipped=skipped)
        return after

    def _run_if_allowed(self, mod: IRModule) -> tuple[IRModule, str]:
        """The result, and the reason that the pass did not run if an instrument declined it."""
        ctx = PassContext.current()
        if not ctx.instruments:
            return self._checked_run(mod, ctx), ""
        info = self.info
        if not ctx.before_pass(mod, info):
            return mod, "an instrument declined it"
        after = self._checked_run(mod, ctx)
        ctx.after_pass(after, info)
        return after, ""

    def _checked_run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        after = self.run(mod, ctx)
        if not isinstance(after, IRModule):
            raise PassError(f"{self.name} must return an IRModule, found {type(after).__name__}")
        return after

    @abstractmethod
    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """The module after the pass; `mod` is not changed."""

    def __repr__(self) -> str:
        return f"{self.name}()"


class ModulePass(Pass):
    """A pass on the module as a whole."""


def is_optimizable(func: Function) -> bool:
    """Whether function passes rewrite a global function; they skip functions for other
    compilers."""
    return not (
        "Compiler" in func.attrs or func.attrs.get("Extern") or func.attrs.get("SkipOptimization")
    )


def typed_as(mod: IRModule, out: IRModule) -> IRModule:
    """The result of a module pass on `mod`: with types if `mod` had them."""
    return infer_module(out) if all(f.is_typed for f in mod.functions.values()) else out


class FunctionPass(Pass):
    """Rewrites each optimizable function separately, then infers types again.

    A module that is not typed yet is typed first, unless `needs_types` is false.
    """

    needs_types = True

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        todo = {gv: func for gv, func in mod.functions.items() if is_optimizable(func)}
        if self.needs_types and not all(func.is_typed for func in todo.values()):
            mod = infer_module(mod)
            todo = {gv: mod.functions[gv] for gv in todo}
        out = mod.copy()
        for gv, func in todo.items():
            with rewriting(func, gv.name_hint):
                out.functions[gv] = self.run_function(func, out, ctx)
        same = all(out.functions[gv] is func for gv, func in mod.functions.items())
        done = same and all(func.is_typed for func in todo.values())
        if ctx.instruments:  # instruments are called for InferType, as in TVM
            out = make_pass("InferType")(out)
            return mod if done else out
        return mod if done else infer_module(out)

    @abstractmethod
    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        """A function of `mod` after the pass."""


def each_function(mod: IRModule, change: Callable[[Function, IRModule], Function]) -> IRModule:
    """A copy of a module with each optimizable function replaced by `change(function, copy)`; the
    types are not inferred again."""
    out = mod.copy()
    for gv, func in mod.functions.items():
        if is_optimizable(func):
            with rewriting(func, gv.name_hint):
                out.functions[gv] = change(func, out)
    return out


class Sequential(Pass):
    """Passes one after the other; itself a pass.

    opt_level, required, name: as for any pass; they matter only inside another Sequential.
    """

    def __init__(
        self,
        passes: Sequence[Pass] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] | None = None,
        traceable: bool = False,
    ):
        if not isinstance(passes, (list, tuple, type(None))):
            raise ArgumentError(f"passes must be a list of passes, found {passes!r:.80}")
        for n, member in enumerate(passes or ()):
            if not isinstance(member, Pass):
                raise ArgumentError(
                    f"a Sequential is made of passes, found {member!r:.80} at position {n}; "
                    f"make_pass(name) makes a pass by name, module_pass one of a function"
                )
        if not isinstance(required, (list, tuple, type(None))):
            raise ArgumentError(
                f"required must be a list or tuple of names, found {required!r:.80}"
            )
        self.passes = list(passes or ())
        self.opt_level = opt_level
        self.required = tuple(required or ())
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        for p in self.passes:
            skipped = ctx.why_skipped(p.info)
            if not skipped:
                for name in p.required:
                    mod = make_pass(name)(mod)
                mod = p(mod)
            elif (observer := _observer.get()) is not None:
                observer.begin(p, mod)
                observer.end(p, mod, skipped=skipped)
        return mod

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.passes))})"


class StageObserver(Protocol):
    """Observes every pass that the framework reaches, sequences and the passes inside other passes
    included."""

    def begin(self, p: Pass, mod: IRModule) -> IRModule | None:
        """Called when the framework reaches pass `p` with module `mod`. If this returns a module,
        the pass does not run, that module is its result, and `end` is not called."""

    def end(
        self, p: Pass, after: IRModule | None, error: Exception | None = None, skipped: str = ""
    ) -> None:
        """Called at the end of the pass that began last. after: the result, None if the pass raised
        `error`. skipped: the reason why the pass did not run."""


_observer: ContextVar[StageObserver | None] = ContextVar("byoc_lab_observer", default=None)


@contextmanager
def observing(observer: StageObserver) -> Iterator[None]:
    """Inside the context, `observer` is notified of the passes that run."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def skipped_members(passes: Iterable[Pass], context: PassContext) -> Iterator[Pass]:
    """The passes, and members of sequences in them, that a Sequential of `passes` does not run."""
    for p in passes:
        if not context.enables(p.info):
            yield p
        elif isinstance(p, Sequential):
            yield from skipped_members(p.passes, context)


def leaves(passes: Sequence[Pass]) -> Iterator[Pass]:
    """The passes, with each Sequential replaced by its members, at any depth."""
    for p in passes:
        if isinstance(p, Sequential):
            yield from leaves(p.passes)
        else:
            yield p


_factories: dict[str, Callable[[], Pass]] = {}

# Names of the passes in byoc_lab.compat.passes, for error messages. This package must not import
# it, so a test compares the names.
COMPAT_PASSES = frozenset((
    "AnnotateSpans", "CanonicalizeCast", "CombineParallelBatchMatmul", "CombineParallelConv2D",
    "CombineParallelDense", "DeadCodeElimination", "DefuseOps",
    "EliminateCommonSubexpr", "EtaExpand", "ExtractFusedFunctions", "FastMath",
    "FlattenAtrousConv", "FuseOps", "Inline", "InlineCompilerFunctionsBoundTo", "LambdaLift",
    "MarkCompilerFunctionsAsExtern", "OutlineCompilerFunctionsWithExistingGlobalSymbols",
    "PrintIR", "SimplifyFCTranspose",
))  # fmt: skip


def register_pass(name: str, factory: Callable[[], Pass]) -> None:
    """Make a pass (with default options) available by name. A later one replaces an earlier one."""
    _factories[name] = factory


def make_pass(name: str, era: str | None = None) -> Pass:
    """The pass of a name, with default options; its variant for `era`, if it has eras.

    Raises UnknownNameError, and PassError for a pass that needs arguments.
    """
    if name not in _factories and name in COMPAT_PASSES:
        raise UnknownNameError(
            f"the pass {name} is for scripts written for TVM: import byoc_lab.compat, which "
            f"registers it"
        )
    if name not in _factories:
        raise UnknownNameError(
            f"no pass is named {name!r}; {nearest(name, _factories)} "
            f"byoc_lab.passes.pass_names() lists all {len(_factories)}"
        )
    factory = _factories[name]
    parameters = inspect.signature(factory).parameters
    needed = [
        p.name
        for p in parameters.values()
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if needed:
        raise PassError(
            f"the pass {name} cannot be made by its name alone: it needs {', '.join(needed)}; "
            f"give the pass itself, {name}({', '.join(needed)})"
        )
    known = factory.era_of(era) if isinstance(factory, type) and issubclass(factory, Pass) else era
    return factory(**({"era": known} if known is not None and "era" in parameters else {}))


def passes_replacing(operators: Collection[str]) -> list[str]:
    """The names of the registered passes that replace one of these operators, in order."""
    return [
        name
        for name, factory in _factories.items()
        if not set(operators).isdisjoint(getattr(factory, "replaces", ()))
    ]


def passes_composing(back_end: str, operator: str) -> dict[str, str]:
    """The registered passes that move calls of an operator into composites of a back end, each with
    its condition."""
    return {
        name: composes.condition
        for name, factory in _factories.items()
        for composes in getattr(factory, "composes", ())
        if composes.back_end == back_end and operator in composes.operators
    }


def pass_names() -> list[str]:
    """The names of all passes that `make_pass` knows."""
    return sorted(_factories)
