"""Why two correct machines may compute an element differently, in words for a report.

The rules in `undecided.py` say for which elements. The faults of oneDNN 3.2 with nan, infinities
and denormal numbers were measured at SSE41, AVX and AVX2, in the kernels that `functions.py` names;
its other functions treat these numbers as IEEE 754 says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from byoc_lab.lab.checking.bounds.error import Error, full
from byoc_lab.lab.checking.bounds.step import Array, Step, flat
from byoc_lab.relay.op.framework.arithmetic import Arithmetic
from byoc_lab.relay.op.framework.registry import OpPattern

Causes = frozenset[str]
NONE: Causes = frozenset()

OVERFLOW = "overflow of a value or of a partial sum"
UNDEFINED = "an integer made of nan, or of a number beyond its range"
DROPPED = "relu, clip and maxima may drop nan (DNNL's relu(nan) is 0)"
FAULT = "a fault of oneDNN"
OF_NAN = {
    "exp": f"exp(nan) is inf on DNNL, {FAULT}",
    "sigmoid": f"sigmoid(nan) is 0 in scalar code of DNNL, {FAULT}",
    "nn.softmax": f"nn.softmax of a row with nan or inf has numbers on DNNL, {FAULT}",
    "nn.log_softmax": f"nn.log_softmax of a row with nan or inf has numbers on DNNL, {FAULT}",
}


def of_nan(step: Step) -> str:
    """The cause why the result of an operator on nan may be a number."""
    is_pool = step.arithmetic is Arithmetic.MAX_POOL
    return of_least(step.op.name) if is_pool else OF_NAN.get(step.op.name, DROPPED)


def of_least(op: str) -> str:
    """oneDNN begins a maximum with the least finite number, and compares nan as if it were less."""
    return f"{op} of nan or -inf alone is -3.4e38 on DNNL, {FAULT}"


def of_denormals(op: str) -> str:
    if op == "log":
        return "log of denormal numbers, which DNNL flushes: its log(1e-40) is -88.0"
    return f"{op} of denormal numbers, which machines may flush to zero"


def inherited_causes(
    step: Step, value: Array, inherited: Error, errors: Sequence[Error], causes: Sequence[Causes]
) -> Causes:
    """The causes of the elements of a result that may be anything because of the arguments.

    errors, causes: of the arguments, flat.
    """
    free = np.isinf(full(inherited.jump, value))
    if not np.any(free):
        return NONE
    arguments = flat(tuple(step.args))
    passed = [np.isinf(full(e.jump, a)) for a, e in zip(arguments, errors, strict=True)]
    found = NONE.union(*(c for c, mask in zip(causes, passed, strict=True) if np.any(mask)))
    if step.op.definition.pattern in (OpPattern.ELEMWISE, OpPattern.BROADCAST):
        for mask in passed:
            free = free & ~mask if np.any(mask) else free
    elif found:
        return found
    if not np.any(free):
        return found
    if any(_nearly_denormal(a, free) for a in arguments):
        return found | {of_denormals(step.op.name)}
    return found | {f"{step.op.name} of a number whose error reaches a pole or an overflow"}


def _nearly_denormal(array: Array, where: Any) -> bool:
    """Whether some of the elements are as small as what a machine may flush to zero."""
    if array.dtype.kind != "f" or array.shape != where.shape:
        return False
    size = np.abs(array[where])
    return bool(np.any((size > 0) & (size < 2.0**-124)))
