"""say how much of a module back ends compute, what stays on the host and why"""

from __future__ import annotations

import argparse
from pathlib import Path

from byoc_lab.commands.shared import INPUT, OK, configure_inputs, read_module


def configure(parser: argparse.ArgumentParser) -> None:
    configure_inputs(parser)
    parser.add_argument("model", metavar="MODEL", help=INPUT)
    parser.add_argument(
        "--target",
        action="append",
        help="the name of a back end (default: dnnl); several are shown side by side",
    )
    parser.add_argument(
        "--pipeline", help="the name of the pipeline (default: that of the back end)"
    )
    parser.add_argument(
        "--changes",
        action="store_true",
        help="try other sizes of regions, orders of patterns and of passes, a run for each",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--figure", type=Path, help="write the figure of the coverage to this file")


def run(options: argparse.Namespace) -> int:
    """0, whatever the coverage is."""
    from byoc_lab.lab.checking.coverage import Coverage, coverage

    targets = options.target or ["dnnl"]
    mod = read_module(options.model, options)
    found = coverage(mod, targets if len(targets) > 1 else targets[0], options.pipeline)
    if options.changes:
        for one in [found] if isinstance(found, Coverage) else found:
            _ = one.changes  # computes them
    print(found.to_json() if options.format == "json" else found)
    if options.figure:
        found.plot().savefig(options.figure)
    return OK
