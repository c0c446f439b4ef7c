"""Modules with TVM's names that combine byoc_lab and apache-tvm.

An `Overlay` is a module named as in TVM that looks its names up in the sources that `names.py`
lists for it. `module("tvm.relay")` returns one; `from byoc_lab.compat import tvm` needs only this.

`install()` makes every `import tvm...` in this process return overlays. The code of apache-tvm and
byoc_lab must still import apache-tvm under that name. So `sys.modules` holds apache-tvm's modules
(`apache_world`) while one of their import statements runs, and while apache-tvm is imported.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any

from byoc_lab.compat import integrations  # noqa: F401  (registers them, as importing TVM does)
from byoc_lab.compat.names import APACHE, INSTEAD, SOURCES, WHOLE
from byoc_lab.errors import UnsupportedModuleError, UnsupportedNameError
from byoc_lab.relay.ir.node_code import NODE_CODE
from byoc_lab.relay.text import printer

_INSIDERS = {"byoc_lab", "tvm", "tvm_ffi"}  # in their code, `import tvm` means apache-tvm
_overlays: dict[str, ModuleType] = {}


class Overlay(ModuleType):
    """A module of TVM whose names come from `sources` (names of modules, see `names.SOURCES`)."""

    def __init__(self, name: str, sources: Sequence[str]):
        super().__init__(name, f"TVM's {name}; its names come from {', '.join(sources)}.")
        self.__path__: list[str] = []  # makes Python ask our finder for its submodules
        self.__file__ = __file__
        self.__sources__ = tuple(sources)

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return sorted(n for n in self.__dir__() if not n.startswith("_"))
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        child = f"{self.__name__}.{name}"
        if child in SOURCES:
            return module(child)
        below: Any = None
        for source in self.__sources__:
            found = getattr(_source(source), name, self)
            if found is self or _leaks(_source(source), found, name):
                continue
            if not isinstance(found, ModuleType):
                return found
            below = below or found  # `sort` is a function in relay.op and also a file of byoc_lab
        below = below or _find(child)
        if below is None:
            raise UnsupportedNameError(f"{child} is not supported; {_instead(child)}")
        return below

    def __dir__(self) -> list[str]:
        start = f"{self.__name__}."
        names = {n[len(start) :] for n in SOURCES if n.startswith(start)}
        names = {n for n in names if "." not in n} | set(self.__dict__)
        for source in self.__sources__:
            found = _source(source)
            public = getattr(found, "__all__", None) or vars(found)
            names.update(n for n in public if not _leaks(found, getattr(found, n, None), n))
        return sorted(names)


class Absent(ModuleType):
    """A placeholder for an unsupported name in `from ... import name`: scripts may import names
    that they do not use. Every use of it raises UnsupportedNameError."""

    def __init__(self, name: str):
        super().__init__(name, f"TVM's {name} is not supported; {_instead(name)}.")
        self.__path__: list[str] = []  # makes Python ask our finder for its submodules

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._unsupported(name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise self._unsupported()

    def __mro_entries__(self, bases: Any) -> Any:
        raise self._unsupported()

    def __instancecheck__(self, instance: Any) -> bool:
        raise self._unsupported()

    def __getitem__(self, key: Any) -> Any:
        raise self._unsupported()

    def __iter__(self) -> Iterator[Any]:
        raise self._unsupported()

    def _unsupported(self, *below: str) -> UnsupportedNameError:
        name = ".".join((self.__name__, *below))
        return UnsupportedNameError(f"{name} is not supported; {_instead(name)}")


def module(name: str) -> ModuleType:
    """TVM's module of the given name. Raises UnsupportedModuleError."""
    found = _find(name)
    if found is None:
        raise UnsupportedModuleError(f"{name} is not supported; {_instead(name)}", name=name)
    return found


def _find(name: str) -> ModuleType | None:
    if name not in _overlays:
        made = _make(name)
        if made is None:
            return None
        _overlays[name] = made
    return _overlays[name]


def _make(name: str) -> ModuleType | None:
    if name in WHOLE:
        return importlib.import_module(WHOLE[name])
    if name in SOURCES:
        return Overlay(name, SOURCES[name])
    parent, _, last = name.rpartition(".")
    above = _find(parent) if parent else None
    if not isinstance(above, Overlay):
        return _import_apache(name) if above is not None else None
    for source in above.__sources__:
        below = f"{source}.{last}"
        if source.startswith(APACHE):
            found = _import_apache(below[len(APACHE) :])
            if found is not None:
                return found
        elif hasattr(_source(source), "__path__") and importlib.util.find_spec(below):
            return Overlay(name, (below,))
    return None


def _source(name: str) -> ModuleType:
    if name.startswith(APACHE):
        with apache_world():
            return importlib.import_module(name[len(APACHE) :])
    return importlib.import_module(name)


def _import_apache(name: str) -> ModuleType | None:
    with apache_world():
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name and (name == error.name or name.startswith(f"{error.name}.")):
                return None
            raise


def _leaks(source: ModuleType, found: Any, name: str) -> bool:
    """Whether a source only imports a name, such as `np` or `typing.Any`, and does not define
    it."""
    if name in getattr(source, "__all__", ()):
        return False
    if isinstance(found, ModuleType):
        return found.__name__.rpartition(".")[2] != name
    home = getattr(found, "__module__", None)
    return isinstance(home, str) and home.partition(".")[0] not in _INSIDERS


def _instead(name: str) -> str:
    while name not in INSTEAD:
        name = name.rpartition(".")[0]
    return INSTEAD[name]


# Two worlds

_lock = threading.RLock()
_apache: dict[str, ModuleType] = {}
_depth = 0
_of_names: ContextVar[bool] = ContextVar("of_names", default=False)
"""Whether the import statement that runs is `from ... import ...`."""
_installed = False


@contextmanager
def apache_world() -> Iterator[None]:
    """Within this context, `sys.modules` is as apache-tvm's own code needs it."""
    global _depth
    if not _installed:
        yield
        return
    with _lock:
        if _depth == 0:
            over = _swap(_apache)
        _depth += 1
        try:
            yield
        finally:
            _depth -= 1
            if _depth == 0:
                _apache.update(_swap(over))


def _swap(incoming: dict[str, ModuleType]) -> dict[str, ModuleType]:
    """Replace the TVM modules in `sys.modules`; returns the previous ones."""
    found = {n: m for n, m in sys.modules.items() if n == "tvm" or n.startswith("tvm.")}
    for name in found:
        del sys.modules[name]
    sys.modules.update(incoming)
    return found


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Returns overlays for the names of TVM and topi."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if _depth or _in_tvm(name) is None:
            return None
        if not _of_names.get():
            module(_in_tvm(name))  # or raises an error with advice
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        return _Handle(spec.name)

    def exec_module(self, created: ModuleType) -> None:
        # Python uses the entry in sys.modules afterwards.
        name = _in_tvm(created.__name__)
        sys.modules[created.__name__] = _find(name) or Absent(name)


def _in_tvm(name: str) -> Any:
    """The name of a module in TVM 0.7 and later; None for a module outside TVM."""
    top = name.partition(".")[0]
    return {"tvm": name, "topi": f"tvm.{name}"}.get(top)  # topi was a separate package


class _Handle(ModuleType):
    """A placeholder for a module during its import, so that Python does not change the `__spec__`
    of the module."""


def install() -> None:
    """Make `import tvm` return byoc_lab's overlay in this process; a second call has no effect."""
    global _installed
    if _installed:
        return
    plain_import = builtins.__import__

    def import_(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        importer = (globals or {}).get("__name__", "")
        inside = importer.partition(".")[0] in _INSIDERS
        if inside and (level or name == "tvm" or name.startswith("tvm.")):
            with apache_world():
                return plain_import(name, globals, locals, fromlist, level)
        token = _of_names.set(bool(fromlist))
        try:
            return plain_import(name, globals, locals, fromlist, level)
        finally:
            _of_names.reset(token)

    _show_spans()
    with _lock:
        _installed = True
        _apache.update(_swap({}))
        builtins.__import__ = import_
        sys.meta_path.insert(0, _Finder())


def _show_spans() -> None:
    """Print nodes and modules with spans by default, in the form that TVM parses, as TVM does: old
    scripts compare such text."""

    def print_text(obj: Any, show_span: bool = True, for_tvm: bool = True, **options: Any) -> str:
        return printer.print_text(obj, show_span=show_span, for_tvm=for_tvm, **options)

    print_shown = partial(printer.print_shown, show_span=True)
    shown = replace(NODE_CODE(), print_text=print_text, print_shown=print_shown)
    NODE_CODE.fill(lambda: shown)
