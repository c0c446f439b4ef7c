"""say what the error messages in a text or log mean, and where their cause is"""

from __future__ import annotations

import argparse

from byoc_lab.commands.shared import (
    INPUT,
    NO,
    OK,
    STANDARD_INPUT,
    configure_format,
    configure_inputs,
    read_module,
    read_once,
    read_text,
    read_trace,
)
from byoc_lab.output import to_json
from byoc_lab.relay.ir.unparsed import UnparsedModule


def configure(parser: argparse.ArgumentParser) -> None:
    configure_inputs(parser)
    parser.add_argument(
        "log",
        nargs="?",
        default=STANDARD_INPUT,
        help="a file with the message: a log, or a trace or recording that ended with an error; "
        "- or nothing for standard input",
    )
    parser.add_argument(
        "--module", help=f"the input module of the pass, to find the wrong edge: {INPUT}"
    )
    configure_format(parser)


def run(options: argparse.Namespace) -> int:
    """Exit code 0 if a message of the text is known, else 1."""
    from byoc_lab import decode

    read_once(options.log, *([options.module] if options.module else []))
    recorded = read_trace(options.log)
    mod = read_module(options.module, options) if options.module else None
    if recorded is None:
        found = decode(read_text(options.log), mod)
    elif recorded.error is None:
        if options.format == "json":
            print(to_json("decoded", {"known": False, "messages": []}))
        else:
            print(f"{options.log} ended without an error")
        return NO
    else:
        parsed = None if isinstance(recorded.final, UnparsedModule) else recorded.final
        found = decode(str(recorded.error), mod or parsed)
    if options.format == "json":
        print(to_json("decoded", found.as_dict()))
    else:
        print(found)
    return OK if found else NO
