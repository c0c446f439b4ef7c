"""Device annotations: on_device and device_copy. Both are identities.

Source: src/relay/op/annotation/annotation.cc and memory/device_copy.cc of TVM 0.16.
"""

from __future__ import annotations

from typing import Any as AnyValue

from byoc_lab.relay.ir.attrs import Attr, Attrs, AttrsType, boolean, integer, string
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.costs import no_flops
from byoc_lab.relay.op.framework.registry import OpPattern, builder, define_op, identity

DEVICE_TYPES = {"cpu": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "rocm": 10}


def target(value: AnyValue) -> AnyValue:
    """A TVM target, unchanged, or None."""
    if value is not None and not hasattr(value, "kind"):
        raise TypeError
    return value


def scope(value: AnyValue) -> str:
    """A string attribute that TVM stores as an object, unlike others."""
    return string(value)


def _device_text(device: Attrs) -> str:
    parts = []
    if device.device_type_int != -1:
        parts.append(f"device_type={device.device_type_int}")
    if device.virtual_device_id != -1:
        parts.append(f"virtual_device_id={device.virtual_device_id}")
    if device.target is not None:
        kind, keys = device.target.kind.name, set(map(str, device.target.keys))
        parts.append(f"target=Target(id={id(device.target):x}, kind='{kind}', keys={keys})")
    if device.memory_scope:
        parts.append(f"memory_scope='{device.memory_scope}'")
    return f"VirtualDevice({', '.join(parts) or '?'})"


VIRTUAL_DEVICE = AttrsType(
    "VirtualDevice",
    (
        Attr("device_type_int", integer, -1, "kind of device, as in DLPack; 1: CPU"),
        Attr("virtual_device_id", integer, -1, "number of the device among those of its kind"),
        Attr("target", target, None, "TVM target of the code"),
        Attr("memory_scope", scope, "", "memory scope; empty: the default one"),
    ),
    text=_device_text,
)

# A second name that TVM has for the kind of device.
VIRTUAL_DEVICE.record.device_type = property(lambda self: self.device_type_int)  # type: ignore[attr-defined]


def virtual_device(device: AnyValue) -> Attrs:
    """A device as an attribute. `device`: "cpu", "cuda:1", a device of TVM, or such an attribute.

    Raises ValueError for anything else.
    """
    if isinstance(device, Attrs) and device.schema is VIRTUAL_DEVICE:
        return device
    if isinstance(device, str):
        name, _, number = device.partition(":")
        if name in DEVICE_TYPES and (number or "0").isdigit():
            return VIRTUAL_DEVICE.make(
                device_type_int=DEVICE_TYPES[name], virtual_device_id=int(number or 0)
            )
    kind = getattr(device, "dlpack_device_type", None) or getattr(device, "device_type", None)
    index = getattr(device, "index", getattr(device, "device_id", None))
    kind = kind() if callable(kind) else kind
    if isinstance(kind, int) and isinstance(index, int):
        return VIRTUAL_DEVICE.make(device_type_int=int(kind), virtual_device_id=index)
    raise ValueError(
        f"a device must be one of {', '.join(DEVICE_TYPES)}, as in 'cuda:1', or a device of TVM; "
        f"found {device!r}"
    )


def _device(value: AnyValue) -> Attrs:
    try:
        return virtual_device(value)
    except ValueError:
        raise TypeError from None


def _devices(values: dict[str, AnyValue]) -> dict[str, AnyValue]:
    """Replaces device names and TVM devices by virtual devices. Raises ValueError for others."""
    is_device = {name: name.endswith("virtual_device") for name in values}
    return {n: virtual_device(v) if is_device[n] else v for n, v in values.items()}


def _identity(op: str, python_name: str, attrs: AttrsType, parameters: str, doc: str) -> Op:
    return define_op(
        op,
        "body" if op == "on_device" else "data",
        identity,
        reference=lambda attrs, x: x,
        attrs=attrs,
        flops=no_flops,
        relax=lambda R, attrs, x: x,
        pattern=OpPattern.OPAQUE,
        non_computational=op == "on_device",
        layout=layout_rules.elementwise,
        python_name=python_name,
        parameters=parameters,
        normalize=_devices,
        doc=doc,
    )


ON_DEVICE = _identity(
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

on_device = builder(ON_DEVICE)
