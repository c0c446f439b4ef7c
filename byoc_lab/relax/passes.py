"""Running passes of TVM, whose errors become errors of byoc_lab."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from byoc_lab.errors import ByocLabError, PassError
from byoc_lab.relax.variables import check_variables

FUSES = "FuseOpsByPattern"
MERGES = "MergeCompositeFunctions"


def applied(passes: Iterable[Any], mod: Any, who: str) -> Any:
    """A module of Relax after passes of TVM, one after the other.

    Raises FreeVariableError or WellFormedError for variables that TVM's passes stop at, PassError
    with what TVM said, and what that means where it is known, for a pass that fails.
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
    """The error of a pass of TVM that failed with another one."""
    return PassError(f"{who}: {name} of TVM failed: {_said(error)}")


def _said(error: Exception) -> str:
    """What TVM said in one line, and what to do about it where that is known."""
    from byoc_lab.lab.explaining.decoding import decode  # imports much

    lines = str(error).strip().splitlines() or [type(error).__name__]
    meaning = decode(error)
    known = f". {meaning.cause}. {meaning.what_to_do}" if meaning.known else ""
    return f"{lines[0][:300]}{known}"
