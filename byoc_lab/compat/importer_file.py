"""Loads one of TVM's importers from a file of the user; byoc_lab does not contain the file."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any

from byoc_lab.compat.overlay import install
from byoc_lab.errors import UnreadableFileError

PACKAGE = "tvm.relay.frontend"


def _exists(name: str) -> bool:
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _supply_onnx_mapping() -> None:
    """Provide the module onnx.mapping, which importers of ONNX models use and onnx 1.18 removed."""
    if _exists("onnx.mapping") or not _exists("onnx"):
        return
    from onnx import TensorProto, helper

    mapping: Any = ModuleType("onnx.mapping")
    types = [n for n in TensorProto.DataType.values() if n != TensorProto.UNDEFINED]
    mapping.TENSOR_TYPE_TO_NP_TYPE = {n: helper.tensor_dtype_to_np_dtype(n) for n in types}
    sys.modules["onnx.mapping"] = mapping


def load_importer(path: str | PathLike[str]) -> ModuleType:
    """The module in a file such as TVM's python/tvm/relay/frontend/onnx.py.

        users = byoc_lab.compat.load_importer("old_tvm/python/tvm/relay/frontend/onnx.py")
        mod, params = users.from_onnx(model)

    byoc_lab.compat is installed and resolves the file's absolute and relative imports from TVM; the
    module `onnx.mapping` is provided.
    Raises UnreadableFileError, UnsupportedNameError for a name of TVM that byoc_lab lacks, and any
    error that the file itself raises.
    """
    path = Path(path)
    if not path.is_file():
        raise UnreadableFileError(f"cannot read {str(path)!r}: no such file; check the path")
    install()
    _supply_onnx_mapping()
    spec = importlib.util.spec_from_file_location(f"_importer_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__package__ = PACKAGE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (ImportWarning, DeprecationWarning))  # __package__
        spec.loader.exec_module(module)
    return module
