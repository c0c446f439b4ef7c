"""Values of calls whose arguments or results have no elements: TVM miscompiles most of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byoc_lab.errors import BuildError, EvaluationError
from byoc_lab.relay.analysis.costs import tensor_types
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op
from byoc_lab.relay.op.framework.evaluate import evaluate_op, filled, has_no_elements


def value_without_data(call: Call, op: Op, known: Mapping[Expr, Any]) -> Any:
    """The value of a typed call of an operator if no input can change it, because the result or
    each argument that is not a constant has no elements: an array or a tuple. Otherwise None.

    known: such values of earlier calls.
    Raises BuildError if an argument has no elements and the operator has no value for any input,
    for example a maximum of no elements: compiled code would return what the memory held.
    """
    if has_no_elements(call.checked_type):
        return filled(call.checked_type, 0)
    if op.definition.reference is None:
        return None
    fixed = [_fixed(a, known) for a in call.args]
    types = [ty for a in call.args for ty in tensor_types(a.checked_type)]
    empty, complete = any(map(has_no_elements, types)), all(v is not None for v in fixed)
    if not (empty or (complete and any(a in known for a in call.args))):
        return None
    if not all(ty.is_static for ty in types):
        return None
    args = [
        filled(a.checked_type, 0) if value is None else value
        for a, value in zip(call.args, fixed, strict=True)
    ]
    try:
        value = evaluate_op(op, call.attrs, args)
    except EvaluationError as error:
        place = f"{call.span}: " if call.span else ""
        raise BuildError(f"{place}{error}") from error
    return value if complete else None


def _fixed(arg: Expr, known: Mapping[Expr, Any]) -> Any:
    """The value of an argument that no input can change, or None."""
    if isinstance(arg, Constant):
        return arg.numpy()
    if has_no_elements(arg.checked_type):
        return filled(arg.checked_type, 0)
    return known.get(arg)
