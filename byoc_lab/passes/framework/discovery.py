"""Discovery of passes: each file below a package defines one pass, which is available by its
name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Collection

from byoc_lab.passes.framework.passes import Pass, register_pass


def discover(package: str, bases: Collection[type]) -> dict[str, type[Pass]]:
    """The pass classes that the modules below `package` define, each registered by its name.

    Imports all of these modules. Excluded: the classes in `bases` (base classes of passes), and
    classes whose names begin with an underscore.
    """
    found = {}
    path = importlib.import_module(package).__path__
    for info in pkgutil.walk_packages(path, f"{package}."):
        module = importlib.import_module(info.name)
        for name, cls in vars(module).items():
            own = inspect.isclass(cls) and cls.__module__ == module.__name__
            if own and issubclass(cls, Pass) and cls not in bases and not name.startswith("_"):
                register_pass(name, cls)
                found[name] = cls
    return found
