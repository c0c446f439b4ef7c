"""Nodes that open scopes (functions, lets, branches), and mutable cells.

Source: `tvm.relay.function` and `tvm.relay.expr` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from byoc_lab.display import Shown
from byoc_lab.errors import ArgumentError, counted
from byoc_lab.relay.ir.attrs import Attrs, DictAttrs
from byoc_lab.relay.ir.dataflow import Var
from byoc_lab.relay.ir.node import Expr, checked_part, set_field
from byoc_lab.relay.ir.span import Span
from byoc_lab.relay.ir.types import Type


class Function(Expr, Shown):
    """`fn (params) -> ret_type { body }`; an inner one may use variables of outer scopes.

    `device` is the device that stores the result (attributes "VirtualDevice"); None if undecided.
    """

    __slots__ = ("attrs", "body", "device", "params", "ret_type", "type_params")
    params: tuple[Var, ...]
    body: Expr
    ret_type: Type | None
    type_params: tuple[Type, ...]
    attrs: Attrs
    device: Attrs | None

    def __init__(
        self,
        params: Sequence[Var],
        body: Expr,
        ret_type: Type | None = None,
        type_params: Sequence[Type] | None = None,
        attrs: Attrs | Mapping[str, Any] | None = None,
        span: Span | None = None,
        device: Attrs | None = None,
    ):
        super().__init__(span)
        if isinstance(params, Expr):
            raise ArgumentError(
                f"Function(params, body): params must be a list of variables, found {params!r:.80}"
            )
        for p in params:
            if not isinstance(p, Var):
                raise ArgumentError(f"a function parameter must be a Var, found {p!r:.80}")
        set_field(self, "params", tuple(params))
        set_field(self, "body", checked_part("a function body", body))
        set_field(self, "ret_type", ret_type)
        set_field(self, "type_params", tuple(type_params or ()))
        set_field(self, "attrs", attrs if isinstance(attrs, Attrs) else DictAttrs(attrs or {}))
        set_field(self, "device", device)

    def summary(self) -> str:
        label = self.attrs.get("Composite") or self.attrs.get("global_symbol")
        return (
            f"function {label}"
            if label
            else f"function of {counted(len(self.params), 'parameter')}"
        )

    def parts(self) -> tuple[Expr, ...]:
        return (*self.params, self.body)

    def part_names(self) -> tuple[str, ...]:
        return (*(f".params[{n}]" for n in range(len(self.params))), ".body")

    def binds(self) -> tuple[Var, ...]:
        return self.params

    def with_parts(self, parts: Sequence[Expr]) -> Function:
        return self.replace(params=parts[:-1], body=parts[-1])

    def replace(self, **changes: Any) -> Function:
        """A copy with some of params, body, ret_type, type_params, attrs, span, device changed."""
        names = ("params", "body", "ret_type", "type_params", "attrs", "span", "device")
        return Function(**{n: changes.pop(n, getattr(self, n)) for n in names}, **changes)

    def with_attr(self, key: str | Mapping[str, Any], value: Any = None) -> Function:
        """A copy with one attribute (or a dict of them) set."""
        more = {key: value} if isinstance(key, str) else dict(key)
        return self.replace(attrs=DictAttrs({**self.attrs, **more}))

    with_attrs = with_attr  # TVM has a separate function for dicts

    def without_attr(self, key: str) -> Function:
        kept = {k: v for k, v in self.attrs.items() if k != key}
        return self.replace(attrs=DictAttrs(kept))


class Let(Expr):
    """`let var = value; body`. Recursive only if `value` is a Function.

    In `parts`, the value comes before the variable, as in evaluation.
    """

    __slots__ = ("body", "value", "var")
    var: Var
    value: Expr
    body: Expr

    def __init__(self, variable: Var, value: Expr, body: Expr, span: Span | None = None):
        super().__init__(span)
        set_field(self, "var", checked_part("the variable of a let", variable))
        set_field(self, "value", checked_part("the value of a let", value))
        set_field(self, "body", checked_part("the body of a let", body))

    def summary(self) -> str:
        return f"let %{self.var.name_hint}"

    def parts(self) -> tuple[Expr, ...]:
        return (self.value, self.var, self.body)

    def part_names(self) -> tuple[str, ...]:
        return (".value", ".var", ".body")

    def binds(self) -> tuple[Var, ...]:
        return (self.var,)

    def with_parts(self, parts: Sequence[Expr]) -> Let:
        value, variable, body = parts
        return Let(variable, value, body, self.span)  # type: ignore[arg-type]


class If(Expr):
    """`if (cond) { true_branch } else { false_branch }`; cond is a scalar bool."""

    __slots__ = ("cond", "false_branch", "true_branch")
    cond: Expr
    true_branch: Expr
    false_branch: Expr

    def __init__(self, cond: Expr, true_branch: Expr, false_branch: Expr, span: Span | None = None):
        super().__init__(span)
        set_field(self, "cond", checked_part("the condition of an if", cond))
        set_field(self, "true_branch", checked_part("a branch of an if", true_branch))
        set_field(self, "false_branch", checked_part("a branch of an if", false_branch))

    def parts(self) -> tuple[Expr, ...]:
        return (self.cond, self.true_branch, self.false_branch)

    def part_names(self) -> tuple[str, ...]:
        return (".cond", ".true_branch", ".false_branch")

    def with_parts(self, parts: Sequence[Expr]) -> If:
        cond, true_branch, false_branch = parts
        return If(cond, true_branch, false_branch, self.span)


class RefCreate(Expr):
    """`ref(value)`: a new mutable cell."""

    __slots__ = ("value",)
    value: Expr

    def __init__(self, value: Expr, span: Span | None = None):
        super().__init__(span)
        set_field(self, "value", checked_part("the value of a reference", value))

    def parts(self) -> tuple[Expr, ...]:
        return (self.value,)

    def with_parts(self, parts: Sequence[Expr]) -> RefCreate:
        return RefCreate(parts[0], self.span)


class RefRead(Expr):
    """`ref_read(ref)`."""

    __slots__ = ("ref",)
    ref: Expr

    def __init__(self, ref: Expr, span: Span | None = None):
        super().__init__(span)
        set_field(self, "ref", checked_part("a reference", ref))

    def parts(self) -> tuple[Expr, ...]:
        return (self.ref,)

    def with_parts(self, parts: Sequence[Expr]) -> RefRead:
        return RefRead(parts[0], self.span)


class RefWrite(Expr):
    """`ref_write(ref, value)`; its result is the empty tuple."""

    __slots__ = ("ref", "value")
    ref: Expr
    value: Expr

    def __init__(self, ref: Expr, value: Expr, span: Span | None = None):
        super().__init__(span)
        set_field(self, "ref", checked_part("a reference", ref))
        set_field(self, "value", checked_part("the value of a reference", value))

    def parts(self) -> tuple[Expr, ...]:
        return (self.ref, self.value)

    def with_parts(self, parts: Sequence[Expr]) -> RefWrite:
        return RefWrite(parts[0], parts[1], self.span)
