"""`relay.qnn.transform`: passes that lower quantized operators.

Both are variants of Legalize with a separate operator attribute. FTVMQnnCanonicalize replaces an
operator by an equal computation in plain Relay (`qnn_convert.py`, `qnn_requantize.py`,
`qnn_broadcast.py`, `qnn_linear.py`); FTVMQnnLegalize by a form that suits back ends better
(`qnn_tables.py`).

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
    """Replace quantized operators by plain operators, except qnn.conv2d_transpose, which Legalize
    replaces."""
    return _Legalize(CANONICALIZE)


def Legalize() -> _Legalize:
    """Replace functions of one quantized tensor by table look-ups, and give qnn.conv2d_transpose
    int16 operands."""
    return _Legalize(qnn_tables.LEGALIZE)
