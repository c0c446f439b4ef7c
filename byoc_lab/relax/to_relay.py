"""Translates a Relax function for DNNL to Relay, so that one table of operators, one set of checks
and one code generator serve both languages.

Composite functions are inlined: the code generator decides what to fuse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from byoc_lab import relay
from byoc_lab.errors import BuildError
from byoc_lab.relax.ir import batch
from byoc_lab.relax.ir.calls import CODEGEN
from byoc_lab.relax.ir.types import batch_of, is_known_shape, is_tensor, is_tuple, numbers, type_of
from byoc_lab.relax.operators import translated
from byoc_lab.relay.ir.expr import Call, Expr, Function, If, Tuple, TupleGetItem
from byoc_lab.relay.ir.visit import substitute
from byoc_lab.relay.typing.infer import infer_expr
from byoc_lab.run.relax_values import name_of, tensor_of
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
    body = _RelaxReader(where, values, {}, translate, composites).body(function.body)
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
            found = numbers(arg)
            return Tuple([operand(n, f) for f in arg.fields]) if found is None else found
        if isinstance(arg, relax.Var) and is_tuple(arg):
            raise BuildError(tuple_operand(arg))
        try:
            ty, sizes = type_of(arg), batch_of(arg)
        except AttributeError:
            return arg  # a Python number
        except BuildError:
            if is_tensor(arg) or not is_known_shape(arg):
                raise
            return arg
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
    reader = _RelaxReader("the match", values, {}, translate, composites=False)
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
            values[variable] = _outside(variable) if value is None else reader.value(value)
    made = values[root]
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


class _RelaxReader:
    def __init__(
        self,
        where: str,  # description for messages
        values: dict[Any, Any],
        functions: dict[Any, Any],
        translate: Translate,
        composites: bool,
    ):
        self.where = where
        self.translate = translate
        self.composites = composites
        self.values = values
        self.functions = functions  # {variable: local function bound to it}
        self.relax, self.op = import_tvm().relax, import_tvm().ir.Op

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
            if isinstance(fields, Tuple):
                return fields.fields[expr.index]
            return TupleGetItem(fields, expr.index)
        if isinstance(expr, self.relax.If):
            cond = self.value(expr.cond)
            return If(cond, self.body(expr.true_branch), self.body(expr.false_branch))
        constant = tensor_of(expr)
        if constant is not None:
            array = constant.numpy()
            self.values[expr] = relay.const(array, str(array.dtype))  # keeps float64
            return self.values[expr]
        if not hasattr(expr, "op"):
            return expr  # an attribute, such as a shape or number
        if expr.op in self.functions:
            return self._inner(self.functions[expr.op], [self.value(arg) for arg in expr.args])
        if not isinstance(expr.op, self.op):
            raise BuildError(
                f"{self.where}: it calls {expr.op}, which is not an operator; give the module "
                "before partitioning, with its private functions inlined "
                f"(relax.transform.InlinePrivateFunctions)"
            )
        try:
            return self.translate(expr, [self.value(arg) for arg in expr.args])
        except BuildError as error:
            raise BuildError(f"{self.where}: {error}") from None

    def _inner(self, inner: Any, given: list[Any]) -> Any:
        """A call of a local function."""
        kept = self.composites and inner.attrs and "Composite" in inner.attrs
        operands = [relay.var(name_of(p), type_of(p)) for p in inner.params] if kept else given
        inside = dict(zip(inner.params, operands, strict=True))
        reader = _RelaxReader(self.where, inside, self.functions, self.translate, self.composites)
        body = reader.body(inner.body)
        if not kept:
            return body
        if isinstance(body, Tuple):  # one Relax call, such as a split, may be several calls here
            return substitute(body, dict(zip(operands, given, strict=True)))
        attrs = {"Composite": str(inner.attrs["Composite"])}
        return Call(Function(operands, body, attrs=attrs), given)
