"""say what the error messages in a text or log mean, and where their cause is"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from byoc_lab.commands.shared import INPUT, NO, OK, STANDARD_INPUT, read_module, read_once


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "log",
        nargs="?",
        default=STANDARD_INPUT,
        help="a file with the message, such as a log; - or nothing for standard input",
    )
    parser.add_argument(
        "--module", help=f"the module that the pass got, to find the edge at fault: {INPUT}"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(options: argparse.Namespace) -> int:
    """0 if a message of the text is known, else 1."""
    from byoc_lab import decode

    read_once(options.log, *([options.module] if options.module else []))
    mod = read_module(options.module) if options.module else None
    found = decode(_text(options.log), mod)
    if options.format == "json":
        print(json.dumps({"schema": 1, "kind": "decoded", **found.as_dict()}))
    else:
        print(found)
    return OK if found else NO


def _text(name: str) -> str:
    if name == STANDARD_INPUT:
        return sys.stdin.read()
    return Path(name).read_text(encoding="utf-8", errors="replace")
