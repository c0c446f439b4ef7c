"""`NDArray`: the read-only array inside a `Constant`, with the methods of TVM's NDArray."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np

from byoc_lab.errors import ArgumentError, InputError
from byoc_lab.printing import printable


@cache
def name_of(dtype: np.dtype) -> str:
    """The name of a dtype, cached because NumPy builds the string at each access."""
    return dtype.name


def numpy_dtype(dtype: str) -> np.dtype:
    """NumPy's dtype of a name; bfloat16 is from the package ml_dtypes. Raises ArgumentError for a
    dtype that NumPy lacks."""
    if dtype == "bfloat16":
        import ml_dtypes  # NumPy lacks bfloat16

        return np.dtype(ml_dtypes.bfloat16)
    try:
        return np.dtype(dtype)
    except TypeError as error:
        raise ArgumentError(f"NumPy has no arrays of dtype {dtype!r:.100}") from error


def refuse_masked(what: str, value: Any) -> None:
    """Raise InputError for a masked array, because NumPy functions would use its masked
    elements."""
    is_subclass = isinstance(value, np.ndarray) and type(value) is not np.ndarray
    if is_subclass and isinstance(value, np.ma.MaskedArray):  # accessing np.ma would import it
        raise InputError(
            f"{what}: expected an array without a mask, found a masked array of shape "
            f"{value.shape}; give array.filled(value) to replace the masked elements, or "
            f"array.data to use them as they are"
        )


class NDArray:
    """A read-only NumPy array: `.view()`. `.numpy()` is a writable copy, as in TVM."""

    __slots__ = ("_array", "_digest")

    def __init__(self, array: Any):
        refuse_masked("a constant", array)
        data = np.asarray(array)
        if data.flags.writeable:  # the caller may change the array later
            data = data.copy()
            data.flags.writeable = False
        self._array = data
        self._digest: bytes | None = None

    def content(self) -> tuple[str, tuple[int, ...], bytes]:
        """Dtype, shape and a digest of the bits (computed once): equal for equal arrays."""
        if self._digest is None:
            self._digest = blake2b(self._array.tobytes(), digest_size=16).digest()
        return self._array.dtype.str, self._array.shape, self._digest

    def view(self) -> np.ndarray:
        return self._array

    def numpy(self) -> np.ndarray:
        return self._array.copy()

    asnumpy = numpy

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def dtype(self) -> str:
        return name_of(self._array.dtype)

    @property
    def ndim(self) -> int:
        return self._array.ndim

    def same_as(self, other: object) -> bool:
        return self is other

    def __len__(self) -> int:
        return len(self._array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self._array if dtype is None else self._array.astype(dtype)
        return array.copy() if copy else array

    @printable
    def __str__(self) -> str:
        return str(self._array)

    def __repr__(self) -> str:
        return f"NDArray({self._array!r})"


def array(value: Any) -> NDArray:
    """An `NDArray` of anything NumPy can convert (tvm.nd.array)."""
    refuse_masked("a constant", value)
    return value if isinstance(value, NDArray) else NDArray(np.array(value))


def shown_array(array: np.ndarray, most: int = 3) -> str:
    """An array for messages: a scalar as its number, others with their first `most` elements."""
    if array.ndim == 0:
        return str(array)
    first = ", ".join(map(str, array.ravel()[:most]))
    shape = ", ".join(map(str, array.shape))
    return f"({shape})[{first}{', ...' if array.size > most else ''}]"
