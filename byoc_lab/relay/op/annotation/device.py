"""Device of a value: the attribute type VirtualDevice of variables and functions.

Source: include/tvm/target/virtual_device.h of TVM 0.16.
"""

from __future__ import annotations

from typing import Any as AnyValue

from byoc_lab.relay.ir.attrs import Attr, Attrs, AttrsType, integer, string

DEVICE_TYPES = {"cpu": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "rocm": 10}


def target(value: AnyValue) -> AnyValue:
    """A TVM target, unchanged, or None."""
    if value is not None and not hasattr(value, "kind"):
        raise TypeError
    return value


def scope(value: AnyValue) -> str:
    """A string attribute that TVM, unlike other strings, stores as an object."""
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
        Attr("virtual_device_id", integer, -1, "number of the device among devices of its kind"),
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
