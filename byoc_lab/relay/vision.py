"""`relay.vision`: the builders of the detection operators, from their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from byoc_lab.relay.op.framework.namespace import namespace as _namespace

_functions = _namespace("vision.")
globals().update(_functions)
__all__ = sorted(_functions)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
