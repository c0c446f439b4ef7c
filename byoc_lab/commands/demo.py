"""run MobileNet through the DNNL pipeline, validate and time it"""

from __future__ import annotations

import argparse
from pathlib import Path

from byoc_lab.commands.shared import NO, OK


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--html", type=Path, default=Path("mobilenet_dnnl.html"), help="where to write the report"
    )


def run(options: argparse.Namespace) -> int:
    from byoc_lab.demo import run_demo

    return OK if run_demo(options.html) else NO
