"""Rules for operators on quantized tensors, for FakeQuantizationToInteger.

Source: python/tvm/relay/transform/fake_quantization_to_integer.py of TVM 0.16.
"""

from __future__ import annotations

from enum import Enum


class FakeQuantized(Enum):
    """The operator's replacement on integers. optional: used only if the pass names it.

    The result is quantized like the first operand, unless the entry states something else.
    """

    def __init__(self, doc: str, optional: bool = False) -> None:
        self.doc, self.optional = doc, optional

    DEQUANTIZE = "nothing: its operand is already quantized"
    QUANTIZE = "a requantize, if result and operand are quantized differently"
    SAME = "the operator itself"
    TOPK = "the operator itself, if it returns only values"
    SPLIT = "the operator itself; its results are quantized like its operand"
    CLIP = "the operator with quantized limits"
    RELU = "the larger of the integers and the zero point"
    PAD = "the operator with a quantized pad value"
    BIAS = "the operator with a quantized bias"
    MEAN = "the operator in int32"
    POOL = "the qnn operator; at the end of a region, quantized as the region's result"
    WIDE_POOL = "the operator in int32, quantized as the region's result"
    CONVOLUTION = "the qnn operator, with a result in int32 and a scale for each channel"
    DENSE = "the qnn operator, with a result in int32 and a scale for each unit"
    BATCH_MATMUL = "the qnn operator, with a result in int32"
    JOIN = "the qnn operator, quantized as the region's result"
    ARITHMETIC = "the qnn operator of two tensors, quantized as the region's result"
    EXTREME = "the operator itself on requantized operands, quantized as the region's result"
    FUNCTION = "the qnn operator of one tensor, quantized as the region's result"
    LEAKY_RELU = "the qnn operator of one tensor with a slope, quantized as the region's result"
    SOFTMAX = "the qnn operator of one tensor along an axis, quantized as the region's result", True
