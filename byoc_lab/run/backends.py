"""Code generators of the external functions that PartitionGraph makes.

Each is one function, `codegen(function, symbol)`, registered under the name in the functions'
attribute "Compiler". `byoc_lab.backends.register` puts them here with the rest of a back end.
A back end whose saved regions need a runtime of its own registers that, too: `register_runtime`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

import numpy as np

from byoc_lab import plugins
from byoc_lab.errors import ArgumentError, UnknownNameError
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.op.contrib.vendors import IN_COMPAT, unregistered


class CompiledRegion(Protocol):
    """One external function, compiled by a back end.

    `module` is a TVM-FFI module that has a function named after the symbol; it takes the inputs
    and then the outputs, all as tensors (for a function with a tuple as result, one output for
    each field), and writes the outputs. It is linked into the executable. None: the executable
    calls the region itself, with arrays.

    A region that NumPy computes in the place of a missing library has an attribute `stand_in`, the
    sentence that says so (`run.stand_in.in_place_of`): it is not offloaded, and not timed.

    A region whose module cannot be saved by itself (a loaded library) may have a method
    `link_into(folder)`: it writes object files that define `__tvm_ffi_<symbol>` into a folder that
    is its alone, and gives them with the options to link them. `Executable.export_library` then
    links them in.
    """

    @property
    def module(self) -> Any: ...

    def __call__(self, *inputs: Any) -> Sequence[np.ndarray]:
        """Run by itself: new arrays."""

    def stats(self) -> dict[str, Any]:
        """Statistics of its runs: "calls" (if absent, the runs of the executable), "threads", and
        "ops": for each a dict with "name", "impl" (the kernel), "post_ops_fused",
        "post_ops_separate", "time_us". A back end omits what it does not know."""

    def set_profiling(self, on: bool) -> None:
        """Whether later calls are timed op by op."""


Codegen = Callable[[Function, str], CompiledRegion]

LAYOUTS = ("fixed", "measured")
"""How a code generator may choose the layouts of tensors inside a region: the same ones for the
same module every time, or the quickest that it finds by running the region."""

_layouts: ContextVar[str] = ContextVar("layouts", default=LAYOUTS[0])


def wanted_layouts() -> str:
    """The layouts option of the build in progress, one of LAYOUTS."""
    return _layouts.get()


def check_layouts(where: str, layouts: object) -> None:
    """Raises ArgumentError for a value outside of LAYOUTS."""
    if layouts not in LAYOUTS:
        known = " or ".join(map(repr, LAYOUTS))
        raise ArgumentError(f"{where}: layouts must be {known}, found {layouts!r:.80}")


@contextlib.contextmanager
def using_layouts(layouts: str) -> Iterator[None]:
    """Inside, code generators called by this thread choose layouts so."""
    before = _layouts.set(layouts)
    try:
        yield
    finally:
        _layouts.reset(before)


RESERVED = ("", "default")
"""Names of compilers that cannot be back ends: TVM compiles "default" itself."""

_backends: dict[str, Codegen] = {}


def register_backend(name: str, codegen: Codegen | None = None) -> Any:
    """Register the code generator of a compiler; also a decorator. A later one replaces it.

    codegen(function, symbol) gets a typed external function; it raises BuildError, naming the
    operator and saying what to do, for what it cannot compile. With an attribute `concurrent` that
    is true it is called for several regions at the same time, in threads: for one that waits for a
    compiler's process.
    """

    def register(function: Codegen) -> Codegen:
        _backends[name] = function
        return function

    return register if codegen is None else register(codegen)


def unregister_backend(name: str) -> None:
    """Forget the code generator of a compiler, if it has one."""
    _backends.pop(name, None)


def get_backend(name: str) -> Codegen:
    """The code generator of a compiler; an installed package that has the back end is loaded.

    Raises UnknownNameError, and PlugInError for a package that cannot be loaded.
    """
    if name in RESERVED:
        raise UnknownNameError(
            f"{name!r} is not a back end: a function with the attribute Compiler={name!r} has no "
            f"code generator, and annotations of 'default' mean the host. Remove the attribute "
            f"from a function that the host shall compile, or name a back end in it "
            f"({', '.join(backend_names()) or 'none is registered'})"
        )
    if not has_backend(name):
        known = ", ".join(backend_names()) or "none"
        about = f"{unregistered(name, [])} " if name in IN_COMPAT else ""
        raise UnknownNameError(
            f"no code generator is registered for the compiler {name!r}; there are {known}. {about}"
            f"Register a code generator with byoc_lab.backends.register({name!r}, codegen=...), or "
            f"let the host compute its regions: byoc_lab.build(module, fallback=True)"
        )
    return _backends[name]


def has_backend(name: str) -> bool:
    """Whether a compiler has a code generator, perhaps one of an installed package, which is loaded
    then. Raises PlugInError."""
    return plugins.has(_backends, name)


def backend_names() -> list[str]:
    """The compilers that have a back end."""
    return sorted(_backends)


_runtimes: list[Callable[[], object]] = []


def register_runtime(load: Callable[[], object]) -> None:
    """Have `load()` called before a saved library is read.

    It tells TVM-FFI how to read the regions of a back end that has a runtime of its own, and does
    nothing where that is not installed.
    """
    _runtimes.append(load)


def load_runtimes() -> None:
    """Load what back ends need for their saved regions to be read."""
    for load in _runtimes:
        load()
