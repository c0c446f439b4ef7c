"""`tvm.nd`: arrays on the CPU. Devices are apache-tvm's; everything runs on the first CPU."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.run.tvm_runtime import import_tvm

_CPU_KINDS = ("cpu", "llvm", "c", "stackvm", 1)


class HostArray(NDArray):
    """An array that a script may write to: `x.copyfrom(numpy_array)`, `x[...] = value`."""

    __slots__ = ()

    @property
    def device(self) -> Any:
        return cpu()

    ctx = device

    def __getitem__(self, index: Any) -> HostArray:
        return HostArray(self._array[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        changed = self._array.copy()
        changed[index] = np.asarray(value)
        self.copyfrom(changed)

    def copyfrom(self, source: Any) -> HostArray:
        """Copy the values of an array of the same shape. Raises ValueError for a different
        shape."""
        values = np.array(source, dtype=self.dtype)
        if values.shape != self.shape:
            raise ValueError(
                f"cannot copy an array of shape {values.shape} to one of shape {self.shape}"
            )
        values.flags.writeable = False
        self._array = values
        return self

    def copyto(self, target: Any, mem_scope: Any = None) -> HostArray:
        """Copies to `target`: an array, or a device (creates a new array)."""
        return target.copyfrom(self) if isinstance(target, HostArray) else HostArray(self._array)

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.copy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def array(arr: Any, device: Any = None, ctx: Any = None, mem_scope: Any = None) -> HostArray:
    """A `HostArray` of any value that NumPy can convert to an array."""
    if isinstance(arr, NDArray):
        return HostArray(arr.view())
    return HostArray(arr.numpy() if hasattr(arr, "numpy") else np.array(arr))


def empty(
    shape: Sequence[int] | int, dtype: str = "float32", device: Any = None, mem_scope: Any = None
) -> HostArray:
    """An array of `shape` to be filled by the script; initially zeros."""
    return HostArray(np.zeros(shape, dtype))


def cpu(dev_id: int = 0) -> Any:
    """The device on which everything runs."""
    return _device_class()("cpu", dev_id)


def device(dev_type: Any, dev_id: int = 0) -> Any:
    """A device, given by its kind or target ("cpu", "llvm -mcpu=core-avx2") or number; a device
    other than a CPU comes from apache-tvm."""
    kind = dev_type if isinstance(dev_type, int) else kind_name(dev_type)
    return cpu(dev_id) if kind in _CPU_KINDS else import_tvm().device(kind, dev_id)


context = device


def kind_name(target: Any) -> str:
    """The kind, such as "llvm", of a target in any form: an object, options or text."""
    if isinstance(target, str):
        text = target.strip()
        target = json.loads(text) if text.startswith("{") else {"kind": text.partition(" ")[0]}
    if isinstance(target, Mapping):
        return str(target.get("kind"))
    return str(getattr(getattr(target, "kind", None), "name", None))


@cache
def _device_class() -> type:
    base: Any = type(import_tvm().cpu())

    class Device(base):
        """A device with the printed form and attribute names of TVM's Relay versions."""

        @property
        def device_type(self) -> int:
            return self.dlpack_device_type()

        @property
        def device_id(self) -> int:
            return self.index

        def __repr__(self) -> str:
            return f"{self.type}({self.index})"

        __str__ = __repr__

    return Device


__all__ = ["HostArray", "NDArray", "array", "context", "cpu", "device", "empty", "kind_name"]
