"""`relay.nn`: the builders of the neural network operators, such as `relay.nn.conv2d`.

Each is generated from the operator's definition in `byoc_lab/relay/op`; `help` shows its
attributes.
"""

from __future__ import annotations

from byoc_lab.relay.op.framework.namespace import later as _later
from byoc_lab.relay.op.framework.namespace import namespace as _namespace

_functions = _namespace("nn.")
globals().update(_functions)
__all__ = sorted(_functions)
__getattr__ = _later(__name__, "nn.")
