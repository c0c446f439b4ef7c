"""Run an unchanged script or module written for TVM's Relay.

    python -m byoc_lab.compat script.py [arguments]
    python -m byoc_lab.compat -m module [arguments]

Under `-m pytest`, the fixtures `target` and `dev` and the parametrization of `tvm.testing` are
available (`tvm.testing.plugin`). Processes that the script starts with `multiprocessing` use the
same `tvm`. The exit code is Python's: 2 for a script that does not exist, 1 after an exception,
whose traceback has the script's frames only.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
from types import FrameType, TracebackType

from byoc_lab.compat import overlay
from byoc_lab.compat.workers import same_in_workers

INTERRUPTED = 130
_RUNNER = {__file__, overlay.__file__, runpy.__file__, "<frozen runpy>"}


def main(arguments: list[str]) -> int:
    """Run the script or module that `arguments` name, then raise SystemExit with its exit code."""
    as_module = arguments[:1] == ["-m"]
    rest = arguments[1:] if as_module else arguments
    if not rest or rest[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    script = Path(rest[0]).absolute()
    if not as_module and not os.access(script, os.R_OK):
        reason = "Permission denied" if script.exists() else "No such file or directory"
        print(f"python -m byoc_lab.compat: cannot open {str(script)!a}: {reason}", file=sys.stderr)
        return 2
    overlay.install()
    same_in_workers()
    sys.argv = rest
    try:
        if as_module:
            if rest[0] == "pytest":
                sys.argv[1:1] = ["-p", "tvm.testing.plugin"]
            sys.path[0] = ""
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(script.resolve().parent)
            runpy.run_path(str(script), run_name="__main__")
    except KeyboardInterrupt as error:
        return _report(error, INTERRUPTED)
    except Exception as error:
        return _report(error, 1)
    return 0


def _report(error: BaseException, code: int) -> int:
    """Print an exception of the script as Python does, without the runner's frames."""
    shown: BaseException | None = error
    while shown is not None:
        shown.__traceback__ = _without_runner(shown.__traceback__)
        shown = shown.__cause__ or shown.__context__
    sys.excepthook(type(error), error, error.__traceback__)
    return code


def _without_runner(traceback: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    while traceback is not None:
        if not _is_runner(traceback.tb_frame):
            kept.append(traceback)
        traceback = traceback.tb_next
    below = None
    for one in reversed(kept):
        below = TracebackType(below, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return below


def _is_runner(frame: FrameType) -> bool:
    return frame.f_code.co_filename in _RUNNER


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
