"""Requirements of some lessons beyond the package, and messages if they are missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from byoc_lab import backends
from byoc_lab.backends.system_compiler import COMPILERS, compiler_command
from byoc_lab.errors import UnknownNameError, nearest
from byoc_lab.run import tvm_runtime

C_COMPILER, TVM, DNNL = "a C compiler", "apache-tvm", "DNNL"


def _compiler() -> str | None:
    if compiler_command():
        return None
    return f"none of {', '.join(COMPILERS)} was found; `byoc-lab doctor` says how to get one"


def _tvm() -> str | None:
    if tvm_runtime.stand_in() is None:
        return None
    return "it cannot be imported; `byoc-lab doctor` says why"


NEEDS: Mapping[str, Callable[[], str | None]] = MappingProxyType(
    {C_COMPILER: _compiler, TVM: _tvm, DNNL: lambda: backends.get("dnnl").stand_in()}
)


def missing(need: str) -> str | None:
    """Why one of NEEDS is missing, in words; None if it is available. Raises UnknownNameError."""
    if need not in NEEDS:
        raise UnknownNameError(f"lessons do not know the need {need!r}; {nearest(need, NEEDS)}")
    found = NEEDS[need]()
    return None if found is None else f"this needs {need}, which is missing here: {found}"


def available(*needs: str) -> bool:
    """Whether all of these NEEDS are available; prints why not. Raises UnknownNameError."""
    found = [text for text in map(missing, needs) if text is not None]
    print(*found, sep="\n", end="\n" if found else "")
    return not found
