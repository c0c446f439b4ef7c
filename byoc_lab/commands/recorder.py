"""print a file that records the passes of a real TVM: byoc-lab recorder > tvm_recorder.py"""

from __future__ import annotations

import argparse

from byoc_lab.commands.shared import OK


def configure(parser: argparse.ArgumentParser) -> None:
    """The command has no arguments."""


def run(options: argparse.Namespace) -> int:
    from byoc_lab.lab.tracing.recording import recorder_source

    print(recorder_source(), end="")
    return OK
