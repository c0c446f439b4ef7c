"""Runs a call in a separate process, so that a crash there becomes an exception in this process."""

from __future__ import annotations

import faulthandler
import os
import signal
import traceback
from collections.abc import Callable
from typing import Any

from byoc_lab.containment.children import ChildError
from byoc_lab.containment.guarded import forked
from byoc_lab.errors import ArgumentError, RegionError, place_outside, shortened

TIME_LIMIT = 60.0
"""The default limit of processor time for one call, in seconds."""

FAULTS = ("SIGSEGV", "SIGABRT", "SIGFPE", "SIGILL", "SIGBUS")
Call = Callable[[], Any]


def checked_limit(time_limit: float, isolated: bool = True) -> float:
    """Validate `time_limit`. Raises ArgumentError unless it is a positive number, and for isolation
    on systems that cannot fork processes."""
    if not isinstance(time_limit, (int, float)) or not time_limit > 0:
        raise ArgumentError(f"time_limit must be seconds above 0, found {time_limit!r}")
    if isolated and not hasattr(os, "fork"):
        raise ArgumentError(
            "isolated=True needs an operating system that can fork a process (Linux); "
            "isolated=False runs the function in this process"
        )
    return time_limit


def in_this_process(symbol: str, call: Call) -> Any:
    """The result of a call of a region's function. Any exception but KeyboardInterrupt becomes a
    RegionError, even SystemExit, which TVM (the caller of regions) does not propagate."""
    try:
        return call()
    except (RegionError, KeyboardInterrupt):
        raise
    except BaseException as error:
        what = shortened("".join(traceback.format_exception_only(error)).strip())
        place = _encodable(place_outside(error))
        raise RegionError(
            f"region @{symbol}: its function failed{place}: {_encodable(what)}"
        ) from error


def _encodable(text: str) -> str:
    """The text with characters that UTF-8 cannot encode escaped: TVM encodes error messages in
    UTF-8, and terminates the process if that fails."""
    return text.encode(errors="backslashreplace").decode()


def in_child(symbol: str, call: Call, time_limit: float) -> Any:
    """The result of a call in a process forked for it. Raises RegionError if the call raises, or
    its process dies or uses more than `time_limit` seconds of processor time."""
    try:
        return forked(_without_handlers, symbol, call, time_limit=time_limit)
    except ChildError as error:
        if error.kind == "timed out":
            raise RegionError(
                f"region @{symbol}: its function did not end within {time_limit:g} s of processor "
                f"time (an endless loop?); time_limit= allows more"
            ) from None
        raise RegionError(f"region @{symbol}: {_death(error.code)}") from None


def _without_handlers(symbol: str, call: Call) -> Any:
    faulthandler.disable()
    for fault in FAULTS:  # a crash ends the process without printing TVM's stack trace
        signal.signal(signal.Signals[fault], signal.SIG_DFL)
    return in_this_process(symbol, call)


def _death(code: int | None) -> str:
    if code is None:
        return "its function closed the pipe of its process and did not end"
    if code < 0:
        return f"its function crashed its process ({signal.Signals(-code).name}); see its kernel"
    return f"its function ended its process (exit status {code}) and returned nothing"
