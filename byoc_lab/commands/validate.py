"""run a module through a pipeline, and compare its numbers with a reference in float64"""

from __future__ import annotations

import argparse
from pathlib import Path

from byoc_lab.commands.shared import (
    INCONCLUSIVE,
    NO,
    OK,
    configure_format,
    configure_run,
    read_arrays,
    read_module,
)
from byoc_lab.terminal import ProgressLine


def configure(parser: argparse.ArgumentParser) -> None:
    configure_run(parser, "several sets from --seed", "inputs and tolerances")
    parser.add_argument(
        "--detail",
        choices=("region", "operator"),
        default="region",
        help="operator: check each kernel of a region too",
    )
    configure_format(parser)
    parser.add_argument("--figure", type=Path, help="write the figure of the report to this file")


def run(options: argparse.Namespace) -> int:
    """Exit code 0 if the numbers are right, 1 if some are wrong, 3 if nothing could be compared."""
    from byoc_lab import trace, validate

    with ProgressLine() as progress:
        progress(f"reading {options.model}")
        mod = read_module(options.model, options, known=options.inputs is None)
        inputs = None if options.inputs is None else read_arrays(options.inputs)
        result = trace(
            mod, options.pipeline, progress=lambda name: progress(f"running {name}")
        ).result
    report = validate(mod, result, inputs, detail=options.detail, seed=options.seed)
    print(report.to_json() if options.format == "json" else report)
    if options.figure:
        report.plot().savefig(options.figure)
    if not report.comparisons:
        return INCONCLUSIVE
    return OK if report.ok else NO
