"""The kinds of arithmetic: how an operator computes its elements.

Numerical checks derive from the kind the rounding error of a result, the propagation of errors of
the arguments, and the branches of the operator that inputs exercise.
"""

from __future__ import annotations

from enum import Enum

from byoc_lab.relay.op.framework import branches
from byoc_lab.relay.op.framework.branches import Branches


class Arithmetic(Enum):
    """exact: floats in the result are never rounded. branches: the branches that most operators of
    the kind have."""

    def __init__(self, doc: str, exact: bool = False, branches: Branches | None = None) -> None:
        self.doc, self.exact, self.branches = doc, exact, branches

    @property
    def moves(self) -> bool:
        """Whether the result has elements of the arguments, and nothing is computed."""
        return self in (Arithmetic.COPY, Arithmetic.INDEXED)

    COPY = "the elements of the arguments, rearranged", True
    INDEXED = "the elements of the first argument; the others are positions or sizes", True
    RESAMPLED = "weighted means of near elements of the first argument"
    EXACT = "elements of the arguments or integers, by any rule", True
    ORDER = "elements in the order of their values", True
    EXTREME = "the largest or smallest of several elements", True
    MAX_POOL = "the largest element of each window, in kernels of back ends as well", True
    LARGER = "the larger or smaller of two elements", True, branches.by_operand
    CHOICE = "elements of one argument or another", True, branches.by_condition
    COMPARISON = "truth values", True, branches.by_truth
    ABS = "magnitudes", True, branches.by_sign
    SIGN = "signs", True, branches.by_sign
    RELU = "positive elements, else 0", True, branches.by_sign
    LEAKY_RELU = "positive elements, and negative ones times a slope", False, branches.by_sign
    CLIP = "elements between two limits", False, branches.by_limits
    FLOOR = "elements rounded to integers in a direction", True
    ROUND = "elements rounded to the nearest integers", True
    STEPS = "functions of quotients that are rounded to integers"
    CAST = "elements in another dtype"
    EXP = "exponentials"
    LOG = "natural logarithms"
    TANH = "hyperbolic tangents", False, branches.by_flatness
    SIGMOID = "1 / (1 + exp(-x))", False, branches.by_flatness
    ERF = "the error function"
    SQRT = "square roots"
    RSQRT = "1 / square roots"
    FUNCTION = "another function of each element"
    ADDITION = "sums of two elements, or their differences"
    PRODUCT = "products of two elements"
    QUOTIENT = "quotients of two elements"
    SUM = "sums of elements"
    MEAN = "means of elements"
    SQUARES = "elements divided by a function of their squares"
    VARIANCE = "mean squares of differences from the mean"
    BATCH_NORM = "elements scaled and shifted by vectors"
    NORMALIZATION = "elements scaled and shifted by the mean and the variance of their group"
    SOFTMAX = "exponentials divided by their sum", False, branches.by_difference
    LOG_SOFTMAX = "logarithms of a softmax"
    ARGMAX = "positions of largest elements", True
    ARGMIN = "positions of smallest elements", True
    CONVOLUTION = "sums of products of data and a kernel in windows"
    MATRIX_PRODUCT = "sums of products of rows and columns"
    INTEGER_PRODUCT = "sums of products of integers less their zero points"
    QUANTIZED = "floats divided by a scale and rounded to integers", False, branches.by_saturation
    REQUANTIZED = "integers in another scale", False, branches.by_saturation
    DEQUANTIZED = "integers less their zero point, times a scale"
    OTHER = "anything else"
