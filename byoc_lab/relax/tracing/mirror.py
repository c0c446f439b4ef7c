"""`Mirror`: the functions of Relax modules as Relay nodes, for drawing and comparing modules.

A Relax function, call, tuple, branch, constant or variable becomes the same kind of Relay node; an
operator becomes a `ForeignOp`. Uses of a bound variable refer to the node of its value, so names do
not matter. Operands other than tensors (shapes, numbers) become attributes. A TIR function becomes
an empty function with the digest of its text as its attribute `foreign.CODE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from typing import Any

from byoc_lab.relax.compiled import compiled_regions_of
from byoc_lab.relax.ir.calls import CODEGEN, operator_calls
from byoc_lab.relay.ir.attrs import DictAttrs
from byoc_lab.relay.ir.dims import Any as AnySize
from byoc_lab.relay.ir.dims import symbol
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Tuple,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.ir.foreign import CODE, OPERATORS, foreign_op
from byoc_lab.relay.ir.node import set_field
from byoc_lab.relay.ir.types import TensorType, TupleType, Type, is_dtype
from byoc_lab.relay.op.framework.from_relax import number
from byoc_lab.run.relax_values import is_tensor_type, name_of, sizes_of, tensor_of
from byoc_lab.run.tvm_runtime import import_tvm

LANGUAGE = "relax"


@dataclass(eq=False)
class Mirrored:
    """A Relax function as a Relay function.

    bindings: its bindings, including those in local functions and branches, in the order of the
    text, each with its node. inner: its local functions in that order. globals: the global
    functions that it refers to.
    """

    function: Function
    bindings: list[tuple[Any, Expr]] = field(default_factory=list)
    inner: list[Function] = field(default_factory=list)
    globals: dict[Any, None] = field(default_factory=dict)


class Mirror:
    """The nodes of functions, each created once: stages of a trace share unchanged nodes.

    regions: {symbol of a region: its back end and number of operators}, for all modules seen so
    far. RunCodegen leaves only the symbols; if it ran before the trace, the number is unknown.
    refusals: the reason that DNNL's code generator refuses a function, "" if it accepts.
    """

    def __init__(self) -> None:
        self.tvm = import_tvm()
        self.regions: dict[str, tuple[str, int]] = {}
        self.refusals: dict[Any, str] = {}
        self._functions: dict[Any, Mirrored] = {}
        self._globals: dict[str, GlobalVar] = {}
        self._constants: dict[Any, Constant] = {}
        self._variables: dict[Any, Var] = {}

    def see(self, mod: Any) -> None:
        """Record the regions of a module."""
        for gv, function in mod.functions.items():
            attrs = attributes(function)
            if CODEGEN in attrs:
                count = sum(1 for _ in operator_calls(function))
                symbol_name = str(attrs.get("global_symbol", gv.name_hint))
                self.regions[symbol_name] = (str(attrs[CODEGEN]), count)
        for found in compiled_regions_of(mod):
            self.regions.setdefault(found.symbol, (found.compiler, 0))

    def function(self, function: Any) -> Mirrored:
        """The node of a Relax function."""
        if function not in self._functions:
            made = Mirrored(Function([], Tuple([])))
            made.function = _Body(self, made).function(function, {})
            self._functions[function] = made
        return self._functions[function]

    def code(self, text: str, function: Any) -> Mirrored:
        """The node of a function of lowered code, identified by its text."""
        if function not in self._functions:
            attrs = {CODE: digest(text)}
            self._functions[function] = Mirrored(Function([], Tuple([]), attrs=attrs))
        return self._functions[function]

    def knows(self, function: Any) -> bool:
        return function in self._functions

    def global_var(self, gv: Any) -> GlobalVar:
        name = str(gv.name_hint)
        return self._globals.setdefault(name, GlobalVar(name))

    def constant(self, tensor: Any) -> Constant:
        if tensor not in self._constants:
            self._constants[tensor] = Constant(tensor.numpy())
        return self._constants[tensor]

    def variable(self, variable: Any) -> Var:
        """The node of a variable. Passes keep unchanged Relax variables, so their nodes are also
        kept."""
        if variable not in self._variables:
            ty = type_of(variable)
            self._variables[variable] = _set_type(Var(name_of(variable), ty), ty)
        return self._variables[variable]


class _Body:
    """Mirrors one global function."""

    def __init__(self, mirror: Mirror, made: Mirrored):
        self.mirror, self.made = mirror, made
        self.tvm, self.relax = mirror.tvm, mirror.tvm.relax

    def function(self, function: Any, outer: Mapping[Any, Expr]) -> Function:
        params = [self.mirror.variable(p) for p in function.params]
        scope = _Scope(self.mirror, {**outer, **dict(zip(function.params, params, strict=True))})
        body = self.block(function.body, scope)
        return Function(params, body, attrs=mirrored_attributes(function))

    def block(self, body: Any, scope: _Scope) -> Expr:
        """The value of a sequence of bindings. Unused values come before it, as lets."""
        if not isinstance(body, self.relax.SeqExpr):
            return self.expr(body, scope)
        bound: list[tuple[Any, Expr]] = []
        for block in body.blocks:
            for binding in block.bindings:
                node = self.binding(binding, scope)
                bound.append((binding.var, node))
        result = self.expr(body.body, scope)
        for variable, node in reversed(bound):
            if variable not in scope.used and isinstance(node, Call):
                result = Let(Var(name_of(variable)), node, result)
        return result

    def binding(self, binding: Any, scope: _Scope) -> Expr:
        value = binding.value
        if isinstance(value, self.relax.Function):
            at = len(self.made.inner)
            self.made.inner.append(Function([], Tuple([])))  # before the inner bindings
            node: Expr = self.function(value, scope.values)
            assert isinstance(node, Function)
            self.made.inner[at] = node
        elif isinstance(binding, self.relax.MatchCast):
            ty = binding.var.ty
            node = Call(
                foreign_op(f"{LANGUAGE}.match_cast"),
                [self.expr(value, scope)],
                DictAttrs({"type": str(ty)}),
            )
            _set_type(node, type_of(binding.var))
            self.made.bindings.append((binding, node))
        elif isinstance(value, self.relax.If):
            at = len(self.made.bindings)
            self.made.bindings.append((binding, Tuple([])))
            node = self.expr(value, scope)
            self.made.bindings[at] = (binding, node)
        else:
            node = self.expr(value, scope)
            self.made.bindings.append((binding, node))
        scope.values[binding.var] = node
        return node

    def expr(self, value: Any, scope: _Scope) -> Expr:
        """The node of a value."""
        found = self.operand(value, scope)
        if isinstance(found, Expr):
            return found
        made = Call(
            foreign_op(f"{LANGUAGE}.{type(value).__name__}"), [], DictAttrs({"value": found})
        )
        return made

    def operand(self, value: Any, scope: _Scope) -> Any:
        """The node of a value; its text if it is neither a tensor nor a nested tuple of tensors."""
        relax = self.relax
        if isinstance(value, relax.Var):
            return scope.look_up(value)
        if isinstance(value, self.tvm.ir.GlobalVar):
            self.made.globals[value] = None
            return self.mirror.global_var(value)
        tensor = tensor_of(value)
        if tensor is not None:
            return self.mirror.constant(tensor)
        if isinstance(value, relax.Call):
            return self.call(value, scope)
        if isinstance(value, relax.Tuple):
            fields = [self.operand(f, scope) for f in value.fields]
            if fields and not any(isinstance(f, Expr) for f in fields):
                return f"({', '.join(map(str, fields))})"
            pairs = zip(fields, value.fields, strict=True)
            return Tuple([f if isinstance(f, Expr) else self.expr(v, scope) for f, v in pairs])
        if isinstance(value, relax.TupleGetItem):
            made = TupleGetItem(self.expr(value.tuple_value, scope), int(value.index))
            return _set_type(made, type_of(value))
        if isinstance(value, relax.If):
            cond = self.expr(value.cond, scope)
            branches = (value.true_branch, value.false_branch)
            yes, no = (self.block(branch, scope.inner()) for branch in branches)
            return _set_type(If(cond, yes, no), type_of(value))
        if isinstance(value, relax.SeqExpr):
            return self.block(value, scope)
        if isinstance(value, relax.Function):
            return self.function(value, scope.values)
        return _text(value)

    def call(self, call: Any, scope: _Scope) -> Expr:
        """The node of a call: of an operator, a global or local function, or a packed function (by
        name)."""
        if not isinstance(call.op, self.tvm.ir.Op):
            made = self.other_call(call, scope)
        else:
            attrs = call_attributes(self.tvm, call)
            full_name = _full_name(str(call.op.name))
            names = [str(argument.name) for argument in call.op.arguments]
            operands: list[Expr] = []
            for n, arg in enumerate(call.args):
                found = self.operand(arg, scope)
                if isinstance(found, Expr):
                    operands.append(found)
                else:
                    attrs[names[n] if n < len(names) else f"arg{n}"] = found
            if full_name in _CALLS_CODE and isinstance(operands[-1], Tuple):
                operands[-1:] = operands[-1].fields
            made = Call(foreign_op(full_name), operands, DictAttrs(attrs))
            symbol_name = str(getattr(call.args[0], "global_symbol", "")) if call.args else ""
            if symbol_name in self.mirror.regions:
                made = self.region(made, symbol_name, type_of(call))
        return _set_type(made, type_of(call))

    def other_call(self, call: Any, scope: _Scope) -> Call:
        operands = [self.expr(arg, scope) for arg in call.args]
        symbol_name = getattr(call.op, "global_symbol", None)
        if symbol_name is None:
            return Call(self.expr(call.op, scope), operands)
        attrs = DictAttrs({"func": str(symbol_name)})
        return Call(foreign_op(f"{LANGUAGE}.call_packed"), operands, attrs)

    def region(self, made: Call, symbol_name: str, ty: Type | None) -> Call:
        """A call of compiled code, as a call of a function of its back end."""
        params = [
            Var(f"x{n}", arg.checked_type if arg.is_typed else None)
            for n, arg in enumerate(made.args)
        ]
        compiler, count = self.mirror.regions[symbol_name]
        body = _set_type(
            Call(made.op, params, DictAttrs({**dict(made.attrs.items()), OPERATORS: count})), ty
        )
        attrs = {"Compiler": compiler, "global_symbol": symbol_name}
        return Call(Function(params, body, attrs=attrs), made.args)


class _Scope:
    """The nodes of variables, and the set of used nodes."""

    def __init__(self, mirror: Mirror, values: dict[Any, Expr], used: set[Any] | None = None):
        self.mirror, self.values = mirror, values
        self.used: set[Any] = set() if used is None else used

    def look_up(self, variable: Any) -> Expr:
        self.used.add(variable)
        if variable not in self.values:  # a module that is not well-formed
            self.values[variable] = self.mirror.variable(variable)
        return self.values[variable]

    def inner(self) -> _Scope:
        return _Scope(self.mirror, dict(self.values), self.used)


_CALLS_CODE = frozenset(f"{LANGUAGE}.{n}" for n in ("call_tir", "call_dps_packed"))
_MIRRORED_NAMES = {CODEGEN: "Compiler"}


def digest(text: str) -> str:
    """A short hash of a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def attributes(function: Any) -> dict[str, Any]:
    """The attributes of a TVM function."""
    return dict(function.attrs.items()) if getattr(function, "attrs", None) else {}


def mirrored_attributes(function: Any) -> dict[str, Any]:
    """The attributes of a function under Relay's names: its back end is the attribute
    "Compiler"."""
    return {_MIRRORED_NAMES.get(k, k): plain(v) for k, v in attributes(function).items()}


def call_attributes(tvm: Any, call: Any) -> dict[str, Any]:
    """The attributes of a call, except those that are None."""
    attrs = call.attrs
    if attrs is None:
        return {}
    if hasattr(attrs, "keys"):
        names = list(map(str, attrs.keys()))
        found = {name: attrs[name] for name in names}
    else:
        kind: Any = type(attrs)
        found = {name: getattr(attrs, name) for name in _fields(kind, tvm.ir.Attrs)}
    return {name: plain(value) for name, value in found.items() if value is not None}


@cache
def _fields(kind: Any, base: Any) -> tuple[str, ...]:
    """The field names of an attributes class, which are its properties."""
    names = sorted(set(dir(kind)) - set(dir(base)))
    return tuple(n for n in names if not n.startswith("_") and not callable(getattr(kind, n)))


def plain(value: Any) -> Any:
    """The value of an attribute as a Python value."""
    if value is None or isinstance(value, bool | int | float | str):
        return str(value) if isinstance(value, str) else value
    held = getattr(value, "value", None)
    if isinstance(held, bool | int | float):
        return held
    if hasattr(value, "items"):
        return {str(k): plain(v) for k, v in value.items()}
    if hasattr(value, "__iter__"):
        return tuple(map(plain, value))
    return _text(value)


def _text(value: Any) -> str:
    held = getattr(value, "value", None)
    return str(held) if isinstance(held, bool | int | float | str) else str(value)


def _full_name(name: str) -> str:
    return name if name.startswith(f"{LANGUAGE}.") else f"{LANGUAGE}.{name}"


def _set_type(node: Any, ty: Type | None) -> Any:
    set_field(node, "_checked_type", ty)
    return node


def type_of(value: Any) -> Type | None:
    """The type of a Relax value; None if Relay has no counterpart."""
    return _mirrored_type(value.ty)


def _mirrored_type(ty: Any) -> Type | None:
    fields = getattr(ty, "fields", None)
    if fields is not None:
        found = [_mirrored_type(f) for f in fields]
        known = [f for f in found if f is not None]
        return TupleType(known) if len(known) == len(found) else None
    if not is_tensor_type(ty) or not is_dtype(str(ty.dtype)):
        return None
    sizes = sizes_of(ty)
    if sizes is None:
        return TensorType([AnySize()] * ty.ndim, str(ty.dtype)) if ty.ndim >= 0 else None
    return TensorType(list(map(_size, sizes)), str(ty.dtype))


def _size(size: Any) -> Any:
    if isinstance(size, int) or hasattr(size, "value"):
        return int(number(size))
    return _symbol(str(size))


@cache
def _symbol(name: str) -> Any:
    """A size that is known at run time only. The same name is the same size in all functions."""
    return symbol(name)
