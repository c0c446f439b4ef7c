"""Importers under TVM's names: `relay.frontend.from_onnx` and its like.

A facade of `byoc_lab.importers`, which is imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from byoc_lab.importers.onnx import from_onnx
    from byoc_lab.importers.pytorch import from_pytorch
    from byoc_lab.importers.relax import from_relax

__all__ = ["from_onnx", "from_pytorch", "from_relax"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'byoc_lab.relay.frontend' has no attribute {name!r}")
    return getattr(import_module(f"byoc_lab.importers.{name.removeprefix('from_')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
