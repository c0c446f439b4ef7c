"""The pass manager: passes, their contexts, and sequences of them.

Source: `tvm.transform` of TVM 0.16 (names, levels, what runs when).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from byoc_lab.errors import PassError, UnknownNameError
from byoc_lab.passes.hook import rewriting
from byoc_lab.relay.collector import collector_paused
from byoc_lab.relay.expr import Function
from byoc_lab.relay.infer import infer_module
from byoc_lab.relay.module import IRModule


class PassContext:
    """What passes of a `with` block go by.

    opt_level: a Sequential skips members of a higher level (2 by default: FoldScaleAxis, of level
        3, is then skipped silently). required_pass, disabled_pass: names that run, or do not,
        whatever their level. config: settings by name.
    """

    _active: ContextVar[tuple[PassContext, ...]] = ContextVar("byoc_lab_contexts", default=())

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Sequence[str] | None = None,
        disabled_pass: Sequence[str] | None = None,
        config: Mapping[str, Any] | None = None,
    ):
        self.opt_level = opt_level
        self.required_pass = tuple(required_pass or ())
        self.disabled_pass = tuple(disabled_pass or ())
        self.config = dict(config or {})

    def __enter__(self) -> PassContext:
        self._active.set((*self._active.get(), self))
        return self

    def __exit__(self, *exc: object) -> None:
        self._active.set(self._active.get()[:-1])

    @classmethod
    def current(cls) -> PassContext:
        """The innermost active context, or one with the defaults."""
        active = cls._active.get()
        return active[-1] if active else cls()

    @classmethod
    def is_active(cls) -> bool:
        """Whether a `with PassContext(...)` is open."""
        return bool(cls._active.get())

    def enables(self, p: Pass) -> bool:
        """Whether a Sequential under this context runs `p`."""
        if p.name in self.disabled_pass:
            return False
        return p.name in self.required_pass or p.opt_level <= self.opt_level


class Pass:
    """A function from module to module. Its input is never changed.

    Called by itself a pass always runs; a Sequential runs it if the context enables it, after the
    passes it lists as `required`.
    """

    opt_level: int = 0
    required: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def info(self) -> Pass:
        return self

    def __call__(self, mod: IRModule) -> IRModule:
        if not isinstance(mod, IRModule):
            raise PassError(
                f"{self.name} takes an IRModule, found {type(mod).__name__}; "
                f"IRModule.from_expr(...) makes one of an expression"
            )
        with collector_paused():
            return self.run(mod, PassContext.current())

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        raise NotImplementedError(f"{self.name} must define run()")

    def __repr__(self) -> str:
        return f"{self.name}()"


def is_optimizable(func: Function) -> bool:
    """Whether function passes look at a global function: not if another compiler's."""
    return not (
        "Compiler" in func.attrs or func.attrs.get("Extern") or func.attrs.get("SkipOptimization")
    )


class FunctionPass(Pass):
    """Rewrites each optimizable function by itself, then infers types again."""

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        out = mod.copy()
        for gv, func in mod.functions.items():
            if is_optimizable(func):
                self.require_types(func, gv.name_hint)
                with rewriting(func, gv.name_hint):
                    out.functions[gv] = self.run_function(func, out, ctx)
        if all(out.functions[gv] is func for gv, func in mod.functions.items()):
            return mod
        return infer_module(out)

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        raise NotImplementedError(f"{self.name} must define run_function()")

    def require_types(self, func: Function, name: str) -> None:
        if not func.is_typed:
            raise PassError(
                f"{self.name} needs types, and @{name} has none: "
                f"run relay.transform.InferType() before it"
            )


class Sequential(Pass):
    """Passes one after the other."""

    def __init__(
        self, passes: Sequence[Pass], opt_level: int = 0, name: str = "sequential", **_: Any
    ):
        self.passes = list(passes)
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        for p in self.expanded(ctx):
            mod = p(mod)
        return mod

    def expanded(self, ctx: PassContext) -> list[Pass]:
        """The passes that run under `ctx`, those that others require put before them."""
        found: list[Pass] = []
        for p in self.passes:
            if ctx.enables(p):
                found += [make_pass(name) for name in p.required]
                found.append(p)
        return found

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.passes))})"


class _MadePass(Pass):
    """A pass made of a function by `module_pass` or `function_pass`."""

    def __init__(self, function: Callable[..., Any], opt_level: int, name: str, required: Any):
        self._function, self._name = function, name
        self.opt_level = opt_level
        self.required = tuple(required or ())

    @property
    def name(self) -> str:
        return self._name

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return self._function(mod, ctx)


class _MadeFunctionPass(_MadePass, FunctionPass):
    run = FunctionPass.run

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return self._function(func, mod, ctx)

    def require_types(self, func: Function, name: str) -> None:
        """A user's pass asks for types itself, by `required`."""


def _pass_decorator(kind: type[_MadePass]) -> Callable[..., Any]:
    def decorator(
        pass_func: Any = None, opt_level: int = 0, name: str | None = None, required: Any = None
    ) -> Any:
        def make(f: Any) -> Any:
            label = name or f.__name__
            if isinstance(f, type):
                method = "transform_module" if kind is _MadePass else "transform_function"

                def construct(*args: Any, **kwargs: Any) -> _MadePass:
                    return kind(getattr(f(*args, **kwargs), method), opt_level, label, required)

                return construct
            return kind(f, opt_level, label, required)

        return make if pass_func is None else make(pass_func)

    return decorator


module_pass = _pass_decorator(_MadePass)
function_pass = _pass_decorator(_MadeFunctionPass)

_factories: dict[str, Callable[[], Pass]] = {}


def register_pass(name: str, factory: Callable[[], Pass]) -> None:
    """Make a pass (with default options) available by name."""
    _factories[name] = factory


def make_pass(name: str) -> Pass:
    """A pass by its name. Raises UnknownNameError."""
    if name not in _factories:
        raise UnknownNameError(
            f"no pass is named {name!r}; there are {', '.join(sorted(_factories))}"
        )
    return _factories[name]()
