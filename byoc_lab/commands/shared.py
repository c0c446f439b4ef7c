"""What several commands use: exit codes, and reading modules."""

from __future__ import annotations

import sys
from pathlib import Path

from byoc_lab.errors import ArgumentError
from byoc_lab.relay import IRModule, parse

OK, NO, USAGE = 0, 1, 2
"""Success; a negative result (findings, differences, a pass that failed); wrong usage."""

STANDARD_INPUT = "-"
INPUT = "a file that an importer reads, such as Relay text, or - for Relay text from standard input"


def read_module(name: str) -> IRModule:
    """The module of a file, or of standard input for "-". Raises ParseError, ImporterError and
    OSError."""
    if name == STANDARD_INPUT:
        return parse(sys.stdin.read(), "<stdin>")
    from byoc_lab.importers import load

    return load(Path(name))[0]


def read_once(*names: str) -> None:
    """Raise ArgumentError if several of the names are standard input."""
    if names.count(STANDARD_INPUT) > 1:
        raise ArgumentError("standard input (-) can be read once; name a file for the other module")
