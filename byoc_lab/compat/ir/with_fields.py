"""`CallWithFields(call, args=...)` and similar functions: a node with some fields changed.

A node that would be the same is given back as it is, so that "did anything change" stays `is`.
A `virtual_device` is kept by variables and functions; of other nodes it means nothing here.
Source: `tvm.relay.expr` and `tvm.relay.function` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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
    """`make(**fields)` with the fields of `node` where None is given; `node` when all are its."""
    own = {name: getattr(node, name) for name in fields}
    new = {name: own[name] if value is None else value for name, value in fields.items()}
    return node if all(_same(new[n], own[n]) for n in fields) else make(**new)


def _same(new: Any, own: Any) -> bool:
    if isinstance(own, tuple):
        return len(new) == len(own) and all(a is b for a, b in zip(new, own, strict=True))
    return new is own


def TupleWithFields(tup: Tuple, fields: Any = None, virtual_device: Any = None, span: Any = None):
    """`tup` with some of its fields changed."""
    return _changed(tup, Tuple, {"fields": fields, "span": span})


def VarWithFields(
    var: Var,
    vid: Any = None,
    type_annotation: Any = None,
    virtual_device: Any = None,
    span: Any = None,
):
    """`var` with another type; with a `vid` (of another variable) it takes that one's name."""
    made = _changed(
        var,
        partial(Var, var.name_hint, vid=var.vid),
        {"type_annotation": type_annotation, "span": span, "device": virtual_device},
    )
    if vid is None or vid is var.vid:
        return made
    name = getattr(vid, "name_hint", var.name_hint)
    return Var(name, made.type_annotation, made.span, vid, made.device)


def CallWithFields(
    call: Call,
    op: Any = None,
    args: Any = None,
    attrs: Any = None,
    type_args: Any = None,
    virtual_device: Any = None,
    span: Any = None,
):
    """`call` with some of its fields changed."""
    fields = {"op": op, "args": args, "attrs": attrs, "type_args": type_args, "span": span}
    return _changed(call, Call, fields)


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


def LetWithFields(
    let: Let,
    var: Any = None,
    value: Any = None,
    body: Any = None,
    virtual_device: Any = None,
    span: Any = None,
):
    """`let` with some of its fields changed."""
    fields = {"var": var, "value": value, "body": body, "span": span}
    return _changed(let, lambda var, **rest: Let(var, **rest), fields)


def IfWithFields(
    if_expr: If,
    cond: Any = None,
    true_branch: Any = None,
    false_branch: Any = None,
    virtual_device: Any = None,
    span: Any = None,
):
    """`if_expr` with some of its fields changed."""
    fields = {"cond": cond, "true_branch": true_branch, "false_branch": false_branch, "span": span}
    return _changed(if_expr, If, fields)


def TupleGetItemWithFields(
    tuple_get_item: TupleGetItem,
    tuple_value: Any = None,
    index: Any = None,
    virtual_device: Any = None,
    span: Any = None,
):
    """`tuple_get_item` with some of its fields changed."""
    fields = {"tuple_value": tuple_value, "index": index, "span": span}
    return _changed(tuple_get_item, TupleGetItem, fields)


def ConstantWithFields(
    constant: Constant, data: Any = None, virtual_device: Any = None, span: Any = None
):
    """`constant` with other data."""
    return _changed(constant, Constant, {"data": data, "span": span})


def RefCreateWithFields(
    ref_create: RefCreate, value: Any = None, virtual_device: Any = None, span: Any = None
):
    """`ref_create` with another value."""
    return _changed(ref_create, RefCreate, {"value": value, "span": span})


def RefReadWithFields(
    ref_read: RefRead, ref: Any = None, virtual_device: Any = None, span: Any = None
):
    """`ref_read` of another reference."""
    return _changed(ref_read, RefRead, {"ref": ref, "span": span})


def RefWriteWithFields(
    ref_write: RefWrite,
    ref: Any = None,
    value: Any = None,
    virtual_device: Any = None,
    span: Any = None,
):
    """`ref_write` of another reference or value."""
    return _changed(ref_write, RefWrite, {"ref": ref, "value": value, "span": span})
