"""find the pass, or the generated code, that changed the numbers, and the operator where it did"""

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
from byoc_lab.errors import ArgumentError
from byoc_lab.files import write_text
from byoc_lab.terminal import ProgressLine


def configure(parser: argparse.ArgumentParser) -> None:
    configure_run(parser, "normal numbers from --seed", "the inputs")
    parser.add_argument("--era", help="an era of the pipeline, such as 2020-01 or 0.16")
    parser.add_argument(
        "--no-kernels",
        action="store_true",
        help="compare only the passes, not the code of back ends",
    )
    parser.add_argument(
        "--repro",
        type=Path,
        metavar="FOLDER",
        help="where to write a script that reproduces the difference, if one is found",
    )
    parser.add_argument(
        "--reduce",
        action="store_true",
        help="with --repro, if a pass changed the numbers: also write network.relay, the smallest "
        "network whose numbers it changes, with network.py (numbers from seed 0; see reduce)",
    )
    configure_format(parser)


def run(options: argparse.Namespace) -> int:
    """Exit code 0 if no pass and no kernel changed the numbers, 1 if one did or the code of a
    region fails, 3 if the bisection is inconclusive."""
    from byoc_lab import bisect, reduce

    if options.reduce and (options.repro is None or options.era is not None):
        raise ArgumentError("--reduce needs --repro, its output folder, and excludes --era")
    with ProgressLine() as progress:
        progress(f"reading {options.model}")
        mod = read_module(options.model, options)
        inputs = None if options.inputs is None else read_arrays(options.inputs)
    found = bisect(
        mod,
        options.pipeline,
        inputs,
        era=options.era,
        seed=options.seed,
        folder=options.repro,
        kernels=not options.no_kernels,
    )
    print(found.to_json() if options.format == "json" else found)
    if options.reduce and found.index is not None:
        small = reduce(mod, f"bisect:{found.stage}", pipeline=options.pipeline)
        write_text(options.repro / "network.relay", small.module.astext(exact=True) + "\n")
        small.save(options.repro / "network.py")
    if not found.conclusive:
        return INCONCLUSIVE
    return NO if found.found else OK
