"""`CallWithFields(call, args=...)` and similar functions: a node with some fields changed.

A node without changes is returned itself, so `is` shows whether anything changed. Variables and
functions keep a `virtual_device`; it is ignored for other nodes.
Source: `tvm.relay.expr` and `tvm.relay.function` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import Parameter, Signature
from typing import Any

from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)


def _changed(node: Expr, make: Callable[..., Any], fields: dict[str, Any]) -> Any:
    """`make(**fields)`, where a field that is None is taken from `node`; `node` itself if no field
    changes."""
    own = {name: getattr(node, name) for name in fields}
    new = {name: own[name] if value is None else value for name, value in fields.items()}
    return node if all(_same(new[n], own[n]) for n in fields) else make(**new)


def _same(new: Any, own: Any) -> bool:
    if isinstance(own, tuple):
        return len(new) == len(own) and all(a is b for a, b in zip(new, own, strict=True))
    return new is own


def VarWithFields(
    var: Var,
    vid: Any = None,
    type_annotation: Any = None,
    virtual_device: Any = None,
    span: Any = None,
):
    """`var` with another type; with a `vid` (of another variable), it takes the name of that
    variable."""
    made = _changed(
        var,
        partial(Var, var.name_hint, vid=var.vid),
        {"type_annotation": type_annotation, "span": span, "device": virtual_device},
    )
    if vid is None or vid is var.vid:
        return made
    name = getattr(vid, "name_hint", var.name_hint)
    return Var(name, made.type_annotation, made.span, vid, made.device)


def FunctionWithFields(
    func: Function,
    params: Any = None,
    body: Any = None,
    ret_type: Any = None,
    ty_params: Any = None,
    attrs: Any = None,
    virtual_device: Any = None,
    span: Any = None,
):
    """`func` with some of its fields changed."""
    fields = {
        "params": params,
        "body": body,
        "ret_type": ret_type,
        "type_params": ty_params,
        "attrs": attrs,
        "span": span,
        "device": virtual_device,
    }
    return _changed(func, Function, fields)


def _with_fields(kind: Any, parameters: str) -> Callable[..., Any]:
    """Creates `{kind}WithFields`, whose parameters are a node and new values for its fields."""
    own, *names = parameters.split()
    optional = [Parameter(n, _ANYWHERE, default=None) for n in (*names, "virtual_device", "span")]
    signature = Signature([Parameter(own, _ANYWHERE), *optional])

    def change(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        fields = {name: given.get(name) for name in (*names, "span")}
        return _changed(given[own], lambda span, **made: kind(*made.values(), span=span), fields)

    change.__name__ = change.__qualname__ = f"{kind.__name__}WithFields"
    change.__doc__ = f"`{own}` with some of its fields changed."
    change.__signature__ = signature  # type: ignore[attr-defined]
    return change


_ANYWHERE = Parameter.POSITIONAL_OR_KEYWORD
TupleWithFields = _with_fields(Tuple, "tup fields")
CallWithFields = _with_fields(Call, "call op args attrs type_args")
LetWithFields = _with_fields(Let, "let var value body")
IfWithFields = _with_fields(If, "if_expr cond true_branch false_branch")
TupleGetItemWithFields = _with_fields(TupleGetItem, "tuple_get_item tuple_value index")
ConstantWithFields = _with_fields(Constant, "constant data")
RefCreateWithFields = _with_fields(RefCreate, "ref_create value")
RefReadWithFields = _with_fields(RefRead, "ref_read ref")
RefWriteWithFields = _with_fields(RefWrite, "ref_write ref value")
