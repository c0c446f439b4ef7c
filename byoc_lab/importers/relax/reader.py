"""`RelaxReader`: reads expressions of Relax functions as Relay."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from byoc_lab import relay
from byoc_lab.errors import ByocLabError, ImporterError
from byoc_lab.relay.ir.expr import Expr, If, Tuple, TupleGetItem
from byoc_lab.run.relax_values import name_of, tensor_of
from byoc_lab.run.tvm_runtime import import_tvm


class RelaxReader(ABC):
    """Reads values of Relax. Values other than tensors (shapes, numbers) stay Relax values, or
    become lists of these; a tuple becomes the list of its values.

    In all methods, values: the Relay value of each Relax variable.
    """

    def __init__(self) -> None:
        self.tvm = import_tvm()
        self.relax = self.tvm.relax
        self._constants: dict[Any, Expr] = {}

    @abstractmethod
    def call(self, call: Any, operands: list[Any], values: dict[Any, Any]) -> Any:
        """The value of a call with operands that are already read."""

    @abstractmethod
    def local_function(self, function: Any, values: dict[Any, Any]) -> Any:
        """The value of a function inside a function."""

    def error(self, reason: str) -> ByocLabError:
        return ImporterError(reason)

    def bound(self, binding: Any, values: dict[Any, Any]) -> Any:
        """The value of a binding."""
        return self.value(binding.value, values)

    def body(self, body: Any, values: dict[Any, Any]) -> Expr:
        """The result of a body; `values` gets the values of its variables."""
        if isinstance(body, self.relax.SeqExpr):
            for block in body.blocks:
                for binding in block.bindings:
                    values[binding.var] = self.bound(binding, values)
            body = body.body
        return self.expr(self.value(body, values))

    def value(self, value: Any, values: dict[Any, Any]) -> Any:
        relax = self.relax
        if isinstance(value, relax.Var):  # includes DataflowVar
            if value not in values:
                raise self.error(f"%{name_of(value)} is not bound")
            return values[value]
        if isinstance(value, relax.Function):
            return self.local_function(value, values)
        if isinstance(value, relax.If):
            yes, no = (self.body(b, dict(values)) for b in (value.true_branch, value.false_branch))
            return If(self.expr(self.value(value.cond, values)), yes, no)
        if isinstance(value, relax.TupleGetItem):
            whole = self.value(value.tuple_value, values)
            if isinstance(whole, Tuple):
                return whole.fields[value.index]
            is_list = isinstance(whole, list)
            return whole[value.index] if is_list else TupleGetItem(whole, int(value.index))
        if isinstance(value, relax.Tuple):
            return [self.value(field, values) for field in value.fields]
        tensor = tensor_of(value)
        if tensor is not None:
            if value not in self._constants:
                array = tensor.numpy()
                self._constants[value] = relay.const(array, str(array.dtype))  # keeps float64
            return self._constants[value]
        if isinstance(value, relax.Call):
            return self.call(value, [self.value(arg, values) for arg in value.args], values)
        return getattr(value, "values", value)  # the sizes of a shape, or a number

    def expr(self, value: Any) -> Expr:
        """A value as an expression."""
        if isinstance(value, list):
            return Tuple([self.expr(field) for field in value])
        if not isinstance(value, Expr):
            raise self.error(f"a tensor is expected, found {type(value).__name__} {value}")
        return value
