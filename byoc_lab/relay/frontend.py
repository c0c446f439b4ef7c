"""Importers under TVM's names: `relay.frontend.from_onnx`.

A facade of `byoc_lab.importers`, which is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from byoc_lab.importers.onnx import from_onnx

__all__ = ["from_onnx"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'byoc_lab.relay.frontend' has no attribute {name!r}")
    from byoc_lab.importers import onnx

    return getattr(onnx, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
