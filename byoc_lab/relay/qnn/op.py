"""`relay.qnn.op`: the builders of the quantized operators, from their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from byoc_lab.relay.op.namespace import namespace as _namespace

globals().update(_namespace("qnn."))
__all__ = sorted(_namespace("qnn."))

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
