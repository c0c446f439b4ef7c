"""say for each call of a module whether a back end computes it, and if not, why not"""

from __future__ import annotations

import argparse

from byoc_lab.commands.shared import (
    NO,
    OK,
    configure_format,
    configure_min_coverage,
    configure_model,
    judged_share,
    min_coverage,
    read_module,
)
from byoc_lab.output import to_json
from byoc_lab.terminal import ProgressLine


def configure(parser: argparse.ArgumentParser) -> None:
    configure_model(parser)
    parser.add_argument("--target", default="dnnl", help="the name of the back end (default: dnnl)")
    parser.add_argument(
        "--call", help="one call, by its number in the text (%%12), or the calls of an operator"
    )
    parser.add_argument(
        "--pipeline", help="the name of the pipeline (default: the back end's pipeline)"
    )
    configure_min_coverage(parser)
    configure_format(parser)


def run(options: argparse.Namespace) -> int:
    """Exit code 0 if every requested call is offloaded or removed, or if the offloaded share of the
    remaining calls reaches --min-coverage; else 1."""
    from byoc_lab import explain

    least = min_coverage(options)
    with ProgressLine() as progress:
        progress(f"reading {options.model}")
        mod = read_module(options.model, options)
        progress(f"asking why calls are not offloaded to {options.target}")
        found = explain(mod, options.target, options.call, options.pipeline)
        as_json = options.format == "json"
        # Printing searches for changes, which takes time.
        shown = to_json("explanations", found.as_dict(), schema=2) if as_json else str(found)
    print(shown)
    if least is None:
        return NO if found.host else OK
    left = len(found.offloaded) + len(found.host)
    share = len(found.offloaded) / max(1, left)
    return judged_share(options.target, share, least, "operators", "the reasons are listed above")
