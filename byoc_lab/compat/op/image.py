"""`relay.image.resize1d`, `resize2d`, `resize3d`, which also accept the signature of TVM 0.8. There
the third parameter is the layout, now it is the region:

a third argument that is a string is a layout. `resize` is the name of `resize2d` before 0.8.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from byoc_lab.relay import image
from byoc_lab.relay.ir.expr import Expr


def _resize(builder: Callable[..., Expr]) -> Callable[..., Expr]:
    @wraps(builder)
    def resize(data: Expr, size: Any, *args: Any, **kwargs: Any) -> Expr:
        old = bool(args) and isinstance(args[0], str)
        return builder(data, size, *(None,) * old, *args, **kwargs)

    return resize


# {mode before 0.8: mode since 0.8}
METHODS = {"bilinear": "linear", "bicubic": "cubic"}


def resize(
    data: Expr,
    size: Any,
    layout: str = "NCHW",
    method: str = "bilinear",
    coordinate_transformation_mode: str | bool = "half_pixel",
    *args: Any,
    align_corners: bool | None = None,
    **kwargs: Any,
) -> Expr:
    """`resize2d` with the parameter names of TVM 0.5 to 0.7 and the defaults of 0.7.

    align_corners: replaces coordinate_transformation_mode in 0.5 and 0.6; False means "asymmetric".
    """
    mode = coordinate_transformation_mode if align_corners is None else align_corners
    if isinstance(mode, bool):
        mode = "align_corners" if mode else "asymmetric"
    method = METHODS.get(method, method)
    return image.resize2d(data, size, None, layout, method, mode, *args, **kwargs)


resize1d, resize2d, resize3d = map(_resize, (image.resize1d, image.resize2d, image.resize3d))

__all__ = ["resize", "resize1d", "resize2d", "resize3d"]
