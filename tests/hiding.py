"""Hides the DNNL extension, apache-tvm and C compilers from this process and its child
processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Set
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

PACKAGES = {"tvm", "tvm_ffi"}
COMPILERS = {"cc", "gcc", "clang", "c++", "g++", "clang++"}
_find = PathFinder.find_spec


def environment(folder: Path, packages: Set[str] = PACKAGES) -> dict[str, str]:
    """Environment variables for a process that finds none of them.

    folder: an empty folder, for links to the other programs on PATH, and for a module that Python
    runs at startup. packages: the names that cannot be imported.
    """
    programs = folder / "programs"
    programs.mkdir()
    for place in filter(os.path.isdir, os.environ["PATH"].split(os.pathsep)):
        for each in os.scandir(place):
            if each.name.partition("-")[0] not in COMPILERS and not (programs / each.name).exists():
                (programs / each.name).symlink_to(each.path)
    root = str(Path(__file__).parents[1])
    start = f"import sys\nsys.path.append({root!r})\nfrom tests.hiding import hide\n"
    start += f"hide({set(packages)!r})\n"
    (folder / "sitecustomize.py").write_text(start, encoding="utf-8")
    return {
        "PATH": str(programs),
        "CC": "",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])),
        "BYOC_LAB_DNNL_LIBRARY": "/nowhere/libbyoc_lab_dnnl.so",
    }


def hide(packages: Set[str] = PACKAGES) -> None:
    """Makes imports of these packages fail in this process."""
    assert not packages & set(sys.modules), "they are imported already"

    def find_others(cls: type, name: str, path: Any = None, target: Any = None) -> Any:
        return None if name.partition(".")[0] in packages else _find(name, path, target)

    PathFinder.find_spec = classmethod(find_others)  # type: ignore[assignment]
