"""Runs TVM passes, and converts their errors to errors of byoc_lab."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from itertools import dropwhile
from pathlib import Path
from typing import Any

from byoc_lab.errors import ByocLabError, PassError
from byoc_lab.relax.ir.variables import check_variables
from byoc_lab.run.tvm_runtime import import_tvm

FUSES = "FuseOpsByPattern"
MERGES = "MergeCompositeFunctions"
_CALLS_TVM = "function.pxi"  # file of the TVM-FFI frame between Python and C++


def applied(passes: Iterable[Any], mod: Any, who: str) -> Any:
    """Applies TVM passes to a Relax module in sequence.

    Raises FreeVariableError or WellFormedError for variables at which TVM's passes fail. If a pass
    fails, raises PassError with TVM's message and, if known, its meaning.
    """
    check_variables(mod, who)
    for each in passes:
        try:
            mod = each(mod)
        except ByocLabError:
            raise
        except Exception as error:
            raise pass_error(who, str(each.info.name), error) from error
    return mod


def pass_error(who: str, name: str, error: Exception) -> PassError:
    """The PassError for an exception in a TVM pass."""
    return PassError(f"{who}: {name} of TVM failed: {said(error)}")


def is_of_tvm(error: Exception) -> bool:
    """Whether TVM raised an error: judged by its type or, because TVM also raises Python's errors,
    by the absence of frames from outside TVM inside TVM's call of a pass."""
    if type(error).__module__.startswith("tvm"):
        return True
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    inside = list(dropwhile(lambda file: not file.endswith(_CALLS_TVM), files))
    package = str(Path(import_tvm().__file__).parent)
    return bool(inside) and all(
        not file.endswith(".py") or file.startswith(package) for file in inside
    )


def said(error: Exception) -> str:
    """TVM's message in one line, with the remedy if known; for an error without a message, the line
    of TVM that raised it."""
    from byoc_lab.lab.explaining.decoding import decode  # imports many modules

    lines = str(error).strip().splitlines() or [_place(error)]
    named = [text for text in lines[1:2] if text.startswith("candidates are: ")]
    line = " ".join([*lines[:1], *named])[:300]
    for meaning in decode(error)[:1]:
        cause = f"{'' if meaning.certain else 'Likely: '}{meaning.cause}"
        return f"{line.removesuffix('.')}. {cause}. {meaning.what_to_do}"
    return line


def _place(error: Exception) -> str:
    """The raising line, such as "AssertionError in reshape_call_te: assert isinstance(tgt_shape,
    ShapeExpr)"."""
    frames = traceback.extract_tb(error.__traceback__)
    name = type(error).__name__
    return f"{name} in {frames[-1].name}: {frames[-1].line}" if frames else name
