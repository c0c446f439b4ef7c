"""What commands read: files of modules, and standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from byoc_lab.errors import ArgumentError
from byoc_lab.relay import IRModule, parse

STANDARD_INPUT = "-"
HELP = "a file of a module, or - for Relay text from standard input"


def read_module(name: str) -> IRModule:
    """The module of a file, or of standard input for "-". Raises ParseError, ImporterError and
    OSError."""
    if name == STANDARD_INPUT:
        return parse(sys.stdin.read(), "standard input")
    from byoc_lab.importers import load

    return load(Path(name))[0]


def read_modules(*names: str) -> list[IRModule]:
    """Several modules, at most one of them from standard input."""
    if names.count(STANDARD_INPUT) > 1:
        raise ArgumentError("standard input (-) can be read once; name a file for the other module")
    return [read_module(name) for name in names]
