"""The classes of errors, in `byoc_lab.errors` and beside the code that raises them."""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path

from byoc_lab import errors
from byoc_lab.errors import ByocLabError

PACKAGE = Path(errors.__file__).parent
CLASS = re.compile(r"^class (\w+Error)\(", re.M)


@cache
def error_classes() -> dict[str, type[ByocLabError]]:
    """The classes of errors in all modules, by name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if names := CLASS.findall(path.read_text(encoding="utf-8")):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
            found |= {name: getattr(module, name) for name in names}
    return {name: cls for name, cls in found.items() if issubclass(cls, ByocLabError)}
