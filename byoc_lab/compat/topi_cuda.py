"""`tvm.topi.cuda`: what tests of Relay import of TVM's CUDA schedules, which are not carried."""

from __future__ import annotations

from typing import Any


def _infer_tile_size(data: Any, kernel: Any, layout: str = "NCDHW") -> int:
    """The tile that TVM's Winograd convolution takes for data of this height: 4 or 2."""
    return 4 if int(data.shape[layout.index("H")]) % 8 == 0 else 2


__all__: list[str] = []
