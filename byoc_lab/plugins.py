"""Back ends outside byoc_lab: files and modules to import, and installed packages.

A package names its back end in its metadata; the back end is loaded when its name is first used:

    [project.entry-points."byoc_lab.backends"]
    mychip = "mychip_byoc:register"  # a function to call, or a module to import
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Container
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from byoc_lab.errors import ByocLabError, place_outside

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "byoc_lab.backends"
_loading: set[str] = set()


class PlugInError(ByocLabError, ImportError):
    """The code that should register a back end cannot be imported, or raises an error."""

    advice = "Correct the file or package that the message names, or remove the package"


def import_code(name: str) -> None:
    """Import a module by its name, or run a file whose name ends in .py as a module.

    As with `python -m`, modules in the working directory are found; for a file, modules in its
    folder. The file's module is named like the file, so that other processes can find its
    functions.

    Raises PlugInError if the module does not exist, if a different module has its name, or if it
    raises an error.
    """
    path = Path(name)
    if path.suffix != ".py":
        _search_in(Path.cwd())
        _guarded(name, lambda: _imported(name))
        return
    if not path.is_file():
        raise PlugInError(f"cannot import {name}: there is no such file")
    own = path.resolve()
    loaded = sys.modules.get(path.stem)
    if loaded is not None:
        if getattr(loaded, "__file__", None) == str(own):
            return
        raise PlugInError(
            f"cannot import {name}: a module is already named {path.stem!r} "
            f"({getattr(loaded, '__file__', None) or 'built in'}); rename the file"
        )
    _search_in(own.parent)
    _guarded(name, lambda: _run(path.stem, own))


def load(name: str) -> bool:
    """Load the back end with this name from an installed package; False if no package has one.

    Raises PlugInError if the package cannot be loaded, or if two packages have the name.
    """
    found = [entry for entry in _installed() if entry.name == name]
    if not found or name in _loading:
        return False
    if len(found) > 1:
        packages = " and ".join(sorted(map(_package, found)))
        raise PlugInError(
            f"several packages have a back end named {name!r}: {packages}; uninstall one"
        )
    [entry] = found
    _loading.add(name)
    try:
        what = f"the back end {name!r} of {_package(entry)} (entry point {entry.value})"
        _guarded(what, lambda: _started(entry.load()))
    finally:
        _loading.discard(name)
    return True


def has(table: Container[str], name: str) -> bool:
    """Whether a registry has a name. First loads the installed package with a back end of that
    name, if any. Raises PlugInError."""
    return name in table or (load(name) and name in table)


def packages() -> dict[str, str]:
    """The back ends of installed packages, loaded or not, each with its packages."""
    return {entry.name: _package(entry) for entry in sorted(_installed(), key=lambda e: e.name)}


def _installed() -> list[EntryPoint]:
    # imported here because it takes a tenth of the time of byoc_lab's import
    from importlib.metadata import entry_points

    return list(entry_points(group=GROUP))


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.module


def _started(found: Any) -> None:
    if not isinstance(found, ModuleType):
        found()


def _imported(name: str) -> None:
    root = name.partition(".")[0]
    if importlib.util.find_spec(root) is None:
        raise ModuleNotFoundError(
            f"no module is named {root!r} in the working directory or on sys.path; the name of a "
            f"file ends in .py"
        )
    importlib.import_module(name)


def _search_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _run(name: str, path: Path) -> None:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # the suffix is .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


def _guarded(what: str, action: Callable[[], object]) -> None:
    """Run external code. Raises PlugInError for any exception of it."""
    try:
        action()
    except (Exception, SystemExit) as error:
        place = "" if isinstance(error, SyntaxError) else place_outside(error)
        text = f": {error}" if str(error) else ""
        raise PlugInError(
            f"cannot import {what}: {type(error).__name__}{text}{_short(place)}"
        ) from error


def _short(place: str) -> str:
    """A path relative to the working directory, if it is inside."""
    return place.replace(f" at {os.getcwd()}{os.sep}", " at ")
