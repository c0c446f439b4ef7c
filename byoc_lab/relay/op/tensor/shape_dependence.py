"""Operators with a result shape that depends on the values of arguments (TShapeDataDependent).

One flag per argument, or one flag for all. Such a call is not fused while its shape is unknown.
ShapeArguments has a flag for each argument.

Source: register_shape_func(..., data_dependent) under python/tvm/relay/op of TVM 0.16.
"""

from __future__ import annotations

from byoc_lab.relay.ir.expr import Op

BY_ARGUMENT = {
    "dyn.expand_dims": (1, 1),
    "dyn.reshape": (0, 1),
    "dyn.squeeze": (0, 1),
    "dyn.strided_slice": (0, 1, 1, 1),
}
ALL_ARGUMENTS = (
    "arange", "argwhere", "broadcast_to", "dyn.broadcast_to", "dyn.full", "dyn.image.resize2d",
    "dyn.nn.pad", "dyn.nn.upsampling", "dyn.nn.upsampling3d", "dyn.one_hot", "dyn.ones",
    "dyn.tile", "dyn.topk", "dyn.zeros", "stft",
)  # fmt: skip

# TVM's one flag counts the first argument of the others, which is data: no shape depends on it.
WITHOUT_DATA = ("arange", "argwhere", "dyn.ones", "dyn.zeros")

for _name, _flags in {**dict.fromkeys(ALL_ARGUMENTS, (1,)), **BY_ARGUMENT}.items():
    Op.get(_name).set_attr("TShapeDataDependent", _flags)
    _each = _flags if _name in BY_ARGUMENT else (int(_name in WITHOUT_DATA), 1, 1, 1)
    Op.get(_name).set_attr("ShapeArguments", _each)
