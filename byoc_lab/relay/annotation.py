"""`relay.annotation`: the builders of the annotation operators."""

from byoc_lab.relay.op.annotation import checkpoint, compiler_begin, compiler_end, stop_fusion
from byoc_lab.relay.op.device import on_device

__all__ = ["checkpoint", "compiler_begin", "compiler_end", "on_device", "stop_fusion"]
