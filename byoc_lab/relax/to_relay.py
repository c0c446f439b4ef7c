"""Translation of a Relax function for DNNL to Relay.

So one table of operators, one set of checks and one code generator serve both languages. Composite
functions are opened: what is fused is decided by the code generator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import BuildError
from byoc_lab.relax import batch
from byoc_lab.relax.operators import translated
from byoc_lab.relax.types import batch_of, name_of, numbers, type_of
from byoc_lab.relay.ir.expr import Expr, Function, Tuple
from byoc_lab.relay.typing.infer import infer_expr
from byoc_lab.run.tvm_runtime import import_tvm


def to_relay(function: Any) -> tuple[Function, str]:
    """A Relax function and its global symbol, in Relay; of a batch of `batch.NOMINAL` where that
    is not known. Raises BuildError for what has no Relay."""
    symbol = str(function.attrs["global_symbol"])
    batch.check_one_batch(size for p in function.params for size in batch_of(p))
    params = [relay.var(name_of(p), type_of(p)) for p in function.params]
    values = dict(zip(function.params, params, strict=True))
    body = _RelaxReader(symbol, values, {}).body(function.body)
    made = infer_expr(Function(params, body))
    assert isinstance(made, Function)
    return made, symbol


class _RelaxReader:
    def __init__(self, symbol: str, values: dict[Any, Any], functions: dict[Any, Any]):
        self.symbol = symbol
        self.values = values
        self.functions = functions  # local functions by the variables they are bound to
        self.relax = import_tvm().relax

    def body(self, body: Any) -> Expr:
        if isinstance(body, self.relax.SeqExpr):
            for block in body.blocks:
                for binding in block.bindings:
                    self._bind(binding)
            return self.value(body.body)
        return self.value(body)

    def _bind(self, binding: Any) -> None:
        value = binding.value
        if isinstance(value, self.relax.Function):
            self.functions[binding.var] = value
        else:
            self.values[binding.var] = self.value(value)

    def value(self, expr: Any) -> Any:
        if expr in self.values:
            return self.values[expr]
        if isinstance(expr, self.relax.Tuple):
            found = numbers(expr)
            return Tuple(list(map(self.value, expr.fields))) if found is None else found
        if isinstance(expr, self.relax.TupleGetItem):
            fields = self.value(expr.tuple_value)
            assert isinstance(fields, Tuple)
            return fields.fields[expr.index]
        constant = _constant(expr)
        if constant is not None:
            self.values[expr] = relay.const(constant)
            return self.values[expr]
        if not hasattr(expr, "op"):
            return expr  # an attribute: a shape, a number
        if expr.op in self.functions:
            inner = self.functions[expr.op]
            given = [self.value(arg) for arg in expr.args]
            inside = dict(zip(inner.params, given, strict=True))
            return _RelaxReader(self.symbol, inside, self.functions).body(inner.body)
        try:
            return translated(expr, [self.value(arg) for arg in expr.args])
        except BuildError as error:
            raise BuildError(f"region @{self.symbol}: {error}") from None


def _constant(expr: Any) -> np.ndarray | None:
    held = getattr(expr, "value", None) if type(expr).__name__ == "GenericConst" else None
    held = getattr(expr, "data", None) if type(expr).__name__ == "Constant" else held
    return None if held is None else held.numpy()
