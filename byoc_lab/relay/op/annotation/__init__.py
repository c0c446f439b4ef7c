"""Operators that annotate and compute nothing: region borders, devices."""

from byoc_lab.relay.op.annotation.regions import (
    checkpoint,
    compiler_begin,
    compiler_end,
    stop_fusion,
)

__all__ = ["checkpoint", "compiler_begin", "compiler_end", "stop_fusion"]
