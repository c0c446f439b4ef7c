"""A region that the NumPy reference computes because a library is missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab.backends.python_region import BoundPythonRegion, PythonRegion
from byoc_lab.relay.ir.expr import Function
from byoc_lab.run.reference import evaluate
from byoc_lab.run.stand_in import in_place_of


class ReferenceRegion(BoundPythonRegion):
    """A region that NumPy computes; a code generator returns it on machines without its library. It
    gives the results of the library, but no times or kernels.

    library: the name of the library, for the sentence `stand_in` in cards and reports.
    """

    def __init__(self, function: Function, symbol: str, library: str):
        super().__init__(function, symbol, PythonRegion(self._evaluated))
        self.stand_in = in_place_of(library)

    def _evaluated(self, *inputs: Any) -> list[np.ndarray]:
        return list(evaluate(self.function, inputs).outputs)
