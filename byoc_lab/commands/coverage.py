"""say how much of a module back ends compute, what stays on the host and why"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from byoc_lab.commands.shared import (
    INCONCLUSIVE,
    OK,
    configure_format,
    configure_min_coverage,
    configure_model,
    judged_share,
    min_coverage,
    read_module,
)

if TYPE_CHECKING:
    from byoc_lab.lab.checking.coverage import Coverage


def configure(parser: argparse.ArgumentParser) -> None:
    configure_model(parser)
    parser.add_argument(
        "--target",
        action="append",
        help="the name of a back end (default: dnnl); several are shown side by side",
    )
    parser.add_argument(
        "--pipeline", help="the name of the pipeline (default: the back end's pipeline)"
    )
    parser.add_argument(
        "--changes",
        action="store_true",
        help="try other region sizes, pattern orders and pass orders, each in a separate run",
    )
    configure_min_coverage(parser)
    parser.add_argument(
        "--of",
        choices=("operators", "flops"),
        default="operators",
        help="the unit of --min-coverage: operators (default), or floating-point operations",
    )
    configure_format(parser)
    parser.add_argument("--figure", type=Path, help="write the figure of the coverage to this file")


def run(options: argparse.Namespace) -> int:
    """Exit code 0 if each coverage reaches --min-coverage, 1 if one does not, 3 if one is not
    known."""
    from byoc_lab.lab.checking.coverage import Coverage
    from byoc_lab.lab.checking.covering import coverage

    least = min_coverage(options)
    targets = options.target or ["dnnl"]
    mod = read_module(options.model, options)
    found = coverage(mod, targets if len(targets) > 1 else targets[0], options.pipeline)
    each = [found] if isinstance(found, Coverage) else list(found)
    if options.changes:
        for one in each:
            _ = one.changes  # computes the changes
    print(found.to_json() if options.format == "json" else found)
    if options.figure:
        found.plot().savefig(options.figure)
    return OK if least is None else max(_judged(one, least, options.of) for one in each)


def _judged(found: Coverage, least: float, of: str) -> int:
    """The exit code for one back end; writes the reason to standard error."""
    totals = found.totals
    if of == "operators":
        share = totals.offloaded / max(1, totals.operators)
        return judged_share(found.backend, share, least, "operators")
    if not totals.unknown and totals.flops:
        return judged_share(found.backend, totals.share, least, "floating-point operations")
    print(
        f"byoc-lab: {found.backend}: the share of floating-point operations is not known "
        f"(operators of unknown shapes: {totals.unknown}); give --shape, or use --of operators",
        file=sys.stderr,
    )
    return INCONCLUSIVE
