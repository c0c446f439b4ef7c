"""`isolated`: a code generator whose regions run in separate processes."""

from __future__ import annotations

from typing import Any

from byoc_lab.backends.child_process import TIME_LIMIT, checked_limit
from byoc_lab.backends.python_region import PythonRegion
from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.expr import Function
from byoc_lab.run.backends import Codegen


def isolated(codegen: Codegen, time_limit: float = TIME_LIMIT) -> Codegen:
    """Wraps a code generator so that its regions run each call in a separate process (a fork of
    this one). A crash, or a call of more than `time_limit` seconds, raises RegionError.

        byoc_lab.build(mod, backends={"ccompiler": isolated(CRegion)}).run(...)

    For code under development in any language. Changes that a call makes in memory are lost, so
    such regions have no statistics and cannot be exported; a call costs some milliseconds.

    Code that starts threads (OpenMP) may hang in a fork until the time limit. Raises ArgumentError
    for a limit that is not a positive number, and on systems that cannot fork.
    """
    checked_limit(time_limit)

    def compiled_apart(function: Function, symbol: str) -> Any:
        made: Any = codegen(function, symbol)
        if isinstance(made, PythonRegion):
            return PythonRegion(made.fn, isolated=True, time_limit=time_limit)
        if not callable(made):
            raise BuildError(
                f"the code generator returned {type(made).__name__} for the function @{symbol}; "
                f"only a compiled region or a PythonRegion can be isolated"
            )
        return PythonRegion(made, isolated=True, time_limit=time_limit)

    return compiled_apart
