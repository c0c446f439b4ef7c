"""`relay.annotation`: the builders of the annotation operators."""

from byoc_lab.relay.op.annotation.device import on_device
from byoc_lab.relay.op.annotation.regions import (
    checkpoint,
    compiler_begin,
    compiler_end,
    stop_fusion,
)

__all__ = ["checkpoint", "compiler_begin", "compiler_end", "on_device", "stop_fusion"]
