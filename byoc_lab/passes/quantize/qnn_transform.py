"""`relay.qnn.transform`: passes that take quantized operators apart.

Both are Legalize with an attribute of operators of its own. FTVMQnnCanonicalize puts what computes
the same in plain Relay (`qnn_convert.py`, `qnn_requantize.py`, `qnn_broadcast.py`,
`qnn_linear.py`); FTVMQnnLegalize what suits a back end better (`qnn_tables.py`).

Source: python/tvm/relay/qnn/transform.py of TVM 0.16.
"""

from __future__ import annotations

from byoc_lab.passes.layout.legalize import Legalize as _Legalize
from byoc_lab.passes.quantize import (
    qnn_broadcast,
    qnn_convert,
    qnn_linear,
    qnn_requantize,
    qnn_tables,
)
from byoc_lab.passes.quantize.qnn_values import CANONICALIZE

# These modules register their rules when they are imported.
_LOWERINGS = (qnn_broadcast, qnn_convert, qnn_linear, qnn_requantize, qnn_tables)

__all__ = ["CanonicalizeOps", "Legalize"]


def CanonicalizeOps() -> _Legalize:
    """Quantized operators become plain ones. qnn.conv2d_transpose waits for Legalize."""
    return _Legalize(CANONICALIZE)


def Legalize() -> _Legalize:
    """Replace functions of one quantized tensor by table look-ups, and give qnn.conv2d_transpose
    int16 operands."""
    return _Legalize(qnn_tables.LEGALIZE)
