"""copy the notebooks and exercises of the course into a folder and open them in JupyterLab"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shlex
import sys
from pathlib import Path

from byoc_lab.commands.shared import OK
from byoc_lab.errors import counted


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        default=Path("byoc-lab-course"),
        metavar="FOLDER",
        help="where to copy them (default: byoc-lab-course); changed files in it are kept",
    )
    parser.add_argument(
        "--no-open", dest="opens", action="store_false", help="only copy, without JupyterLab"
    )


def run(options: argparse.Namespace) -> int:
    """Exit code 0, or the exit code of JupyterLab."""
    from byoc_lab.containment.children import in_front
    from byoc_lab.lessons.course_files import FIRST, copy_course

    written, kept = copy_course(options.folder)
    for path in kept:
        print(f"kept {path}, which differs from the installed file")
    print(f"{options.folder}: {counted(len(written), 'new file')}")
    first = str(options.folder / FIRST)
    if options.opens and _can_open():
        root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        sys.stdout.flush()
        return in_front([sys.executable, "-m", "jupyterlab", *root, first])
    print(f"begin with: jupyter lab {shlex.quote(first)}")
    return OK


def _can_open() -> bool:
    """Whether JupyterLab is installed and a person can see its address; prints the reason if
    not."""
    if importlib.util.find_spec("jupyterlab") is None:
        print("not opened: JupyterLab is not installed; pip install jupyterlab")
        return False
    if not sys.stdout.isatty():
        print("not opened: the output is not a terminal")
        return False
    return True
