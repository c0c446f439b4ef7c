"""run a pipeline on a module and show every stage"""

from __future__ import annotations

import argparse
from pathlib import Path

from byoc_lab.commands.shared import INPUT, NO, OK, read_module


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help=INPUT)
    parser.add_argument(
        "--pipeline", default="dnnl", help="the name of the pipeline (default: dnnl)"
    )
    parser.add_argument("--html", type=Path, help="write the trace as one HTML file")


def run(options: argparse.Namespace) -> int:
    from byoc_lab import trace

    recorded = trace(read_module(options.file), pipeline=options.pipeline)
    print(recorded)
    if options.html:
        print(f"written: {recorded.save_html(options.html)}")
    return NO if recorded.error else OK
