"""show what differs between two modules"""

from __future__ import annotations

import argparse

from byoc_lab.commands.shared import (
    INPUT,
    NO,
    OK,
    configure_format,
    configure_inputs,
    read_module,
    read_once,
)
from byoc_lab.terminal import ProgressLine


def configure(parser: argparse.ArgumentParser) -> None:
    configure_inputs(parser)
    parser.add_argument("before", metavar="A", help=INPUT)
    parser.add_argument("after", metavar="B", help=INPUT)
    configure_format(parser, "json can be read by Diff.from_json and applied")


def run(options: argparse.Namespace) -> int:
    """Exit code 0 for structurally equal modules, else 1."""
    from byoc_lab.lab.diffing import diff

    read_once(options.before, options.after)
    with ProgressLine() as progress:
        progress("reading")
        made = diff(read_module(options.before, options), read_module(options.after, options))
        progress("comparing")
        shown = made.to_json() if options.format == "json" else str(made)
    print(shown)
    return NO if made else OK
