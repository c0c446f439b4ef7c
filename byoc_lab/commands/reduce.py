"""find the smallest module that still has a problem, and the nearest one without it"""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path
from typing import Any

from byoc_lab.commands.shared import NO, OK, configure_format, configure_model, read_module
from byoc_lab.errors import ArgumentError
from byoc_lab.files import ordinary_file, write_text
from byoc_lab.output import to_json
from byoc_lab.relay.ir.foreign import adopted, refuse_foreign
from byoc_lab.terminal import ProgressLine

KEEP = (
    "the problem that the smaller module must still have: finding:CODE (of lint), error:TEXT (in "
    "the message "
    "of the passes, or its name in decode), crash:TEXT (the class or the message of an error of "
    "build), wrong:BACKEND (numbers, by validate), bisect:PASS (which changes the numbers), "
    "not-offloaded:OPERATOR, cause:CAUSE (of explain), or FILE.py:FUNCTION, a function of a module "
    "(the file is run)"
)


def configure(parser: argparse.ArgumentParser) -> None:
    configure_model(parser)
    parser.add_argument("--keep", required=True, metavar="PREDICATE", help=KEEP)
    parser.add_argument(
        "--target",
        help="the name of the back end (default: the back end that --pipeline annotates for, or "
        "dnnl; none for a finding)",
    )
    parser.add_argument(
        "--pipeline",
        help="the name of the pipeline, or names of passes, such as PartitionGraph, separated by "
        "commas (default: the pipeline of the back end; none for a finding)",
    )
    parser.add_argument(
        "--budget",
        type=int,
        default=1000,
        metavar="CALLS",
        help="maximum number of modules to examine (default: 1000)",
    )
    parser.add_argument("--seconds", type=float, help="maximum processor time (default: no limit)")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="where to write the module, as Relay text"
    )
    parser.add_argument(
        "--script",
        type=Path,
        metavar="FILE.py",
        help="where to write a Python script that shows both modules and the result for each",
    )
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="FILE",
        help="a file for the answers, from which an interrupted search resumes",
    )
    configure_format(parser)


def run(options: argparse.Namespace) -> int:
    """Exit code 0 if no single change makes the module smaller, 1 if the budget was used up
    before."""
    from byoc_lab import reduce
    from byoc_lab.lab.reducing.named import KINDS_THAT_RUN_CODE, predicate_named

    with ProgressLine() as progress:
        progress(f"reading {options.model}")
        mod = read_module(options.model, options)
    # before the rules of another language are looked up as Relay rules
    refuse_foreign(adopted(mod), "reduce")
    function = _function(options.keep)
    kind = options.keep.partition(":")[0]
    asked = {"target": options.target, "pipeline": options.pipeline}
    found = reduce(
        mod,
        function or predicate_named(options.keep, imports=options.imports, **asked),
        **(asked if function else {}),
        budget=options.budget,
        seconds=options.seconds,
        state=options.resume,
        guarded=function is not None or kind in KINDS_THAT_RUN_CODE,
    )
    if options.output is not None:
        write_text(options.output, found.module.astext(exact=True) + "\n")
    if options.script is not None:
        found.save(options.script)
    if options.format == "json":
        print(to_json("reduction", found.as_dict()))
    else:
        print(found)
    return OK if found.minimal else NO


def _function(keep: str) -> FileFunction | None:
    """The function of FILE.py:FUNCTION; None for a named predicate. Raises ArgumentError and
    OSError."""
    name, _, function = keep.rpartition(":")
    return FileFunction(name, function) if name.endswith(".py") else None


class FileFunction:
    """A function defined in a file; a different process recreates it by running the file again. It
    takes over the name and code of the function. Raises ArgumentError and OSError."""

    def __init__(self, file: str, function: str):
        self._arguments = file, function
        path = ordinary_file(file)
        self._called: Any = runpy.run_path(str(path), run_name=path.stem).get(function)
        if not callable(self._called):
            raise ArgumentError(f"{file} has no function {function!r}; --keep FILE.py:FUNCTION")
        self.__module__, self.__qualname__ = path.stem, function
        self.__code__ = getattr(self._called, "__code__", None)

    def __call__(self, *args: Any) -> Any:
        return self._called(*args)

    def __reduce__(self) -> tuple[type[FileFunction], tuple[str, str]]:
        return FileFunction, self._arguments
