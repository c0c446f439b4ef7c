"""find malformed annotations in modules"""

from __future__ import annotations

import argparse

from byoc_lab.commands.shared import INPUT, NO, OK, read_module, read_once


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="file", help=INPUT)
    parser.add_argument("--pipeline", help="the name of the pipeline that the module will run")
    parser.add_argument("--backend", help="the name of the back end that gets the regions")
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
    for name in options.files:
        mod = read_module(name)
        found += lint(
            mod, options.pipeline, options.backend, rules=options.rules, ignore=options.ignore
        )
    print(report(found, options.format))
    return NO if any(f.severity is not Severity.INFO for f in found) else OK


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
