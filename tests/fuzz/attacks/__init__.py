"""The kinds of attacks, one file each: `make(random)` is an input, `examine(data)` uses it.

`examine` returns how many steps went well, and raises what must not be raised.
"""

from __future__ import annotations

import importlib
import pkgutil
from importlib.util import find_spec
from types import ModuleType

NEEDS = {"models": "onnx"}  # the optional package of a kind
ATTACKS: dict[str, ModuleType] = {
    found.name: importlib.import_module(f"{__name__}.{found.name}")
    for found in pkgutil.iter_modules(__path__)
    if find_spec(NEEDS.get(found.name, "numpy"))
}
