"""Passes of TVM 0.16 that only scripts written for TVM use; importing this registers them.

One pass per file, found by discovery like the passes of `byoc_lab.passes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from byoc_lab.compat.passes.simplify.combine_parallel import CombineParallel
from byoc_lab.passes.framework.discovery import discover

PASSES = discover(__name__, {CombineParallel})
globals().update(PASSES)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


__all__ = [*PASSES]
