"""The importer of ONNX models: `from_onnx`, and files that end in .onnx.

    mod, params = byoc_lab.importers.onnx.from_onnx("network.onnx")

The `onnx` package (pip install onnx) reads the files; it is imported on first use. Each module of
`operators/` defines converters of related operators and is imported by discovery.
"""

from byoc_lab.importers.onnx.convert import from_onnx, guess_onnx, load_onnx
from byoc_lab.importers.registry import register

__all__ = ["from_onnx"]

register(".onnx", load_onnx, "ONNX", with_shapes=True, guess=guess_onnx)
