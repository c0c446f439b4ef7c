"""`relay.op.register_...`: properties that a script registers for existing and new operators.

An operator created by `register` has types; it can be printed, matched, partitioned and offloaded.
To run an operator outside regions, or to give it new attributes, define it with
`byoc_lab.relay.op.define_op`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from byoc_lab.errors import DuplicateNameError, TypeInferenceError, UnknownNameError
from byoc_lab.relay import op as relay_op
from byoc_lab.relay import scatter_elements
from byoc_lab.relay.ir.attrs import attrs_type
from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op import OpDef
from byoc_lab.relay.op.framework.registry import identity
from byoc_lab.relay.op.framework.relations import broadcast


def register(op_name: str, describe: str = "") -> None:
    """Register a new operator. The methods below of `relay.op.get(op_name)` set its properties.

    Raises DuplicateNameError.
    """
    if op_name in Op.list_op_names():
        raise DuplicateNameError(f"Operator {op_name} is already registered; choose another name")
    Op(op_name, OpDef(op_name, (), _no_relation, None, doc=describe))
    register_stateful(op_name, False)


def _no_relation(attrs: Any, *types: Any) -> Any:
    raise TypeInferenceError(
        "the operator was registered without a type relation; "
        "call relay.op.get(name).add_type_rel(name, function)"
    )


# The methods of an operator


def _change(op: Op, **fields: Any) -> None:
    object.__setattr__(op, "definition", replace(op.definition, **fields))


def set_num_inputs(op: Op, n: int) -> None:
    """Set the number of arguments of the operator; `add_argument` names them."""
    names = [*op.definition.inputs, *(f"arg{i}" for i in range(len(op.definition.inputs), n))]
    _change(op, inputs=tuple(names[:n]))


def add_argument(op: Op, name: str, type: str = "Tensor", description: str = "") -> None:
    """Adds an argument, or names the next argument that `set_num_inputs` created."""
    names = list(op.definition.inputs)
    unnamed = (i for i, n in enumerate(names) if n == f"arg{i}")
    place = next(unnamed, len(names))
    names[place : place + 1] = [name]
    _change(op, inputs=tuple(names))


def add_type_rel(op: Op, rel_name: str, type_rel_func: Callable[..., Any] | None = None) -> None:
    """Set the type relation: `type_rel_func(arg_types, attrs)`; by default TVM's relation
    "Identity" or "Broadcast". Raises UnknownNameError for other names."""
    if type_rel_func is not None:
        _change(op, relation=_relation(type_rel_func))
    elif rel_name in _RELATIONS:
        _change(op, relation=_RELATIONS[rel_name])
    else:
        raise UnknownNameError(
            f"no type relation is called {rel_name!r}; give add_type_rel a function "
            f"(arg_types, attrs) -> type, or one of {', '.join(_RELATIONS)}"
        )


def _relation(function: Callable[..., Any]) -> Callable[..., Any]:
    def relation(attrs: Any, *types: Any) -> Any:
        known = all(t is not None for t in types)
        return (*types, function(list(types), attrs) if known else None)

    return relation


def _broadcast(attrs: Any, *types: Any) -> Any:
    result = types[0]
    for other in types[1:]:
        if result is None or other is None:
            return (*types, None)
        result = TensorType(broadcast("Broadcast", result, other), result.dtype)
    return (*types, result)


_RELATIONS: dict[str, Callable[..., Any]] = {"Identity": identity, "Broadcast": _broadcast}


def set_attrs_type_key(op: Op, key: str) -> None:
    """The attributes type of calls, by its TVM key; "DictAttrs" allows any attributes.

    Raises UnknownNameError.
    """
    _change(op, attrs=None if key == "DictAttrs" else attrs_type(key))


def set_support_level(op: Op, level: int) -> None:
    """Set the operator's level in TVM's documentation; it is the attribute "support_level"."""
    op.set_attr("support_level", level)


def scatter(data: Expr, indices: Expr, updates: Expr, axis: int) -> Expr:
    """`relay.scatter_elements` under its name before TVM 0.11."""
    made: Expr = scatter_elements(data, indices, updates, axis, "update")
    return made


def scatter_add(data: Expr, indices: Expr, updates: Expr, axis: int) -> Expr:
    """`relay.scatter_elements(..., reduction="add")` under its name before TVM 0.11."""
    made: Expr = scatter_elements(data, indices, updates, axis, "add")
    return made


for _method in (set_num_inputs, add_argument, add_type_rel, set_attrs_type_key, set_support_level):
    setattr(Op, _method.__name__, _method)  # only scripts define operators step by step


# Attributes


def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Set an attribute of an operator ("target.dnnl", ...); without a value, a decorator.

    A function that decides whether a target supports a call may take the call's attributes and
    arguments, as up to TVM 0.7, instead of the call.
    """

    def register(given: Any) -> Any:
        decides = attr_key.startswith("target.") and callable(given)
        checker = _of_call(given) if decides and _arity(given) == 2 else given
        relay_op.register_op_attr(op_name, attr_key, checker, level)
        return given

    return register if value is None else register(value)


def _arity(function: Callable[..., Any]) -> int:
    """The number of positional parameters without a default."""
    parameters = inspect.signature(function).parameters.values()
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in by_position and p.default is p.empty for p in parameters)


def _of_call(checker: Callable[[Any, Any], Any]) -> Callable[[Call], Any]:
    @wraps(checker)
    def of_call(call: Call) -> Any:
        return checker(call.attrs, call.args)

    return of_call


def register_pattern(op_name: str, pattern: int, level: int = 10) -> None:
    """Set the fusion kind of an operator: one of `OpPattern`."""
    register_op_attr(op_name, "TOpPattern", int(pattern), level)


def register_stateful(op_name: str, stateful: bool, level: int = 10) -> None:
    """Set whether calls of an operator have side effects."""
    register_op_attr(op_name, "TOpIsStateful", stateful, level)


def _registers(key: str) -> Callable[..., Any]:
    def function(op_name: str, value: Any = None, level: int = 10) -> Any:
        return register_op_attr(op_name, key, value, level)

    function.__doc__ = f"""Set the operator's attribute "{key}"; without a value, a decorator."""
    return function


register_alter_op_layout = _registers("FTVMAlterOpLayout")
register_convert_op_layout = _registers("FTVMConvertOpLayout")
register_legalize = _registers("FTVMLegalize")

__all__ = [
    "register",
    "register_alter_op_layout",
    "register_convert_op_layout",
    "register_legalize",
    "register_op_attr",
    "register_pattern",
    "register_stateful",
    "scatter",
    "scatter_add",
]
