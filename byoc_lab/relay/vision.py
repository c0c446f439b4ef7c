"""`relay.vision`: the builders of the detection operators, from their definitions."""

from __future__ import annotations

from byoc_lab.relay.op.framework.namespace import later as _later
from byoc_lab.relay.op.framework.namespace import namespace as _namespace

_functions = _namespace("vision.")
globals().update(_functions)
__all__ = sorted(_functions)
__getattr__ = _later(__name__, "vision.")
