"""Discovery of cases and exercises: one per file, each with a unique name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import TypeVar

from byoc_lab.errors import ArgumentError, DuplicateNameError, UnknownNameError, nearest

T = TypeVar("T")


def discover(package: ModuleType, base: type[T]) -> dict[str, T]:
    """One instance of each concrete subclass of `base` that a module of `package` defines, by name.

    Raises DuplicateNameError if two classes have the same name.
    """
    found: dict[str, T] = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for cls in vars(module).values():
            own = inspect.isclass(cls) and cls.__module__ == module.__name__
            if own and issubclass(cls, base) and not inspect.isabstract(cls):
                name = cls.name
                if name in found:
                    raise DuplicateNameError(
                        f"two classes of {package.__name__} have the name {name!r}: "
                        f"{type(found[name]).__qualname__} and {cls.__qualname__}; rename one"
                    )
                found[name] = cls()
    return dict(sorted(found.items()))


def named(found: dict[str, T], name: str, kind: str) -> T:
    """The case or exercise with this name. Raises UnknownNameError, ArgumentError. kind: "case" or
    "exercise", for messages."""
    if not isinstance(name, str):
        raise ArgumentError(
            f"the name of the {kind} comes first, as a str, "
            f"found {type(name).__name__} {name!r:.60}"
        )
    if name not in found:
        raise UnknownNameError(f"no {kind} is named {name!r}; {nearest(name, found)}")
    return found[name]
