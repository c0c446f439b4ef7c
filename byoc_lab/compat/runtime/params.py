"""Parameters in the binary format of TVM's *.params files.

All numbers are little-endian. A list: magic number, 0, number of names, then each name with its
length, number of arrays, then each array. An array: magic number, 0, type and number of the device,
rank, dtype (code, bits, lanes), shape, size in bytes, data.

Source: `SaveParams`, src/runtime/file_utils.cc, and `SaveDLTensor`, include/tvm/runtime/ndarray.h.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from byoc_lab.compat.runtime.nd import HostArray
from byoc_lab.errors import InputError
from byoc_lab.relay.ir.ndarray import numpy_dtype

_LIST, _ARRAY = 0xF7E58D4F05049CB7, 0xDD5E40F096B4A13F
_CPU = 1
MAX_RANK = 32  # maximum rank of a NumPy array, before NumPy 2
_NOT_PARAMETERS = "the bytes are not parameters in TVM's format"
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}
_CODES = {kind: code for code, kind in _KINDS.items()}
_COUNT, _HEAD, _NAMED = struct.Struct("<Q"), struct.Struct("<QQ"), struct.Struct("<QQiiiBBH")


def save_param_dict(params: Mapping[str, Any]) -> bytearray:
    """Serializes arrays by name to bytes that TVM can also read.

    Raises InputError for a dtype that the format lacks and for a name that is not Unicode.
    """
    out = bytearray(_HEAD.pack(_LIST, 0))
    out += _COUNT.pack(len(params))
    for name in params:
        try:
            encoded = name.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"the name of a parameter is not Unicode: {error}") from error
        out += _COUNT.pack(len(encoded)) + encoded
    out += _COUNT.pack(len(params))
    for name, value in params.items():
        out += _array(name, np.asarray(value.numpy() if hasattr(value, "numpy") else value))
    return out


def _array(name: str, array: np.ndarray) -> bytes:
    dtype = array.dtype.name
    kind = dtype.rstrip("0123456789")
    bits = 1 if kind == "bool" else array.dtype.itemsize * 8
    code = _CODES.get("uint" if kind == "bool" else kind)
    if code is None:
        raise InputError(f"parameter {name!r} must be of integers, floats or bools, found {dtype}")
    head = _NAMED.pack(_ARRAY, 0, _CPU, 0, array.ndim, code, bits, 1)
    shape = struct.pack(f"<{array.ndim}q", *array.shape)
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return head + shape + _COUNT.pack(array.nbytes) + little.tobytes()


class _SavedBytes:
    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        if not 0 <= count <= len(self.data) - self.at:
            raise InputError(
                f"{_NOT_PARAMETERS}: they end at byte {len(self.data)}, but {self.at + count} "
                "bytes are needed"
            )
        self.at += count
        return self.data[self.at - count : self.at]

    def numbers(self, form: struct.Struct) -> tuple[Any, ...]:
        return form.unpack(self.take(form.size))

    def count(self) -> int:
        return int(self.numbers(_COUNT)[0])

    def array(self) -> np.ndarray:
        magic, _, _, _, rank, code, bits, lanes = self.numbers(_NAMED)
        if magic != _ARRAY or code not in _KINDS or lanes != 1:
            raise InputError(f"{_NOT_PARAMETERS}: no array begins at byte {self.at - _NAMED.size}")
        if not 0 <= rank <= MAX_RANK:
            raise InputError(f"{_NOT_PARAMETERS}: an array has {rank} axes, at most {MAX_RANK}")
        shape = struct.unpack(f"<{rank}q", self.take(8 * rank))
        kind = _KINDS[code]
        name = "bool" if kind == "bool" or (kind, bits) == ("uint", 1) else f"{kind}{bits}"
        try:
            dtype = numpy_dtype(name)
        except TypeError as error:
            raise InputError(f"{_NOT_PARAMETERS}: an array has the dtype {name}") from error
        size = self.count()
        if any(length < 0 for length in shape) or prod(shape) * dtype.itemsize != size:
            raise InputError(
                f"{_NOT_PARAMETERS}: an array of shape {shape} and dtype {name} has {size} bytes"
            )
        numbers = np.frombuffer(self.take(size), dtype)
        try:
            return numbers.reshape(shape).copy()
        except ValueError as error:  # no elements, but sizes that overflow
            raise InputError(f"{_NOT_PARAMETERS}: an array of shape {shape}: {error}") from error

    def name(self) -> str:
        at, encoded = self.at, self.take(self.count())
        try:
            return encoded.decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{_NOT_PARAMETERS}: the name at byte {at} is not UTF-8: {error}"
            ) from error


def load_param_dict(param_bytes: bytes | bytearray) -> dict[str, HostArray]:
    """Parameters from the bytes of `save_param_dict`, here or in TVM. Raises InputError for other
    bytes."""
    reader = _SavedBytes(bytes(param_bytes))
    if len(reader.data) < _HEAD.size or reader.numbers(_HEAD)[0] != _LIST:
        raise InputError(f"{_NOT_PARAMETERS}: wrong magic number")
    names = [reader.name() for _ in range(reader.count())]
    if reader.count() != len(names):
        raise InputError(f"{_NOT_PARAMETERS}: names and arrays differ in number")
    if len(set(names)) != len(names):
        raise InputError(f"{_NOT_PARAMETERS}: two arrays have one name")
    loaded = {name: HostArray(reader.array()) for name in names}
    if reader.at != len(reader.data):
        raise InputError(f"{_NOT_PARAMETERS}: bytes follow the last array, at byte {reader.at}")
    return loaded


def save_param_dict_to_file(params: Mapping[str, Any], path: Any) -> None:
    """Write a *.params file."""
    Path(path).write_bytes(save_param_dict(params))


def load_param_dict_from_file(path: Any) -> dict[str, HostArray]:
    """Read a *.params file. Raises InputError for any other file, and OSError."""
    return load_param_dict(Path(path).read_bytes())


__all__ = ["load_param_dict", "load_param_dict_from_file", "save_param_dict",
           "save_param_dict_to_file"]  # fmt: skip
