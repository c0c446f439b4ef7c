"""The kinds of attacks, one per file: `make(random)` returns an input, `examine(data)` uses it.

`examine` returns the number of successful steps, and raises if the product has a fault.
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
