"""A whole Relax function in Relay, for its NumPy reference and for code generators of `register`.

What a call computes is all that counts here; DNNL need not support it.
"""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import BuildError, ImporterError
from byoc_lab.importers.relax.operators.networks import dense
from byoc_lab.importers.relax.table import converter
from byoc_lab.relax.calls import CODEGEN
from byoc_lab.relax.operators import relax_call, translated
from byoc_lab.relax.registration import TARGET
from byoc_lab.relax.to_relay import to_relay
from byoc_lab.relay.ir.expr import Expr, Function, Tuple, TupleGetItem
from byoc_lab.relay.op.framework.from_relax import RelaxCall


def reference_function(function: Any) -> Function:
    """A typed Relay function that computes the same. Raises BuildError, naming the operator that
    has no counterpart."""
    return to_relay(function.with_attr("global_symbol", "main"), any_counterpart)[0]


def region_in_relay(function: Any, *, composites: bool = False) -> Function:
    """The function of a region as its code generator gets it, in Relay.

    composites: as for `to_relay`. Raises BuildError, naming the operator that has no counterpart.
    """
    compiler = str(function.attrs[CODEGEN])
    own = compiler == TARGET  # DNNL's forms of some operators are others
    translate = translated if own else any_counterpart
    made, symbol = to_relay(function, translate, composites=composites)
    return made.with_attr("Compiler", compiler).with_attr("global_symbol", symbol)


def region_if_any(function: Any) -> Function | None:
    """The same; None where an operator has no counterpart."""
    try:
        return region_in_relay(function)
    except BuildError:
        return None


def any_counterpart(call: Any, operands: list[Any]) -> Expr:
    """A call of an operator in Relay as `from_relax` reads it; a product with a matrix as nn.dense.

    Raises BuildError, naming the operator that has no counterpart.
    """
    read = converter(str(call.op.name).removeprefix("relax."))
    if read is None:
        raise BuildError(f"byoc_lab has no counterpart of {call.op.name} in Relay")
    described = relax_call(call)
    if described.name == "matmul" and _is_dense(described):
        return dense(described, *operands)
    try:
        made = read(described, *map(_for_converter, operands))
    except ImporterError as error:
        raise BuildError(str(error)) from None
    return _whole(made) if isinstance(made, list) else made


def _whole(fields: list[Expr]) -> Expr:
    """A tuple of values; for all items of one call, that call."""
    items = [field for field in fields if isinstance(field, TupleGetItem)]
    calls = {item.tuple_value for item in items}
    return calls.pop() if len(items) == len(fields) and len(calls) == 1 else Tuple(fields)


def _for_converter(operand: Any) -> Any:
    """An operand as converters get it: tuples and shapes as lists."""
    fields = operand.fields if isinstance(operand, Tuple) else getattr(operand, "values", operand)
    return fields if fields is operand else list(fields)


def _is_dense(call: RelaxCall) -> bool:
    left, right = call.shapes
    return left is not None and right is not None and len(left) > 1 and len(right) == 2
