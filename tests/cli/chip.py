"""A third-party back end, as a file for --import."""

from __future__ import annotations

from byoc_lab import backends

CHIP = '''"""A back end that computes relu with NumPy."""

import numpy as np
from byoc_lab import backends
from byoc_lab.backends import PythonRegion


def compiled(function, symbol):
    return PythonRegion(lambda x: np.maximum(x, 0))


backends.register("mychip", supports=["nn.relu"], codegen=compiled)
'''


def forget() -> None:
    """Unregisters the back end if it is registered."""
    if "mychip" in backends.names():
        backends.unregister("mychip")
