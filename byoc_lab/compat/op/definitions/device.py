"""Device annotations: on_device and device_copy. Both are identities.

Source: src/relay/op/annotation/annotation.cc and memory/device_copy.cc of TVM 0.16.
"""

from __future__ import annotations

from typing import Any as AnyValue

from byoc_lab.relay.ir.attrs import Attr, Attrs, AttrsType, boolean
from byoc_lab.relay.op.annotation.device import virtual_device
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op, identity


def _device(value: AnyValue) -> Attrs:
    try:
        return virtual_device(value)
    except ValueError:
        raise TypeError from None


def _devices(values: dict[str, AnyValue]) -> dict[str, AnyValue]:
    """Replaces device names and TVM devices by virtual devices. Raises ValueError for other
    objects."""
    is_device = {name: name.endswith("virtual_device") for name in values}
    return {n: virtual_device(v) if is_device[n] else v for n, v in values.items()}


def _identity(op: str, python_name: str, attrs: AttrsType, parameters: str, doc: str) -> None:
    define_op(
        op,
        "body" if op == "on_device" else "data",
        identity,
        reference=lambda attrs, x: x,
        attrs=attrs,
        relax=lambda R, attrs, x: x,
        pattern=OpPattern.OPAQUE,
        non_computational=op == "on_device",
        layout=layout_rules.elementwise,
        python_name=python_name,
        parameters=parameters,
        normalize=_devices,
        arithmetic=Arithmetic.COPY,
        doc=doc,
    )


_identity(
    "on_device",
    "annotation.on_device",
    AttrsType(
        "relay.attrs.OnDeviceAttrs",
        (
            Attr("virtual_device", _device, doc="the device"),
            Attr("constrain_result", boolean, False, "whether the result must be on the device"),
            Attr("constrain_body", boolean, True, "whether body must be computed on the device"),
        ),
    ),
    "body device=virtual_device constrain_result constrain_body",
    'out = body, to be computed on a device: "cpu", "cuda:1" or a TVM device.',
)
_identity(
    "device_copy",
    "device_copy",
    AttrsType(
        "relay.attrs.DeviceCopyAttrs",
        (
            Attr("src_virtual_device", _device, doc="device of data"),
            Attr("dst_virtual_device", _device, doc="device of the result"),
        ),
    ),
    "data src_device=src_virtual_device dst_device=dst_virtual_device",
    "out = data, copied to the memory of another device.",
)
