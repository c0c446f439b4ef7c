"""A pytest plugin: the DNNL extension, apache-tvm and the C compiler are hidden, as on a machine
that has none of them; from the processes that tests start, too.

python -m pytest -p tests.elsewhere tests/relay tests/passes ...
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

HIDDEN = {"tvm", "tvm_ffi"}
COMPILERS = {"cc", "gcc", "clang", "c++", "g++", "clang++"}
_find = PathFinder.find_spec


def environment(folder: Path) -> dict[str, str]:
    """The variables of a process that finds none of them. folder: where links to other programs
    of PATH are made, and a module that Python runs at its start."""
    programs = folder / "programs"
    programs.mkdir()
    for place in filter(os.path.isdir, os.environ["PATH"].split(os.pathsep)):
        for each in os.scandir(place):
            if each.name.partition("-")[0] not in COMPILERS and not (programs / each.name).exists():
                (programs / each.name).symlink_to(each.path)
    root = Path(__file__).parents[1]
    start = f"import sys; sys.path.append({str(root)!r}); import tests.elsewhere\n"
    (folder / "sitecustomize.py").write_text(start, encoding="utf-8")
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "PATH": str(programs),
        "CC": "",
        "PYTHONPATH": os.pathsep.join(paths),
        "BYOC_LAB_DNNL_LIBRARY": "/nowhere/libbyoc_lab_dnnl.so",
        HERE: str(folder),
    }


HERE = "BYOC_LAB_ELSEWHERE"


def _find_others(name: str, path: Any = None, target: Any = None) -> Any:
    return None if name.partition(".")[0] in HIDDEN else _find(name, path, target)


assert not HIDDEN & set(sys.modules), "the plugin comes too late"
PathFinder.find_spec = staticmethod(_find_others)  # type: ignore[assignment]
if HERE not in os.environ:  # the processes that this one starts have these variables
    _folder = tempfile.TemporaryDirectory(prefix="byoc-lab-elsewhere-")
    os.environ.update(environment(Path(_folder.name)))
