"""A pytest plugin: the DNNL extension and apache-tvm are hidden, as on a machine that has neither.

python -m pytest -p tests.elsewhere tests/relay tests/passes ...
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from typing import Any

HIDDEN = {"tvm", "tvm_ffi"}
os.environ["BYOC_LAB_DNNL_LIBRARY"] = "/nowhere/libbyoc_lab_dnnl.so"
_find = PathFinder.find_spec


def _find_others(name: str, path: Any = None, target: Any = None) -> Any:
    return None if name.partition(".")[0] in HIDDEN else _find(name, path, target)


assert not HIDDEN & set(sys.modules), "the plugin comes too late"
PathFinder.find_spec = staticmethod(_find_others)  # type: ignore[assignment]
