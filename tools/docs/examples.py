"""Runs the code blocks of a page in order, and stores the output below each block.

`python -m tools.docs.examples` runs and rewrites all pages that store outputs.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from byoc_lab import cli

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:\n```output\n(.*?)^```\n)?", re.M | re.S)
FOLDERS = ("how-to", "reference", "operators", "explanation")


def pages() -> list[Path]:
    """The pages with stored outputs."""
    return sorted(page for folder in FOLDERS for page in (DOCS / folder).glob("*.md"))


def run(page: Path, names: dict[str, Any]) -> str:
    """The text of the page with the outputs of this run, in the current working folder.

    A stored output that matches is kept; `...` in it matches any text. Each block runs twice,
    because a reader may do so; raises AssertionError if the second output differs.
    """
    text = page.read_text(encoding="utf-8")
    same = partial(doctest.OutputChecker().check_output, optionflags=doctest.ELLIPSIS)

    def replaced(match: re.Match[str]) -> str:
        kind, code, stored = match[1], match[2], match[3] or ""
        lines = text.count("\n", 0, match.start(2))
        do = partial(_python, "\n" * lines + code, page, names)
        output, again = (
            _printed(do if kind == "python" else partial(_commands, code)) for _ in "12"
        )
        if same(stored, output):
            output = stored
        assert same(output, again), f"{page.name}:{lines + 1}: run again, it prints {again}"
        block = f"```{kind}\n{code}```\n"
        return block + (f"\n```output\n{output}```\n" if output else "")

    return BLOCK.sub(replaced, text)


def _printed(do: Callable[[], None]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        do()
    output = re.sub(r"[ \t]+$", "", printed.getvalue(), flags=re.M).strip("\n")
    return f"{output}\n" if output else ""


def _python(code: str, page: Path, names: dict[str, Any]) -> None:
    exec(compile(code, str(page), "exec"), names)


def _commands(lines: str) -> None:
    for line in lines.splitlines():
        program, *arguments = shlex.split(line, comments=True)
        if program == "byoc-lab":  # tests/docs/test_commands.py runs the others
            code = cli.main(arguments)
            assert code in (0, 1), f"{line}: exit code {code}"


def main() -> None:
    """Write the outputs of all pages."""
    for page in pages():
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            page.write_text(run(page, {"__name__": page.stem}), encoding="utf-8")
            os.chdir(ROOT)


if __name__ == "__main__":
    main()
