"""Reasons why two correct machines may compute an element differently, in words for a report.

SPECIAL_VALUES lists, by kind of arithmetic, the special values that machines compute differently;
`undecided.py` handles overflow and rounding steps. The faults of oneDNN 3.2 with nan, infinities
and denormal numbers were measured at SSE41, AVX, AVX2 and AVX512_CORE, in the kernels listed in
`functions.py`. Other oneDNN functions treat these numbers as IEEE 754 specifies.
`tests/lab/checking/bounds/test_causes.py` tests every operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from byoc_lab.lab.checking.bounds.error import Error, full
from byoc_lab.lab.checking.bounds.step import Array, Step, flat
from byoc_lab.relay.op.framework.arithmetic import Arithmetic
from byoc_lab.relay.op.framework.registry import OpPattern

Causes = frozenset[str]
NONE: Causes = frozenset()

OVERFLOW = "overflow of a value or of a partial sum"
UNDEFINED = "an integer converted from nan, or from a number beyond its range"
FAULT = "a fault of oneDNN"


@dataclass(frozen=True)
class SpecialValue:
    """A special value that a machine computes differently from IEEE 754. words: the description,
    with {op} in place of the operator. special: returns a mask of the affected values of the
    result, or of the first argument if `of_argument`."""

    words: str
    special: Callable[[Array], Array]
    of_argument: bool = False

    def cause(self, op: str) -> str:
        return self.words.format(op=op)

    def elements(self, step: Step, value: Array) -> Array:
        """A mask of the affected elements of a result."""
        return np.asarray(self.special(step.args[0] if self.of_argument else value))


def _is_least(value: Array) -> Array:
    return np.asarray(np.isnan(value) | np.isneginf(value))


_ROW = SpecialValue(
    f"{{op}} of a row with nan or inf gives finite numbers on DNNL, {FAULT}", np.isnan
)
_SELECTED = SpecialValue("{op} of nan and numbers may return a number", np.isnan)
SPECIAL_VALUES: dict[Arithmetic, tuple[SpecialValue, ...]] = {
    Arithmetic.RELU: (SpecialValue("{op}(nan) is 0 on DNNL and in code of LLVM", np.isnan),),
    Arithmetic.CLIP: (
        SpecialValue(
            "{op}(nan) is the lower bound on DNNL, the upper bound in code of LLVM", np.isnan
        ),
        SpecialValue("{op} to an infinite bound gives 3.4e38 instead of inf on DNNL", np.isinf),
    ),
    Arithmetic.SIGN: (SpecialValue("{op}(nan) is 0 in code of LLVM", np.isnan),),
    Arithmetic.SOFTMAX: (_ROW,),
    Arithmetic.LOG_SOFTMAX: (_ROW,),
    Arithmetic.LARGER: (_SELECTED,),
    Arithmetic.EXTREME: (_SELECTED,),
    Arithmetic.ORDER: (SpecialValue("{op} compares nan, which has no order", np.isnan),),
    # oneDNN starts a maximum with the lowest finite number, and treats nan as lower than every
    # number.
    Arithmetic.MAX_POOL: (
        SpecialValue(
            f"{{op}} may pass over nan on DNNL and in code of LLVM, and returns -3.4e38 for nan "
            f"or -inf alone on DNNL, {FAULT}",
            _is_least,
        ),
    ),
    Arithmetic.EXP: (SpecialValue(f"{{op}}(nan) is inf on DNNL, {FAULT}", np.isnan),),
    Arithmetic.SIGMOID: (
        SpecialValue(f"{{op}}(nan) is 0 in scalar code of DNNL, {FAULT}", np.isnan),
    ),
    Arithmetic.ERF: (
        SpecialValue(
            f"gelu(inf), which contains {{op}}, is nan on DNNL with AVX-512, {FAULT}",
            np.isinf,
            True,
        ),
    ),
}


def of_denormals(step: Step) -> str:
    if step.arithmetic is Arithmetic.LOG:
        return "log of denormal numbers, which DNNL flushes: its log(1e-40) is -88.0"
    return f"{step.op.name} of denormal numbers, which machines may flush to zero"


def inherited_causes(
    step: Step, value: Array, inherited: Error, errors: Sequence[Error], causes: Sequence[Causes]
) -> Causes:
    """The causes of unbounded result elements whose errors come from the arguments.

    inherited: the unbounded elements. errors, causes: per argument, flat.
    """
    free = np.isinf(full(inherited.jump, value))
    if not np.any(free):
        return NONE
    arguments = flat(tuple(step.args))
    passed = [np.isinf(full(e.jump, a)) for a, e in zip(arguments, errors, strict=True)]
    found = NONE.union(*(c for c, mask in zip(causes, passed, strict=True) if np.any(mask)))
    by_element = step.op.definition.pattern in (OpPattern.ELEMWISE, OpPattern.BROADCAST)
    if by_element and all(_broadcasts(mask, free) for mask in passed):
        for mask in passed:
            free = free & ~mask if np.any(mask) else free
    elif found:
        return found
    if not np.any(free):
        return found
    if any(_nearly_denormal(a, free) for a in arguments):
        return found | {of_denormals(step)}
    return found | {f"{step.op.name} of a number whose error reaches a pole or an overflow"}


def _broadcasts(array: Array, result: Array) -> bool:
    """Whether the elements of the array align with those of the result by broadcasting. The
    argument of expand_dims does not, since its axes move to other positions."""
    last = zip(reversed(array.shape), reversed(result.shape), strict=False)
    return array.ndim <= result.ndim and all(n in (1, m) for n, m in last)


def _nearly_denormal(array: Array, where: Any) -> bool:
    """Whether some elements are so small that a machine may flush them to zero."""
    if array.dtype.kind != "f" or array.shape != where.shape:
        return False
    size = np.abs(array[where])
    return bool(np.any((size > 0) & (size < 2.0**-124)))
