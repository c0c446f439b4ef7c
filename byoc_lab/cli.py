"""`byoc-lab ...`: the objects of the package for a terminal and for CI.

Exit codes: 0 all is well; 1 the answer is no (findings, wrong numbers, a pass that failed); 2 the
question could not be understood (a file that is no Relay, an unknown pipeline).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from byoc_lab.errors import ByocLabError
from byoc_lab.relay import IRModule

OK, NO, USAGE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except ByocLabError as error:
        print(f"byoc-lab: {error}", file=sys.stderr)
        return USAGE
    except OSError as error:
        print(f"byoc-lab: {error.strerror}: {error.filename}", file=sys.stderr)
        return USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="byoc-lab", description="A laboratory for BYOC graph partitioning on TVM Relay."
    )
    commands = parser.add_subparsers(required=True, metavar="command")

    demo = commands.add_parser(
        "demo", help="MobileNet through the DNNL pipeline, checked and timed"
    )
    demo.add_argument(
        "--html", type=Path, default=Path("mobilenet_dnnl.html"), help="where to write the report"
    )
    demo.set_defaults(run=_demo)

    doctor = commands.add_parser("doctor", help="is everything there that byoc_lab needs?")
    doctor.set_defaults(run=_doctor)

    lint = commands.add_parser("lint", help="what is wrong with the annotations of a module")
    lint.add_argument("file", type=Path, help="Relay text")
    lint.set_defaults(run=_lint)

    trace = commands.add_parser("trace", help="run a pipeline on a module and show every stage")
    trace.add_argument("file", type=Path, help="Relay text")
    trace.add_argument("--pipeline", default="dnnl", help="its name (default: dnnl)")
    trace.add_argument("--html", type=Path, help="write the trace as one HTML file")
    trace.set_defaults(run=_trace)
    return parser


def _demo(options: argparse.Namespace) -> int:
    from byoc_lab.demo import run_demo

    return OK if run_demo(options.html) else NO


def _lint(options: argparse.Namespace) -> int:
    from byoc_lab import lint

    findings = lint(_read(options.file))
    print(findings)
    return NO if findings.errors else OK


def _trace(options: argparse.Namespace) -> int:
    from byoc_lab import trace

    recorded = trace(_read(options.file), pipeline=options.pipeline)
    print(recorded)
    if options.html:
        print(f"written: {recorded.save_html(options.html)}")
    return NO if recorded.error else OK


def _read(path: Path) -> IRModule:
    from byoc_lab.importers import load

    return load(path)[0]


def _doctor(options: argparse.Namespace) -> int:
    from byoc_lab.doctor import examine

    complete = True
    for answer in examine():
        print(answer)
        complete = complete and not answer.missing
    return OK if complete else NO


if __name__ == "__main__":
    sys.exit(main())
