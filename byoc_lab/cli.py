"""The command line `byoc-lab`, for terminals and CI.

Exit codes: 0 for success; 1 for a negative result (findings, wrong numbers, a pass that failed); 2
for wrong usage (a file that is not Relay, an unknown pipeline). The commands are in `commands/`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from byoc_lab.commands import NO, OK, USAGE, all_commands
from byoc_lab.errors import ByocLabError

__all__ = ["NO", "OK", "USAGE", "main", "parser"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    options = parser().parse_args(arguments)
    try:
        return options.run(options)
    except ByocLabError as error:
        print(f"byoc-lab: {error}", file=sys.stderr)
        return USAGE
    except OSError as error:
        print(f"byoc-lab: {error.strerror}: {error.filename}", file=sys.stderr)
        return USAGE


def parser() -> argparse.ArgumentParser:
    """The parser of the command line; `run` is the function of the chosen command."""
    root = argparse.ArgumentParser(
        prog="byoc-lab", description="A laboratory for BYOC graph partitioning on TVM Relay."
    )
    commands = root.add_subparsers(required=True, metavar="command")
    for name, command in all_commands():
        sub = commands.add_parser(name, help=(command.__doc__ or "").strip())
        command.configure(sub)
        sub.set_defaults(run=command.run)
    return root


if __name__ == "__main__":
    sys.exit(main())
