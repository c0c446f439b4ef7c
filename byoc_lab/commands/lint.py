"""find malformed annotations in modules"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

from byoc_lab.commands.shared import (
    INPUT,
    NO,
    OK,
    STANDARD_INPUT,
    STDIN,
    configure_inputs,
    configure_target,
    read_module,
    read_once,
    read_trace,
)
from byoc_lab.errors import ArgumentError
from byoc_lab.relay import IRModule
from byoc_lab.relay.analysis.region_numbers import Numbers
from byoc_lab.terminal import ProgressLine


def configure(parser: argparse.ArgumentParser) -> None:
    configure_inputs(parser)
    parser.add_argument(
        "files", nargs="+", metavar="file", help=f"{INPUT}; for a trace, every stage is examined"
    )
    configure_target(parser)
    parser.add_argument(
        "--rules", type=_listed, help="only these rules: codes or names, separated by commas"
    )
    parser.add_argument(
        "--ignore",
        type=_listed,
        default=[],
        help="rules, or lines FILE:LINE, to leave out, separated by commas",
    )
    parser.add_argument(
        "--format", default="text", help="text, json, sarif or github (default: text)"
    )


def run(options: argparse.Namespace) -> int:
    from byoc_lab import lint
    from byoc_lab.lab.linting.finding import Finding, Severity
    from byoc_lab.lab.linting.reporters import report

    read_once(*options.files)
    found: list[Finding] = []
    with ProgressLine() as progress:
        for name, mod, stage, numbers in _modules(options, progress):
            new = lint(
                mod,
                options.pipeline if not stage else None,
                options.target,
                rules=options.rules,
                ignore=options.ignore,
                region_numbers=numbers,
            )
            for finding in new:
                told = f"after {stage}: {finding.message}" if stage else finding.message
                found.append(replace(finding.of_file(name), message=told))
    print(report(found, options.format))
    return NO if any(f.severity is not Severity.INFO for f in found) else OK


def _modules(
    options: argparse.Namespace, progress: ProgressLine
) -> Iterator[tuple[str, IRModule, str, Numbers | None]]:
    """The names and modules of the files; for a saved trace, the initial module and the result of
    each stage, with the stage's name and its region numbers."""
    for name in options.files:
        shown = STDIN if name == STANDARD_INPUT else name
        progress(f"reading {name}")
        saved = read_trace(name)
        if saved is not None and (options.shape or options.freeze):
            raise ArgumentError(f"{name} is a saved trace, whose stages have their shapes already")
        mod = read_module(name, options) if saved is None else saved.initial
        progress(f"examining {name}")
        yield shown, mod, "", None
        for n, stage in enumerate(saved if saved is not None else (), 1):
            if stage.changed and stage.after is not None:
                progress(f"examining the result of {stage.name}", n, len(saved or ()))
                yield shown, stage.after, stage.name, stage.numbering.after


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
