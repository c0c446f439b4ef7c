"""`@module_pass` and `@function_pass`: a pass from a function, or from a class with a method.

@module_pass(opt_level=1)
def count(mod, ctx): ...

@function_pass(opt_level=1)
class Scale:
    def __init__(self, factor): ...
    def transform_function(self, func, mod, ctx): ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from byoc_lab.errors import ArgumentError, InputError, PassError
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.instrument import PassInfo
from byoc_lab.passes.framework.passes import FunctionPass, ModulePass, Pass
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule


class UserPass(Pass):
    """A pass that calls a function of the user. info: the arguments of the decorator."""

    def __init__(self, function: Callable[..., Any], info: PassInfo):
        self._function, self._info = function, info
        self.opt_level, self.required = info.opt_level, info.required

    @property
    def name(self) -> str:
        return self._info.name

    @property
    def info(self) -> PassInfo:
        return self._info


def have_same_parts(one: IRModule, other: IRModule) -> bool:
    """Whether two modules have the same functions, types and attributes, as a copy does."""
    same_types = one.type_definitions == other.type_definitions
    return one.functions == other.functions and same_types and one.attrs is other.attrs


class UserModulePass(UserPass, ModulePass):
    """A pass on the module that calls a function of the user."""

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        given = mod.copy()  # the function may modify its argument
        after: IRModule = self._function(given, ctx)
        return mod if after is given and have_same_parts(given, mod) else after


class _UserFunctionPass(UserPass, FunctionPass):
    needs_types = False  # a user's pass requests types with `required`

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        after = self._function(func, mod, ctx)
        if not isinstance(after, Function):
            raise PassError(f"{self.name} must return a Function, found {type(after).__name__}")
        return after


def _of_class(cls: type, kind: type[UserPass], method: str, info: PassInfo) -> type:
    """A pass class that wraps an instance of `cls`: it takes the instance's arguments and exposes
    its attributes."""

    class Wrapper(kind):  # type: ignore[misc, valid-type]
        takes_modules = cls.__init__ is not object.__init__  # type: ignore[misc]

        def __init__(self, *args: Any, **kwargs: Any):
            self._inst = cls(*args, **kwargs)
            super().__init__(getattr(self._inst, method), info)

        def __getattr__(self, name: str) -> Any:
            if name == "_inst":  # not set yet, because the __init__ of `cls` raised
                raise AttributeError(name)
            return getattr(self._inst, name)

    Wrapper.__name__, Wrapper.__qualname__ = cls.__name__, cls.__qualname__
    Wrapper.__doc__, Wrapper.__module__ = cls.__doc__, cls.__module__
    Wrapper.__init__.__doc__ = cls.__init__.__doc__  # type: ignore[misc]
    return Wrapper


def _decorator(kind: type[UserPass], word: str) -> Callable[..., Any]:
    def decorator(
        pass_func: Any = None,
        opt_level: int | None = None,
        name: str | None = None,
        required: Sequence[str] | None = None,
        traceable: bool = False,
    ) -> Any:
        if opt_level is None:
            raise InputError(f"Please provide opt_level for the {word} pass.")
        if not isinstance(required, (list, tuple, type(None))):
            raise ArgumentError(f"required must be a list or tuple of names, found {required!r}")

        def make(f: Any) -> Any:
            if not callable(f):
                raise ArgumentError(f"pass_func must be a function or a class, found {f!r}")
            info = PassInfo(opt_level, name or f.__name__, tuple(required or ()), traceable)
            if isinstance(f, type):
                return _of_class(f, kind, f"transform_{word}", info)
            return kind(f, info)

        return make if pass_func is None else make(pass_func)

    decorator.__doc__ = f"""A {word} pass from a function or class; also a decorator.

    pass_func: a function `(mod, ctx)`, or `(func, mod, ctx)` for a function pass, that returns the
    replacement of its first argument; or a class with such a method, named `transform_{word}`.
    name: by default the name of the function or class. required: names of passes that a Sequential
    runs before it.
    Raises InputError without an opt_level.
    """
    decorator.__name__ = decorator.__qualname__ = f"{word}_pass"
    return decorator


module_pass = _decorator(UserModulePass, "module")
function_pass = _decorator(_UserFunctionPass, "function")
