"""Code generators of the external functions that PartitionGraph makes.

A code generator is a function `codegen(function, symbol)`, registered under the name that the
attribute "Compiler" of external functions has. `byoc_lab.backends.register` registers it with the
other parts of a back end. If saved regions of a back end need a separate runtime,
`register_runtime` registers that runtime.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

import numpy as np

from byoc_lab import plugins
from byoc_lab.errors import ArgumentError, PassError, UnknownNameError
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.op.contrib.vendors import IN_COMPAT, NOT_HERE


class CompiledRegion(Protocol):
    """One external function, compiled by a back end.

    `module` is a TVM-FFI module that has a function named after the symbol; it takes the inputs and
    then the outputs, all as tensors (for a function with a tuple as result, one output for each
    field), and writes the outputs. It is linked into the executable. If `module` is None, the
    executable calls the CompiledRegion object with arrays.

    If NumPy computes the region because a library is missing, the attribute `stand_in` is a
    sentence that says so (`run.stand_in.in_place_of`). Such a region counts as not offloaded and is
    not timed.

    A region whose module cannot be saved by itself (a loaded library) may have a method
    `link_into(folder)`: it writes object files that define `__tvm_ffi_<symbol>` into an empty
    folder, and returns their paths and the linker options. `Executable.export_library` then links
    them in.
    """

    @property
    def module(self) -> Any: ...

    def __call__(self, *inputs: Any) -> Sequence[np.ndarray]:
        """Run the region alone; the results are new arrays."""

    def stats(self) -> dict[str, Any]:
        """Statistics of its runs: "calls" (if absent, the runs of the executable), "threads", and
        "ops": for each a dict with "name", "impl" (the kernel), "post_ops_fused",
        "post_ops_separate", "time_us". A back end omits what it does not know."""

    def set_profiling(self, on: bool) -> None:
        """Enable or disable the timing of each operation in later calls."""


Codegen = Callable[[Function, str], CompiledRegion]

LAYOUTS = ("fixed", "measured")
"""How a code generator may choose the layouts of tensors inside a region: always the same layouts
for the same module ("fixed"), or the fastest layouts found by running the region ("measured")."""

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
    """Inside the context, code generators called by this thread use this layouts option."""
    before = _layouts.set(layouts)
    try:
        yield
    finally:
        _layouts.reset(before)


RESERVED = ("", "default")
"""Names of compilers that cannot be back ends: TVM compiles "default" itself."""


def invalid_name(name: Any) -> str:
    """The reason why regions of a compiler could have no symbol; empty if its name is valid."""
    if isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return ""
    return (
        f"a back end's name must consist of ASCII letters, digits, '_' and '-', because it is part "
        f"of the symbols of its regions, found {name!r:.80}"
    )


_backends: dict[str, Codegen] = {}


def register_backend(name: str, codegen: Codegen | None = None) -> Any:
    """Register the code generator of a compiler; also a decorator. A later one replaces it.

    codegen(function, symbol) gets a typed external function; if it cannot compile an operator, it
    raises BuildError that names the operator and what to do. If its attribute `concurrent` is true,
    it is called for several regions at the same time, in threads (useful if it waits for a compiler
    process). Raises PassError for a name that cannot be part of a symbol.
    """
    if why := invalid_name(name):
        raise PassError(why)

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
        about = "byoc_lab generates no code for TVM's integrations of other libraries. "
        about *= name in (*IN_COMPAT, *NOT_HERE)
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

    `load` makes TVM-FFI able to read the regions of a back end with a separate runtime. It does
    nothing if that runtime is not installed.
    """
    _runtimes.append(load)


def load_runtimes() -> None:
    """Load the runtimes that back ends need to read their saved regions."""
    for load in _runtimes:
        load()
