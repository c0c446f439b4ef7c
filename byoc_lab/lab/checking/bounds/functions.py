"""Errors of the functions that kernels approximate: one table of measurements, and the bounds.

Each instruction set has its own code for exp, log, tanh, sigmoid and erf, and the errors differ.
The table has the largest error over all instruction sets, so a bound does not depend on the
machine. Measured against float64, in units of u = 2 ** -24: 600 random mantissas of every exponent
and of both signs, 10**6 numbers over the ranges in which each function varies, and for log all
mantissas; each function as a separate kernel, and after a convolution (blocked, depthwise, with one
channel), a dense layer, a matmul, a sum and a pooling; these kernels contain scalar code, too.
Levels: SSE41, AVX and AVX2 (`ONEDNN_MAX_CPU_ISA`), AVX512_CORE on a different machine, and the code
that LLVM generates for the host. `tests/lab/checking/bounds/test_functions.py` repeats a part of
it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from byoc_lab.lab.checking.bounds.error import REACH
from byoc_lab.lab.checking.bounds.step import UNIT_ROUNDOFF, Array, Step, hypot, rounding_deviation
from byoc_lab.relay.op.framework.arithmetic import Arithmetic


@dataclass(frozen=True)
class Measured:
    """The errors of one function, in units of u; relative errors are multiplied by |result|.

    relative + absolute: the largest error. relative_rms + absolute_rms: the root mean square of the
    errors, in the part of the range with the largest root mean square.
    """

    relative: float
    relative_rms: float
    absolute: float = 0.0
    absolute_rms: float = 0.0

    def largest(self, value: Any) -> Any:
        return self.relative * np.abs(value) + self.absolute

    def deviation(self, value: Any) -> Any:
        """The standard deviation for results of the size of `value`.

        It is at least the root mean square, so that it also holds for sums of results. REACH times
        it is at least the largest error plus a margin.
        """
        rms = self.relative_rms * np.abs(value) + self.absolute_rms
        return np.maximum(rms, MARGIN / REACH * self.largest(value))


MARGIN = 1.5  # margin for untested mantissas and the code of other compilers
# Comments: the instruction sets with the largest error, then smaller errors of other sets.
MEASURED = {
    Arithmetic.EXP: Measured(3.0, 1.27),  # SSE41, AVX; AVX2: 2.84; without `exponent_error`
    Arithmetic.SIGMOID: Measured(4.7, 1.37),  # AVX2; SSE41: 4.45; without `exponent_error`
    Arithmetic.ERF: Measured(0, 0, 12.2, 2.44),  # in gelu: AVX512_CORE; SSE41: 9.1, AVX2: 8.6
    Arithmetic.TANH: Measured(2.25, 0.7, 0.5, 0.2),  # the host, if terms cancel; oneDNN: 1.2
    Arithmetic.RSQRT: Measured(1.5, 0.6),  # the host
    Arithmetic.SQRT: Measured(1.0, 0.43),  # one rounding, on all instruction sets and on the host
}
# The absolute error of log. oneDNN looks up the logarithm of a part of the mantissa in a table; the
# error is largest just after a table step. Neighbours have the same error.
LOG = 115.0  # SSE41, AVX (near 2 ** -7); AVX2, AVX512_CORE: 58; without three roundings
LOG_NEAR_1 = 25.5  # SSE41, AVX; AVX2: 24.1
NEAR_1 = (0.9, 1.03)
EXACT_MULTIPLES = 7.0  # from this |x| on, float32 cannot hold every n * log(2)
LOG_2 = 0.05  # relative error of exp per unit of |x|, because kernels store log(2) in float32


def exponent_error(x: Array) -> Array:
    """The relative error of exp(x) from n * log(2), which kernels subtract from x, in units of u.

    Without FMA, as on SSE41 and AVX, the product is rounded: by half a unit in its last place. All
    numbers with the same n have the same error, so it does not average out.
    """
    size = np.abs(x)
    return np.where(size < EXACT_MULTIPLES, 0.0, half_ulp(size + 0.35) + LOG_2 * size)


def half_ulp(size: Array) -> Array:
    """Half a unit in the last place of float32 numbers of this size, in units of u."""
    return np.asarray(np.exp2(np.floor(np.log2(size))))


def log_error(x: Array) -> Array:
    low, high = NEAR_1
    return MARGIN * np.where((x >= low) & (x <= high), LOG_NEAR_1, LOG)


def function_rounding(step: Step) -> Any:
    """The standard deviation of the error of a function of MEASURED, in units of u / sqrt(3)."""
    deviation = MEASURED[step.arithmetic].deviation(step.value)
    if step.arithmetic is Arithmetic.TANH:  # the host computes tanh of 16-bit floats in 16 bits
        return sqrt(3) * deviation
    return in_units(step, deviation)


def in_units(step: Step, deviation: Any) -> Any:
    """A standard deviation converted to the unit of `rounding`: float32's u.

    16-bit floats are computed in float32, then rounded; float64 has a smaller u.
    """
    unit = UNIT_ROUNDOFF[step.dtype]
    sigma = min(unit, UNIT_ROUNDOFF["float32"]) * deviation
    if unit > UNIT_ROUNDOFF["float32"]:
        sigma = hypot(sigma, rounding_deviation(step.dtype) * np.abs(step.value))
    return sigma / rounding_deviation(step.dtype)


def log_rounding(step: Step) -> Any:
    """Roundings of log(mantissa) + exponent * log(2), without the part in `common_error`."""
    return in_units(step, np.abs(step.value) / sqrt(3))


def softmax_rounding(step: Step) -> Array:
    """The rounding error of softmax, because exp magnifies the rounding of x - max(x)."""
    (x,) = step.args
    axis = step.attrs.axis
    depth = x.max(axis=axis, keepdims=True) - x
    own = sqrt(3) * MEASURED[Arithmetic.EXP].relative_rms + sqrt(x.shape[axis])
    rounded = np.where(depth < EXACT_MULTIPLES, depth, 0.0)  # larger sizes: see `_softmax`
    return np.where(step.value == 0, 0.0, np.abs(step.value) * (rounded + own))


def log_softmax_rounding(step: Step) -> Array:
    """x - max(x) - log(sum of exp(x - max(x))). The log turns the relative error of the sum into an
    absolute error."""
    (x,) = step.args
    axis = step.attrs.axis
    total = np.abs(step.value) + np.abs(x - x.max(axis=axis, keepdims=True))
    found = total + sqrt(3) * MEASURED[Arithmetic.EXP].relative_rms + sqrt(x.shape[axis])
    return np.where(np.isfinite(step.value), found, 0.0)


def common_error(step: Step) -> Any:
    """The error with one common cause in many elements, which does not average out: a jump (see
    `propagation.py`)."""
    rule = COMMON.get(step.arithmetic)
    if rule is None or step.dtype not in UNIT_ROUNDOFF:
        return 0.0
    unit = min(UNIT_ROUNDOFF[step.dtype], UNIT_ROUNDOFF["float32"])
    found = unit * rule(step)
    return np.where(np.isfinite(found) & np.isfinite(step.value), found, 0.0)


def _exp(step: Step) -> Array:
    return np.asarray(np.abs(step.value) * exponent_error(step.args[0]))


def _sigmoid(step: Step) -> Array:
    return np.asarray(np.abs(step.value * (1 - step.value)) * exponent_error(step.args[0]))


def _log(step: Step) -> Array:
    return log_error(step.args[0])


def _softmax(step: Step) -> Array:
    """The rounding error of softmax, including the error of x - max(x) if that dominates."""
    (x,) = step.args
    depth = x.max(axis=step.attrs.axis, keepdims=True) - x
    return np.where(step.value == 0, 0.0, 2 * np.abs(step.value) * exponent_error(depth))


def _log_softmax(step: Step) -> Array:
    (x,) = step.args
    total = np.exp(x - x.max(axis=step.attrs.axis, keepdims=True) - step.value)
    return log_error(total)


ROUNDING: dict[Arithmetic, Callable[[Step], Any]] = {
    **dict.fromkeys(MEASURED, function_rounding),
    Arithmetic.LOG: log_rounding,
    Arithmetic.SOFTMAX: softmax_rounding,
    Arithmetic.LOG_SOFTMAX: log_softmax_rounding,
}
COMMON = {
    Arithmetic.EXP: _exp,
    Arithmetic.SIGMOID: _sigmoid,
    Arithmetic.LOG: _log,
    Arithmetic.SOFTMAX: _softmax,
    Arithmetic.LOG_SOFTMAX: _log_softmax,
}
