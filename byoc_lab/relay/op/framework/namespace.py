"""The Python functions of the operators: `relay.nn.conv2d`, `relay.add`, ...

They are generated from the definitions (`registry.builder`). If TVM's Python function creates
several calls (`std`), chooses among operators (`nn.matmul`) or returns a part of the result
(`nn.dropout`), a handwritten function beside the definition is registered with `@builds`.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Collection
from types import ModuleType
from typing import Any

from byoc_lab.errors import UnknownAttributeError, nearest
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.op.framework.registry import builder, builders


def discover(*packages: ModuleType, last: Collection[str] = ()) -> None:
    """Import every module of the packages; each module defines operators. Modules in `last` are
    imported last, because they look up operators of other modules."""
    modules = [
        (package, module.name)
        for package in packages
        for module in pkgutil.iter_modules(package.__path__)
    ]
    for package, name in sorted(modules, key=lambda found: found[1] in last):
        importlib.import_module(f"{package.__name__}.{name}")


_HANDWRITTEN: dict[str, Callable[..., Any]] = {}


def builds(name: str, defaults_of: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as `relay.<name>`, instead of the generated builder.

    Its parameters get the defaults of the parameters of the same names in the builder of
    `defaults_of`.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _HANDWRITTEN[name] = with_defaults(function, defaults_of) if defaults_of else function
        return _HANDWRITTEN[name]

    return register


def with_defaults(function: Callable[..., Any], op_name: str) -> Callable[..., Any]:
    """`function` with the default values of the builder of an operator."""
    given = inspect.signature(builder(Op.get(op_name))).parameters
    own = inspect.signature(function)
    parameters = [
        p.replace(default=given[n].default) if n in given else p for n, p in own.parameters.items()
    ]
    signature = own.replace(parameters=parameters)

    @functools.wraps(function)
    def build(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return function(*bound.args, **bound.kwargs)

    build.__signature__ = signature  # type: ignore[attr-defined]
    return build


def function(name: str) -> Callable[..., Any]:
    """`relay.<name>`, for code that `relay` itself imports. Raises UnknownNameError."""
    return _HANDWRITTEN.get(name) or builder(Op.get(name))


def namespace(prefix: str = "") -> dict[str, Callable[..., Any]]:
    """The functions whose names are `prefix` + one plain word; a dict by that word."""
    handwritten = {n[len(prefix) :]: f for n, f in _HANDWRITTEN.items() if n.startswith(prefix)}
    return {
        **builders(prefix, _HANDWRITTEN),
        **{n: f for n, f in handwritten.items() if "." not in n},
    }


def later(module: str, prefix: str = "") -> Callable[[str], Callable[..., Any]]:
    """The `__getattr__` for a module with the names of `namespace(prefix)`: it finds builders of
    operators that were defined after the module was imported."""
    found: dict[str, Callable[..., Any]] = {}

    def get(name: str) -> Callable[..., Any]:
        if name not in found and not name.startswith("_"):
            found.update({n: f for n, f in namespace(prefix).items() if n not in found})
        if name not in found:
            said = f"module {module!r} has no attribute {name!r}"
            raise UnknownAttributeError(said, lambda: hint(name))
        return found[name]

    def hint(name: str) -> str:
        names = {n.lower(): n for n in Op.elsewhere}
        home = Op.elsewhere.get(names.get(f"{prefix}{name}".lower(), ""))
        if home:
            return f"{home} defines it, import {home} first"
        same = [op for op in Op.list_op_names() if op.rpartition(".")[2] == name]
        here = {n for n in vars(sys.modules[module]) if not n.startswith("_")} | {*found}
        return nearest(same[0], same) if same else nearest(name, here)

    return get
