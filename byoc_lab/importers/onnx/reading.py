"""Reads ONNX files and tensors; every defect of a file is an ImporterError."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from byoc_lab.errors import ImporterError, MissingDependencyError, UnreadableFileError
from byoc_lab.files import ordinary_file

Array = np.ndarray[Any, Any]


class TensorTypeError(ImporterError):
    """An ONNX tensor type that Relay lacks."""


def read_model(model: Any) -> Any:
    """A ModelProto from a path, bytes or a ModelProto, with its external data.

    Raises ImporterError if the data is not an ONNX model, UnreadableFileError if the file cannot be
    opened, MissingDependencyError without the `onnx` package.
    """
    onnx = _onnx()
    if isinstance(model, (str, os.PathLike)):
        return _checked(_read_file(onnx, Path(model)), str(model))
    if isinstance(model, bytes):
        return _checked(_parsed(onnx, model, "the given bytes"), "the given bytes")
    if isinstance(model, onnx.ModelProto):
        return _checked(model, "the given model")
    raise ImporterError(
        f"from_onnx takes a path, the bytes of a file or an onnx.ModelProto, found "
        f"{type(model).__name__}"
    )


def _onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise MissingDependencyError(
            "reading ONNX models needs the package onnx, which is not installed: pip install onnx"
        ) from error
    return onnx


def _read_file(onnx: Any, path: Path) -> Any:
    try:
        data = ordinary_file(path).read_bytes()
    except OSError as error:
        raise UnreadableFileError(
            f"cannot read {str(path)!r}: {error.strerror or error}; check the path"
        ) from error
    model = _parsed(onnx, data, repr(str(path)))
    try:
        onnx.load_external_data_for_model(model, str(path.parent))
    except (OSError, ValueError, RuntimeError, onnx.checker.ValidationError) as error:
        raise ImporterError(
            f"{str(path)!r} keeps tensors in external files, which cannot be read: "
            f"{error!s:.300}; they must be in the folder of the model or below it"
        ) from error
    return model


def _parsed(onnx: Any, data: bytes, where: str) -> Any:
    from google.protobuf.message import DecodeError

    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except (DecodeError, ValueError, RuntimeError) as error:
        raise ImporterError(
            f"{where}: not an ONNX model, or truncated ({len(data)} bytes): {error!s:.200}"
        ) from error
    return model


def _checked(model: Any, where: str) -> Any:
    if model.functions:
        model = _without_functions(model, where)
    if not model.HasField("graph") or not model.graph.output:
        raise ImporterError(
            f"{where}: has no graph with outputs, so it is not an ONNX model, or truncated"
        )
    return model


def _without_functions(model: Any, where: str) -> Any:
    """The model with calls of its local functions inlined."""
    from onnx import checker, inliner

    try:
        return inliner.inline_local_functions(model)
    except (ValueError, RuntimeError, checker.ValidationError) as error:
        raise ImporterError(
            f"{where}: the functions that the model defines cannot be inlined: {error!s:.300}"
        ) from error


def check_text(graph: Any) -> None:
    """Raise ImporterError if a name in a graph is not UTF-8 text, as in a damaged file."""
    values = [*graph.input, *graph.output, *graph.initializer]
    texts = [value.name for value in values]
    for node in graph.node:
        texts += [node.name, node.op_type, node.domain, *node.input, *node.output]
        texts += [attribute.name for attribute in node.attribute]
    for text in texts:
        if not isinstance(text, str):
            raise ImporterError(f"the model is damaged: the name {text!r:.80} is not UTF-8 text")


def array_of(tensor: Any) -> Array:
    """The array of a TensorProto. Raises ImporterError for a malformed one."""
    from onnx import checker, numpy_helper

    if any(n < 0 for n in tensor.dims):
        raise ImporterError(f"tensor {tensor.name!r:.80} has a negative size: {list(tensor.dims)}")
    dtype_of(tensor.data_type)
    try:
        array: Array = numpy_helper.to_array(tensor)
    except (
        ValueError, TypeError, KeyError, OSError, RuntimeError, MemoryError,
        checker.ValidationError,
    ) as error:  # fmt: skip
        raise ImporterError(
            f"tensor {tensor.name!r:.80} of shape {list(tensor.dims)} cannot be read: "
            f"{error!s:.200}"
        ) from error
    return array


def dtype_of(elem_type: int) -> str:
    """The name of an ONNX element type.

    Raises TensorTypeError if Relay lacks the type.
    """
    from onnx import TensorProto

    names = {
        TensorProto.FLOAT: "float32", TensorProto.DOUBLE: "float64", TensorProto.FLOAT16: "float16",
        TensorProto.BFLOAT16: "bfloat16", TensorProto.BOOL: "bool",
        TensorProto.INT8: "int8", TensorProto.INT16: "int16", TensorProto.INT32: "int32",
        TensorProto.INT64: "int64", TensorProto.UINT8: "uint8", TensorProto.UINT16: "uint16",
        TensorProto.UINT32: "uint32", TensorProto.UINT64: "uint64",
    }  # fmt: skip
    if elem_type not in names:
        known = {value: name for name, value in TensorProto.DataType.items()}
        raise TensorTypeError(
            f"tensors of ONNX type {known.get(elem_type, elem_type)} are not supported; supported "
            f"are {', '.join(names.values())}"
        )
    return names[elem_type]
