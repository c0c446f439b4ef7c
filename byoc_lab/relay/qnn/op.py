"""`relay.qnn.op`: the builders of the quantized operators, and registration of their lowering."""

from __future__ import annotations

from byoc_lab.relay.op import register_op_attr as _register_op_attr
from byoc_lab.relay.op.framework.namespace import later as _later
from byoc_lab.relay.op.framework.namespace import namespace as _namespace
from byoc_lab.relay.op.qnn.requantize_config import RequantizeConfig as RequantizeConfig
from byoc_lab.relay.op.qnn.requantize_config import (
    current_requantize_config as current_requantize_config,
)
from byoc_lab.relay.op.qnn.requantize_config import requantize_config as requantize_config

_functions = _namespace("qnn.")
globals().update(_functions)


def register_qnn_legalize(op_name: str, legal_op: object = None, level: int = 10):
    """Register the replacement of an operator by relay.qnn.transform.Legalize."""
    return _register_op_attr(op_name, "FTVMQnnLegalize", legal_op, level)


def register_qnn_canonicalize(op_name: str, legal_op: object = None, level: int = 10):
    """Register the replacement of an operator by relay.qnn.transform.CanonicalizeOps."""
    return _register_op_attr(op_name, "FTVMQnnCanonicalize", legal_op, level)


_names = {n for n in globals() if n.startswith(("register_", "requantize_", "current_"))}
__all__ = sorted({*_functions, *_names, "RequantizeConfig"})
__getattr__ = _later(__name__, "qnn.")
