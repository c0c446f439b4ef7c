"""What several commands use: exit codes, and reading modules."""

from __future__ import annotations

import sys

from byoc_lab.relay import IRModule

OK, NO, USAGE = 0, 1, 2

INPUT = "a file that an importer reads, such as Relay text, or - for Relay text from standard input"


def read_module(name: str) -> IRModule:
    """The module of a file, or of standard input for "-"."""
    if name == "-":
        from byoc_lab.relay.text.parser import parse

        return parse(sys.stdin.read(), "<stdin>")
    from byoc_lab.importers import load

    return load(name)[0]
