"""`relay.image.resize1d`, `resize2d`, `resize3d` as TVM 0.8 has them too: without a region.

There the layout came third; what is given third is a region if it is no text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from byoc_lab.relay import image
from byoc_lab.relay.expr import Expr


def _resize(builder: Callable[..., Expr]) -> Callable[..., Expr]:
    @wraps(builder)
    def resize(data: Expr, size: Any, *args: Any, **kwargs: Any) -> Expr:
        old = bool(args) and isinstance(args[0], str)
        return builder(data, size, *(None,) * old, *args, **kwargs)

    return resize


resize1d, resize2d, resize3d = map(_resize, (image.resize1d, image.resize2d, image.resize3d))

__all__ = ["resize1d", "resize2d", "resize3d"]
