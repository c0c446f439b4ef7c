"""The commands of `byoc-lab`, one file each, found by discovery.

A command is a module with the command's name: the first line of its docstring is its help,
`configure(parser)` adds its arguments, and `run(options)` returns its exit code.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Iterator
from typing import Protocol, cast

from byoc_lab.commands.shared import INCONCLUSIVE, NO, OK, USAGE

__all__ = ["INCONCLUSIVE", "NO", "OK", "USAGE", "Command", "all_commands"]


class Command(Protocol):
    """The interface of a command module of this folder."""

    __doc__: str | None

    def configure(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, options: argparse.Namespace) -> int: ...


def all_commands() -> Iterator[tuple[str, Command]]:
    """The commands by name."""
    for info in pkgutil.iter_modules(__path__):
        if info.name != "shared":
            module = importlib.import_module(f"{__name__}.{info.name}")
            yield info.name, cast(Command, module)
