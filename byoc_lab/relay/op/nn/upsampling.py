"""Images enlarged by a factor: nn.upsampling and nn.upsampling3d, defined by image.resize*.

Source: `UpSamplingRel`, `UpSampling3DRel` of TVM 0.16.
"""

from __future__ import annotations

from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, boolean, number, string
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.layout import inverse_permute, permute, positions
from byoc_lab.relay.op.framework.registry import OpPattern, define_op
from byoc_lab.relay.op.framework.relations import dim, need_one_of, need_rank, tensor_relation
from byoc_lab.relay.op.framework.relax_types import shape_of
from byoc_lab.relay.op.framework.windows import AXIS_NAMES, SPATIAL
from byoc_lab.relay.op.image.resize import MODES, resampling
from byoc_lab.relay.op.tensor.blocks import with_blocked_layouts

METHODS = {2: ("nearest_neighbor", "bilinear", "bicubic"), 3: ("nearest_neighbor", "trilinear")}


def upsampled(size: AnyValue, attrs: AnyValue, rank: int) -> list[AnyValue]:
    """Each spatial axis times its scale, rounded."""
    scales = [attrs[f"scale_{axis.lower()}"] for axis in SPATIAL[rank]]
    return [dim(lambda n, s=s: round(n * s), d) for d, s in zip(size, scales, strict=True)]


def _define(op: str, rank: int, more: Attr) -> None:
    spatial = SPATIAL[rank]
    resize = Op.get(f"image.resize{rank}d").definition

    def result_type(attrs: AnyValue, x: TensorType) -> Type:
        """data (N, C, spatial axes); each spatial axis is multiplied by its scale and rounded."""
        need_rank(op, "data", x, rank + 2)
        need_one_of(op, "method", attrs.method, METHODS[rank])
        mode = attrs.get("coordinate_transformation_mode", MODES[0])
        need_one_of(op, more.name, mode, MODES)
        order = positions(op, "layout", attrs.layout, f"NC{spatial}")
        n, c, *size = permute(x.shape, order)
        return TensorType(inverse_permute((n, c, *upsampled(size, attrs, rank)), order), x.dtype)

    def as_resize(attrs: AnyValue, shape: AnyValue) -> AnyValue:
        """The attributes of the resize that upsamples data of `shape`."""
        _, _, *size = permute(shape, positions(op, "layout", attrs.layout, f"NC{spatial}"))
        corners = "align_corners" if attrs.get("align_corners") else "asymmetric"
        assert resize.attrs is not None
        return resize.attrs.make(
            size=upsampled(size, attrs, rank),
            layout=attrs.layout,
            method=attrs.method.removeprefix("bi").removeprefix("tri"),
            coordinate_transformation_mode=attrs.get("coordinate_transformation_mode", corners),
            rounding_method="",
            roi=(0.0,) * (2 * rank),
        )

    def reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
        assert resize.reference is not None
        return resize.reference(as_resize(attrs, x.shape), x)

    def relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
        assert resize.relax is not None
        return resize.relax(R, as_resize(attrs, shape_of(x)), x)

    scales = [
        Attr(f"scale_{axis.lower()}", number, doc=f"factor of the {name}")
        for axis, name in ((a, AXIS_NAMES[a]) for a in spatial)
    ]
    name = f"relay.attrs.UpSampling{'3D' if rank == 3 else ''}Attrs"
    layout = Attr("layout", string, f"NC{spatial}", "layout of data and result")
    method = Attr("method", string, "nearest_neighbor", ", ".join(METHODS[rank]))
    define_op(
        op,
        "data",
        **with_blocked_layouts(
            op,
            ("layout",),
            ("layout",),
            relation=tensor_relation(op, "data", result_type),
            reference=reference,
            flops=upsampling_flops,
            relax=relax,
        ),
        in_relax=("image.resize2d",) if rank == 2 else (),
        attrs=AttrsType(name, (*scales, layout, method, more)),
        defaults={f"scale_{axis.lower()}": 1 for axis in spatial},
        pattern=OpPattern.INJECTIVE,
        layout=layout_rules.upsampling,
        arithmetic=resampling,
        doc="Images enlarged by a factor along each spatial axis.",
    )


def upsampling_flops(attrs: AnyValue, args: AnyValue, result: TensorType) -> int:
    """Two operations per result element and data element in its sum."""
    terms = {"nearest_neighbor": 0, "bilinear": 4, "trilinear": 8, "bicubic": 16}
    return 2 * prod(result.concrete_shape) * terms[attrs.method]


_define(
    "nn.upsampling",
    2,
    Attr("align_corners", boolean, False, "whether the corner pixels of data and result coincide"),
)
_define(
    "nn.upsampling3d",
    3,
    Attr("coordinate_transformation_mode", string, "half_pixel", ", ".join(MODES)),
)
