"""Evaluation of one operator on NumPy arrays, for constant folding and the reference executor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from byoc_lab.errors import EvaluationError
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Op


def evaluate_op(op: Op, attrs: Attrs | None, args: Sequence[Any]) -> Any:
    """The value of `op` with `attrs` on `args` (arrays, or tuples of them): an array or a tuple.

    An operator that is an identity on any type gives the very argument, a function for example.

    Computes in the dtype of the arrays. Domain errors give nan or inf, as in compiled code.
    Raises EvaluationError when the operator has no reference, or does not support these values.
    """
    definition = op.definition
    if definition.reference is None:
        raise EvaluationError(f"{op.name} has no NumPy reference: {definition.why_no('reference')}")
    attrs = definition.attributes(attrs)
    try:
        with np.errstate(all="ignore"):
            value = definition.reference(attrs, *args)
    except (
        ValueError, TypeError, AttributeError, LookupError, ArithmeticError, MemoryError,
    ) as error:  # fmt: skip
        shown = ", ".join(map(_describe, args))
        raise EvaluationError(f"{op.name} cannot be computed on ({shown}): {error}") from error
    # Annotations give their argument, which may be a function or a data value.
    is_argument = any(value is argument for argument in args)
    return value if is_argument or isinstance(value, tuple) else np.asarray(value)


def _describe(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_describe, value))})"
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}{list(value.shape)}"
    return type(value).__name__
