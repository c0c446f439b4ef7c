"""`isolated`: a code generator whose regions run in separate processes."""

from __future__ import annotations

from typing import Any

from byoc_lab.backends.child_process import TIME_LIMIT, checked_limit
from byoc_lab.backends.python_region import PythonRegion
from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.expr import Function
from byoc_lab.run.backends import Codegen


def isolated(codegen: Codegen, time_limit: float = TIME_LIMIT) -> Codegen:
    """The code generator, with regions that run each call in a separate process (a fork of this
    one): a crash, or a call of more than `time_limit` seconds, is a RegionError.

        byoc_lab.build(mod, backends={"ccompiler": isolated(CRegion)}).run(...)

    For code that is being developed, whatever made it: what a call changes in memory is lost, so
    such regions have no statistics and cannot be exported, and a call costs some milliseconds.
    Code that starts threads of its own (OpenMP) may not run in a fork, and then ends by its limit.

    Raises ArgumentError for a limit that is not a number above 0, and where processes cannot fork.
    """
    checked_limit(time_limit)

    def compiled_apart(function: Function, symbol: str) -> Any:
        made: Any = codegen(function, symbol)
        if isinstance(made, PythonRegion):
            return PythonRegion(made.fn, isolated=True, time_limit=time_limit)
        if not callable(made):
            raise BuildError(
                f"the code generator returned {type(made).__name__} for the function @{symbol}; "
                f"what runs isolated must be a compiled region or a PythonRegion"
            )
        return PythonRegion(made, isolated=True, time_limit=time_limit)

    return compiled_apart
