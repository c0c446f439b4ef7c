"""Queries on a match, for the predicates of integrations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from byoc_lab.backends.registry import Predicate, Refused
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.ir.module import IRModule


def chain(expr: Expr) -> Iterator[Call]:
    """The operator calls on the path of first arguments from `expr`."""
    while isinstance(expr, Call) and isinstance(expr.op, Op):
        yield expr
        if not expr.args:
            return
        expr = expr.args[0]


def root_of(expr: Expr, operator: str) -> Call | None:
    """The first call of `operator` in the chain of `expr`."""
    return next((call for call in chain(expr) if call.is_op(operator)), None)


def check_root(match: Expr, operator: str, check: Predicate) -> bool | Refused:
    """The result of `check` for the root operator of a match.

    Like TVM, searches only the path of first operands; for a match with the operator as second
    operand, such as `add(%bias, nn.dense(...))`, TVM raises an AttributeError.
    """
    root = root_of(match, operator)
    return check(root) if root else Refused(f"{operator} must be the first operand of the addition")


def is_tensor_of(
    argument: Expr, dtypes: Collection[str], ranks: Collection[int] | None = None
) -> bool | Refused:
    """Whether a typed argument has one of the dtypes and, if given, one of the ranks."""
    ty: Any = argument.checked_type
    if ty.dtype not in dtypes:
        return Refused(f"the dtype must be {words(dtypes)}, found {ty}")
    if ranks is not None and len(ty.shape) not in ranks:
        return Refused(f"the rank must be {words(ranks)}, found {ty}")
    return True


def has_attributes(call: Call, **wanted: Any) -> bool | Refused:
    """Whether each attribute has the given value, or one of a tuple of values."""
    for name, values in wanted.items():
        accepted = values if isinstance(values, tuple) else (values,)
        if call.attrs[name] not in accepted:
            return Refused(f"{name} must be {words(accepted)}, found {call.attrs[name]!r}")
    return True


def words(values: Collection[Any]) -> str:
    """'"a", "b" or "c"'; values other than text are not quoted."""
    *most, last = [f'"{v}"' if isinstance(v, str) else str(v) for v in values]
    return f"{', '.join(most)} or {last}" if most else last


def with_params(mod: IRModule, params: Mapping[str, Any] | None) -> IRModule:
    """`mod`, or a copy with `params` bound into @main."""
    if not params:
        return mod
    mod = mod.copy()
    mod["main"] = bind_params_by_name(mod["main"], params)
    return mod
