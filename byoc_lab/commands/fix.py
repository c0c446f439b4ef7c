"""show a proved repair of a module's annotations as a diff, or apply it"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byoc_lab.commands.shared import (
    INPUT,
    NO,
    OK,
    STANDARD_INPUT,
    configure_format,
    configure_inputs,
    configure_target,
    read_module,
)
from byoc_lab.errors import ArgumentError
from byoc_lab.files import write_text
from byoc_lab.lab.linting.comments import has_types, with_comments
from byoc_lab.lab.linting.reporters.json_report import finding_data
from byoc_lab.output import to_json
from byoc_lab.relay.ir.foreign import ForeignModule, adopted
from byoc_lab.terminal import ProgressLine

if TYPE_CHECKING:
    from byoc_lab.lab.linting.finding import Fix

TEXT = (".relay", ".txt")
"""Suffixes of files with Relay text."""


def configure(parser: argparse.ArgumentParser) -> None:
    configure_inputs(parser)
    parser.add_argument("file", help=INPUT)
    configure_target(parser)
    parser.add_argument(
        "--apply",
        action="store_true",
        help="write the repaired module in place of the file; to standard output for -",
    )
    parser.add_argument("--output", type=Path, help="write the repaired module to this file")
    configure_format(parser)


def run(options: argparse.Namespace) -> int:
    """Exit code 0 if there are no errors, or all were repaired and written; else 1."""
    from byoc_lab import fix

    path = Path(options.file)
    if options.apply and options.file != STANDARD_INPUT and path.suffix not in TEXT:
        raise ArgumentError(
            f"--apply replaces the file by Relay text, but {path} is not Relay text; name another "
            f"file with --output"
        )
    with ProgressLine() as progress:
        progress(f"reading {options.file}")
        mod = read_module(options.file, options)
        if (options.apply or options.output) and isinstance(adopted(mod), ForeignModule):
            raise ArgumentError(
                f"--apply and --output write Relay text, and {options.file} is a module of Relax: "
                f"in Python, byoc_lab.fix(mod).apply() is its repaired module"
            )
        progress("looking for repairs")
        repair = fix(mod, pipeline=options.pipeline, backend=options.target)
    to_output = options.apply and options.file == STANDARD_INPUT and not options.output
    target = options.output or (path if options.apply and not to_output else None)
    written = _written(repair, path, target) if repair and target else ""
    if options.format == "json":
        print(to_json("repair", _data(repair, target if written else None)))
    elif repair and to_output:
        print(repair.apply().astext())
    else:
        print(repair)
        if written:
            print(written)
    if repair:
        return OK if to_output or written else NO
    return NO if repair.left else OK


def _written(repair: Fix, path: Path, target: Path) -> str:
    """Write the repaired module of the file `path` to this or another file, and report it. Relay
    text keeps its comments. Type comments are written only if the text has some, because the diff
    has none."""
    before = path.read_text(encoding="utf-8") if path.suffix in TEXT else None
    text = f"{repair.apply().astext(show_types=before is None or has_types(before))}\n"
    if before is not None:
        text = with_comments(before, text)
    replaced = " (replaced the module that was there)" if target.exists() else ""
    write_text(target, text)
    return f"written: {target}{replaced}"


def _data(repair: Fix, written: Path | None) -> dict[str, Any]:
    """The result as JSON data. written: the file that received the repaired module."""
    return {
        "steps": list(repair.steps),
        "proof": repair.proof,
        "diff": str(repair.diff()) if repair else None,
        "module": adopted(repair.after).astext() if repair else None,
        "written": None if written is None else str(written),
        "left": [finding_data(f) for f in repair.left],
        "others": [{"steps": list(o.steps), "proof": o.proof} for o in repair.others],
    }
