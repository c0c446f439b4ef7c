"""Quantizes the networks of `contenders.py` to 8 bits by ONNX Runtime's own tool."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process


class Samples(quantization.CalibrationDataReader):
    """The samples, one after the other, as inputs of a model with the input `name`."""

    def __init__(self, name: str, samples: Sequence[np.ndarray]):
        self.rest = iter([{name: sample} for sample in samples])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.rest, None)


def quantize(model: bytes, samples: Sequence[np.ndarray]) -> bytes:
    """A model with integer operators (QLinearConv, ...): activations are uint8, weights int8 with
    a scale for each channel. Softmax remains in float32, so that the scores have more than a few
    values."""
    logging.disable(
        logging.WARNING
    )  # hides warnings on parameters of batch norms, which remain float32
    with tempfile.TemporaryDirectory() as folder:
        given, prepared, made = (Path(folder, f"{n}.onnx") for n in ("given", "prepared", "made"))
        given.write_bytes(model)
        quant_pre_process(given, prepared, skip_symbolic_shape=True)
        kinds = {node.op_type for node in onnx.load(prepared).graph.node} - {"Softmax"}
        quantization.quantize_static(
            prepared,
            made,
            Samples(onnx.load_from_string(model).graph.input[0].name, samples),
            quant_format=quantization.QuantFormat.QOperator,
            op_types_to_quantize=sorted(kinds),
            per_channel=True,
            activation_type=quantization.QuantType.QUInt8,
        )
        return made.read_bytes()
