"""`byoc-lab diff A B`: what differs between two modules. Exit code 1 if anything does."""

from __future__ import annotations

import argparse
from typing import Any

from byoc_lab.commands.exit_codes import NO, OK
from byoc_lab.commands.sources import HELP, read_modules


def add(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    command = commands.add_parser("diff", help="show what differs between two modules")
    command.add_argument("before", metavar="A", help=HELP)
    command.add_argument("after", metavar="B", help=HELP)
    command.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="json can be read by Diff.from_json and applied",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the diff; returns 0 for structurally equal modules, else 1."""
    from byoc_lab.lab.diffing import diff

    made = diff(*read_modules(options.before, options.after))
    print(made.to_json() if options.format == "json" else made)
    return NO if made else OK
