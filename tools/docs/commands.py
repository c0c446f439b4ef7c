"""Reference entries of commands: adds usage and arguments below headings that are commands."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterator

from byoc_lab import cli

HEADING = re.compile(r"^## byoc-lab ([\w ]+)$", re.M)
WIDTH = 84
_Parser = argparse.ArgumentParser


def commands() -> dict[str, _Parser]:
    """The parser of each command, including subcommands, by name."""
    return dict(_below(cli.parser()))


def expanded(text: str) -> str:
    """The text of a page, with the usage and the arguments of the commands in its headings."""
    known = commands()
    return HEADING.sub(lambda match: "\n\n".join(_entry(match, known[match[1]])), text)


def _below(parser: _Parser, prefix: str = "") -> Iterator[tuple[str, _Parser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                within = dict(_below(sub, f"{prefix}{name} "))
                yield from within.items() if within else [(f"{prefix}{name}", sub)]


def _entry(match: re.Match[str], parser: _Parser) -> Iterator[str]:
    yield match[0]
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    rows = textwrap.wrap(usage, WIDTH, subsequent_indent="    ", break_on_hyphens=False)
    yield "\n".join(["```text", *rows, "```"])
    arguments = [_row(action) for action in parser._actions if action.dest != "help"]
    if arguments:
        yield "| Argument | Meaning |\n|---|---|\n" + "\n".join(arguments)


def _row(action: argparse.Action) -> str:
    value = action.metavar or (action.dest.upper() if action.option_strings else action.dest)
    if action.choices is not None and action.metavar is None:
        value = ", ".join(map(str, action.choices))
    takes = f" {value}" if action.nargs != 0 else ""
    name = f"{', '.join(action.option_strings)}{takes}" if action.option_strings else str(value)
    told = " ".join((action.help or "").replace("%(default)s", str(action.default)).split())
    return f"| `{name}` | {told.replace('|', chr(92) + '|').replace('<', '&lt;')} |"
