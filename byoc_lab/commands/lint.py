"""find malformed annotations in modules"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

from byoc_lab.commands.shared import (
    INPUT,
    NO,
    OK,
    configure_inputs,
    read_module,
    read_once,
    read_trace,
)
from byoc_lab.errors import ArgumentError
from byoc_lab.relay import IRModule
from byoc_lab.terminal import ProgressLine


def configure(parser: argparse.ArgumentParser) -> None:
    configure_inputs(parser)
    parser.add_argument(
        "files", nargs="+", metavar="file", help=f"{INPUT}; of a trace, every stage is examined"
    )
    parser.add_argument("--pipeline", help="the name of the pipeline that the module will run")
    parser.add_argument(
        "--target",
        "--backend",
        dest="target",
        help="the name of the back end that gets the regions",
    )
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
        for mod, stage in _modules(options, progress):
            told = (options.pipeline if not stage else None, options.target)
            new = lint(mod, *told, rules=options.rules, ignore=options.ignore)
            found += (
                replace(f, message=f"after {stage}: {f.message}") if stage else f for f in new
            )
    print(report(found, options.format))
    return NO if any(f.severity is not Severity.INFO for f in found) else OK


def _modules(options: argparse.Namespace, progress: ProgressLine) -> Iterator[tuple[IRModule, str]]:
    """The modules of files; of a saved trace the first one, and what each stage made of it."""
    for name in options.files:
        progress(f"reading {name}")
        saved = read_trace(name)
        if saved is not None and (options.shape or options.freeze):
            raise ArgumentError(f"{name} is a saved trace, whose stages have their shapes already")
        mod = read_module(name, options) if saved is None else saved.initial
        progress(f"examining {name}")
        yield mod, ""
        for n, stage in enumerate(saved if saved is not None else (), 1):
            if stage.changed and stage.after is not None:
                progress(f"examining what {stage.name} left", n, len(saved or ()))
                yield stage.after, stage.name


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
