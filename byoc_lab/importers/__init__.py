"""Importers: from a file to a Relay module and its parameters.

    mod, params = byoc_lab.importers.load("network.onnx")  # or .pt2, .relay, .txt
    byoc_lab.importers.register(".net", load_net, "my format")

`onnx` and `pytorch` have functions with more arguments, `from_onnx` and `from_pytorch`. Every
module of this folder is imported by discovery, so a new importer is a new file.
"""

from __future__ import annotations

import importlib
import pkgutil

from byoc_lab.importers.registry import Importer, importers, load, register

for _info in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_info.name}")

__all__ = ["Importer", "importers", "load", "register"]
