"""`tvm.nd`: arrays on the CPU. Devices are apache-tvm's; everything runs on the first CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from byoc_lab.relay import ndarray
from byoc_lab.run.tvm_runtime import import_tvm


class NDArray(ndarray.NDArray):
    """An array that a script may fill: `x.copyfrom(numpy_array)`, `x[...] = value`."""

    __slots__ = ()

    @property
    def device(self) -> Any:
        return cpu()

    ctx = device

    @property
    def ndim(self) -> int:
        return self._array.ndim

    def __getitem__(self, index: Any) -> NDArray:
        return NDArray(self._array[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        changed = self._array.copy()
        changed[index] = np.asarray(value)
        self.copyfrom(changed)

    def __len__(self) -> int:
        return len(self._array)

    def copyfrom(self, source: Any) -> NDArray:
        """Take the values of an array of the same shape. Raises ValueError for another shape."""
        values = np.array(source, dtype=self.dtype)
        if values.shape != self.shape:
            raise ValueError(f"an array of shape {self.shape} cannot hold one of {values.shape}")
        values.flags.writeable = False
        self._array = values
        return self

    def copyto(self, target: Any, mem_scope: Any = None) -> NDArray:
        """A copy in `target`: an array, or a device (a new array then)."""
        return target.copyfrom(self) if isinstance(target, NDArray) else NDArray(self._array)

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.copy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def array(arr: Any, device: Any = None, ctx: Any = None, mem_scope: Any = None) -> NDArray:
    """An `NDArray` of anything NumPy understands."""
    return NDArray(arr.numpy() if hasattr(arr, "numpy") else np.array(arr))


def empty(
    shape: Sequence[int] | int, dtype: str = "float32", device: Any = None, mem_scope: Any = None
) -> NDArray:
    """An array of `shape` to be filled; zeros."""
    return NDArray(np.zeros(shape, dtype))


def cpu(dev_id: int = 0) -> Any:
    """The device on which everything runs."""
    return import_tvm().cpu(dev_id)


def device(dev_type: Any, dev_id: int = 0) -> Any:
    """A device by name, as apache-tvm has them."""
    return import_tvm().device(dev_type, dev_id)


__all__ = ["NDArray", "array", "cpu", "device", "empty"]
