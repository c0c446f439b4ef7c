"""Translates a Relax function for DNNL to Relay, so that one table of operators, one set of checks
and one code generator serve both languages.

Composite functions are inlined: the code generator decides what to fuse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from byoc_lab import relay
from byoc_lab.errors import BuildError
from byoc_lab.importers.relax.reader import RelaxReader
from byoc_lab.relax.ir import batch
from byoc_lab.relax.ir.calls import CODEGEN
from byoc_lab.relax.ir.types import batch_of, is_known_shape, is_tensor, is_tuple, type_of
from byoc_lab.relax.operators import translated
from byoc_lab.relay.ir.expr import Call, Expr, Function, Tuple
from byoc_lab.relay.ir.visit import substitute
from byoc_lab.relay.typing.infer import infer_expr
from byoc_lab.run.relax_values import name_of
from byoc_lab.run.tvm_runtime import import_tvm

BATCHED = "batch"
Translate = Callable[[Any, list[Any]], Expr]  # (Relax's call, its operands in Relay) -> Relay


def to_relay(
    function: Any, translate: Translate = translated, *, composites: bool = False
) -> tuple[Function, str]:
    """A Relax function and its global symbol, in Relay; with `batch.NOMINAL` for an unknown batch.

    translate: translates operator calls. composites: whether functions with the attribute Composite
    stay functions. Raises BuildError for values without a Relay form.
    """
    symbol = str(function.attrs["global_symbol"])
    where = f"region @{symbol}" if CODEGEN in function.attrs else f"@{symbol}"
    batch.check_one_batch(size for p in function.params for size in batch_of(p))
    for p in function.params:
        if is_tuple(p):
            raise BuildError(f"{where}: {tuple_operand(p)}")
    params = [relay.var(name_of(p), type_of(p)) for p in function.params]
    values = dict(zip(function.params, params, strict=True))
    body = _RegionReader(where, translate, composites).body(function.body, values)
    made = infer_expr(Function(params, body))
    assert isinstance(made, Function)
    return made, symbol


def call_to_relay(call: Any, translate: Translate = translated) -> Function:
    """The typed Relay form of a Relax operator call, with tensors as parameters; names of tensors
    with an unknown batch begin with BATCHED. translate: translates operator calls.

    Raises BuildError for values without a counterpart, and the errors of type inference.
    """
    relax = import_tvm().relax
    unknown: list[Any] = []

    def operand(n: int, arg: Any) -> Any:
        if isinstance(arg, relax.Tuple):
            return [operand(n, field) for field in arg.fields]
        if isinstance(arg, relax.Var) and is_tuple(arg):
            raise BuildError(tuple_operand(arg))
        try:
            ty, sizes = type_of(arg), batch_of(arg)
        except AttributeError:
            return arg  # a Python number
        except BuildError:
            if is_tensor(arg) or not is_known_shape(arg):
                raise
            return getattr(arg, "values", arg)  # a shape, or a number
        unknown.extend(sizes)
        return relay.var(f"{BATCHED if sizes else 'x'}{n}", ty)

    made = translate(call, [operand(n, arg) for n, arg in enumerate(call.args)])
    typed = infer_expr(Function(relay.analysis.free_vars(made), made))
    batch.check_one_batch(unknown)
    if unknown:
        type_of(call)  # the batch must also be the first axis of the result
    assert isinstance(typed, Function)
    made_type = typed.body.checked_type
    if is_tensor(call) and made_type != type_of(call):
        raise BuildError(
            f"{call.op.name} returns {type_of(call)}, but its counterpart in Relay returns "
            f"{made_type}"
        )
    return typed


def match_to_relay(context: Any, translate: Translate = translated) -> Expr:
    """The typed Relay form of the matched part in a context of FuseOpsByPattern. Values from
    outside the match are variables.

    translate: translates operator calls. Raises BuildError for values without a counterpart, and
    the errors of type inference.
    """
    relax = import_tvm().relax
    bindings, values = dict(context.matched_bindings.items()), dict[Any, Any]()
    reader = _RegionReader("the match", translate)
    root = context.value_to_bound_var[context.matched_expr]
    todo = [root]
    while todo:
        variable = todo[-1]
        value = bindings.get(variable)
        missing = (
            [] if value is None else [v for v in relax.analysis.all_vars(value) if v not in values]
        )
        if missing:
            todo += missing
            continue
        todo.pop()
        if variable not in values:
            values[variable] = _outside(variable) if value is None else reader.value(value, values)
    made = reader.expr(values[root])
    typed = infer_expr(Function(relay.analysis.free_vars(made), made))
    assert isinstance(typed, Function)
    return typed.body


def _outside(variable: Any) -> Expr:
    """A value that is computed outside a match. Raises BuildError for a tuple."""
    if is_tuple(variable):
        raise BuildError(tuple_operand(variable))
    return relay.var(name_of(variable), type_of(variable))


def tuple_operand(variable: Any) -> str:
    """The reason that a region or match cannot have a tuple from outside as an operand."""
    name = name_of(variable)
    return (
        f"an operand is the tuple %{name}, and regions get tensors: give the call its fields, as "
        f"({name}[0], {name}[1]), or match the operator that makes the tuple, too"
    )


class _RegionReader(RelaxReader):
    """Inlines local functions, except composites if `composites` is true. where: a description for
    messages."""

    def __init__(self, where: str, translate: Translate, composites: bool = False):
        super().__init__()
        self.where = where
        self.translate = translate
        self.composites = composites
        self.functions: dict[Any, Any] = {}  # {variable: local function bound to it}

    def error(self, reason: str) -> BuildError:
        return BuildError(f"{self.where}: {reason}")

    def bound(self, binding: Any, values: dict[Any, Any]) -> Any:
        found = super().bound(binding, values)
        if isinstance(binding.value, self.relax.Function):
            self.functions[binding.var] = found
        return found

    def local_function(self, function: Any, values: dict[Any, Any]) -> Any:
        return function

    def call(self, call: Any, operands: list[Any], values: dict[Any, Any]) -> Any:
        if call.op in self.functions:
            return self._inner(self.functions[call.op], operands)
        if not isinstance(call.op, self.tvm.ir.Op):
            raise self.error(
                f"it calls {call.op}, which is not an operator; give the module before "
                "partitioning, with its private functions inlined "
                "(relax.transform.InlinePrivateFunctions)"
            )
        try:
            return self.translate(call, operands)
        except BuildError as error:
            raise self.error(str(error)) from None

    def _inner(self, inner: Any, given: list[Any]) -> Expr:
        """A call of a local function."""
        kept = self.composites and inner.attrs and "Composite" in inner.attrs
        operands = [relay.var(name_of(p), type_of(p)) for p in inner.params] if kept else given
        body = self.body(inner.body, dict(zip(inner.params, operands, strict=True)))
        if not kept:
            return body
        if isinstance(body, Tuple):  # one Relax call, such as a split, may be several calls here
            return substitute(body, dict(zip(operands, given, strict=True)))
        attrs = {"Composite": str(inner.attrs["Composite"])}
        return Call(Function(operands, body, attrs=attrs), given)
