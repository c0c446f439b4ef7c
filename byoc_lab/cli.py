"""The command line `byoc-lab`, for terminals and CI.

Exit codes: 0 for success; 1 for a negative result (findings, wrong numbers, a pass that failed); 2
for wrong usage (a file that is not Relay, an unknown pipeline).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from byoc_lab.commands import diff, trace
from byoc_lab.commands.exit_codes import NO, OK, USAGE
from byoc_lab.errors import ByocLabError
from byoc_lab.relay import IRModule


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    options = parser().parse_args(arguments)
    try:
        return options.run(options)
    except ByocLabError as error:
        print(f"byoc-lab: {error}", file=sys.stderr)
        return USAGE
    except OSError as error:
        print(f"byoc-lab: {error.strerror}: {error.filename}", file=sys.stderr)
        return USAGE


def parser() -> argparse.ArgumentParser:
    """The parser of the command line; `run` is the function of the chosen command."""
    root = argparse.ArgumentParser(
        prog="byoc-lab", description="A laboratory for BYOC graph partitioning on TVM Relay."
    )
    commands = root.add_subparsers(required=True, metavar="command")

    demo = commands.add_parser(
        "demo", help="run MobileNet through the DNNL pipeline, validate and time it"
    )
    demo.add_argument(
        "--html", type=Path, default=Path("mobilenet_dnnl.html"), help="where to write the report"
    )
    demo.set_defaults(run=_demo)

    doctor = commands.add_parser("doctor", help="check the installation")
    doctor.set_defaults(run=_doctor)

    lint = commands.add_parser("lint", help="find malformed annotations in a module")
    lint.add_argument("file", type=Path, help="a file of Relay text")
    lint.set_defaults(run=_lint)

    diff.add(commands)
    trace.add(commands)
    return root


def _demo(options: argparse.Namespace) -> int:
    from byoc_lab.demo import run_demo

    return OK if run_demo(options.html) else NO


def _lint(options: argparse.Namespace) -> int:
    from byoc_lab import lint

    findings = lint(_read(options.file))
    print(findings)
    return NO if findings.errors else OK


def _read(path: Path) -> IRModule:
    from byoc_lab.importers import load

    return load(path)[0]


def _doctor(options: argparse.Namespace) -> int:
    from byoc_lab.doctor import examine

    complete = True
    for check in examine():
        print(check)
        complete = complete and not check.missing
    return OK if complete else NO


if __name__ == "__main__":
    sys.exit(main())
