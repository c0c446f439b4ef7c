"""Operators on images."""

from __future__ import annotations

from typing import Any

from byoc_lab.importers.relax.table import converts
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.op.framework.from_relax import RelaxCall, ints, number, relay_call


@converts("image.resize2d", "image.resize3d")
def _resize(call: RelaxCall, x: Expr, size: Any) -> Expr:
    attrs = call.attrs
    roi = [float(number(value)) for value in attrs.roi or ()]
    return relay_call(
        call.name,
        x,
        size=ints(size),
        roi=roi if any(roi) else None,
        layout=str(attrs.layout),
        method=str(attrs.method),
        coordinate_transformation_mode=str(attrs.coordinate_transformation_mode),
        rounding_method=str(attrs.rounding_method),
        cubic_alpha=float(attrs.cubic_alpha),
        cubic_exclude=int(attrs.cubic_exclude),
        extrapolation_value=float(attrs.extrapolation_value),
        out_dtype=str(attrs.out_dtype) if attrs.out_dtype else None,
    )


@converts("image.affine_grid")
def _affine_grid(call: RelaxCall, theta: Expr, size: Any) -> Expr:
    if not getattr(call.attrs, "align_corners", True):
        raise call.error("Relay's grid has align_corners=True, found False")
    return relay_call("image.affine_grid", theta, target_shape=ints(size))
