"""Translation of a Relax function for DNNL to Relay.

So one table of operators, one set of checks and one code generator serve both languages. Composite
functions are opened: what is fused is decided by the code generator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod, sqrt
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import BuildError
from byoc_lab.relax import batch
from byoc_lab.relay import nn
from byoc_lab.relay.ir.expr import Expr, Function, Op, Tuple
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op import builder
from byoc_lab.relay.typing.infer import infer_expr
from byoc_lab.run.tvm_runtime import import_tvm

Translation = Callable[..., Expr]  # (Relax's call, its operands in Relay) -> Relay


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


def name_of(variable: Any) -> str:
    """A Relax variable's name; the field differs between releases of TVM."""
    return str(variable.name if hasattr(variable, "name") else variable.name_hint)


def type_of(value: Any) -> TensorType:
    """Relay's type of a Relax tensor, for a batch of `batch.NOMINAL` where that is not known.

    Raises BuildError when another part of its shape is not known.
    """
    ty, sizes = _sizes(value)
    if sizes is None or not all(map(batch.is_number, sizes[1:])):
        raise BuildError(
            f"DNNL needs tensors of known shape, but for a batch in front of it, found {ty}"
        )
    known = [batch.nominal(size) for size in sizes[:1]] + _ints(sizes[1:])
    return TensorType(known, str(ty.dtype))


def batch_of(value: Any) -> list[Any]:
    """The size in front of a Relax tensor, where that is not known; else nothing."""
    _, sizes = _sizes(value)
    return [size for size in (sizes or ())[:1] if not batch.is_number(size)]


def is_tensor(value: Any) -> bool:
    """Whether a Relax value is one tensor, of whatever shape."""
    ty, _ = _sizes(value)
    return "Tensor" in type(ty).__name__


def is_known_shape(value: Any) -> bool:
    """Whether a Relax value is a shape of numbers; others are operands that DNNL cannot read."""
    ty, _ = _sizes(value)
    return all(map(batch.is_number, getattr(ty, "values", None) or ()))


def _sizes(value: Any) -> tuple[Any, Any]:
    """The type of a Relax value, and its sizes where it is a tensor with some."""
    ty = value.ty if hasattr(value, "ty") else value.struct_info
    values = getattr(getattr(ty, "shape", None), "values", None)
    return ty, None if values is None else list(values)


def translated(call: Any, operands: list[Expr]) -> Expr:
    """A call of a Relax operator in Relay. Raises BuildError for an operator that is not listed."""
    name = call.op.name.removeprefix("relax.")
    if name not in OPERATORS:
        raise BuildError(f"DNNL has no counterpart of relax.{name}")
    return OPERATORS[name](call, *operands)


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
            return Tuple([self.value(field) for field in expr.fields])
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


def _number(value: Any) -> float:
    """A number that may be wrapped in an immediate of TVM."""
    found = getattr(value, "value", value)
    return found if isinstance(found, int | float) else found.numpy().item()


# Operators ---------------------------------------------------------------------------------------


def _call(name: str, *args: Any, **attrs: Any) -> Expr:
    return builder(Op.get(name))(*args, **attrs)


def _ints(values: Any) -> list[int]:
    return [int(_number(value)) for value in values]


def _conv(name: str) -> Translation:
    def build(call: Any, data: Expr, weight: Expr) -> Expr:
        attrs = call.attrs
        more = {}
        if name.endswith("transpose"):
            more["output_padding"] = _ints(attrs.output_padding)
        return _call(
            name,
            data,
            weight,
            strides=_ints(attrs.strides),
            padding=_ints(attrs.padding),
            dilation=_ints(attrs.dilation),
            groups=int(attrs.groups),
            data_layout=str(attrs.data_layout),
            kernel_layout=str(attrs.kernel_layout),
            out_layout=str(attrs.out_layout or ""),
            **more,
        )

    return build


def _pool(name: str) -> Translation:
    def build(call: Any, data: Expr) -> Expr:
        attrs = call.attrs
        more = {}
        if "avg" in name:
            more["count_include_pad"] = bool(attrs.count_include_pad)
        return _call(
            name,
            data,
            pool_size=_ints(attrs.pool_size),
            strides=_ints(attrs.strides),
            padding=_ints(attrs.padding),
            dilation=_ints(attrs.dilation),
            layout=str(attrs.layout),
            out_layout=str(attrs.out_layout or ""),
            ceil_mode=bool(attrs.ceil_mode),
            **more,
        )

    return build


def _adaptive_avg_pool2d(call: Any, data: Expr) -> Expr:
    if _ints(call.attrs.output_size or [0]) != [1, 1]:
        raise BuildError(f"DNNL has adaptive pooling to (1, 1), found {call.attrs.output_size}")
    return nn.global_avg_pool2d(data, layout=str(call.attrs.layout))


def _mean(call: Any, data: Expr) -> Expr:
    """torch.export writes AdaptiveAvgPool2d(1) as a mean."""
    rank = len(type_of(call.args[0]).shape)
    axes = sorted(axis % rank for axis in _axes(call.attrs.axis, rank))
    if rank != 4 or axes != [2, 3] or not call.attrs.keepdims:
        raise BuildError(
            f"DNNL supports a mean of the last two of 4 axes, with keepdims, found axes {axes} of "
            f"{rank}, keepdims={bool(call.attrs.keepdims)}"
        )
    return nn.global_avg_pool2d(data)


def _matmul(call: Any, a: Expr, b: Expr) -> Expr:
    left, right = type_of(call.args[0]).concrete_shape, type_of(call.args[1]).concrete_shape
    if len(left) >= 2 and len(right) == 2:
        rows = _call("reshape", a, (prod(left[:-1]), left[-1])) if len(left) > 2 else a
        product = nn.dense(rows, _call("transpose", b, (1, 0)), units=right[1])
        return _call("reshape", product, (*left[:-1], right[1])) if len(left) > 2 else product
    if len(left) != len(right) or len(left) < 3 or left[:-2] != right[:-2]:
        raise BuildError(f"DNNL multiplies stacks of one size, found shapes {left} and {right}")
    if len(left) == 3:
        return nn.batch_matmul(a, b, transpose_a=False, transpose_b=False)
    flat = [_call("reshape", x, (prod(s[:-2]), *s[-2:])) for x, s in ((a, left), (b, right))]
    product = nn.batch_matmul(*flat, transpose_a=False, transpose_b=False)
    return _call("reshape", product, (*left[:-1], right[-1]))


def _gelu(call: Any, x: Expr) -> Expr:
    error = _call("erf", _call("divide", x, relay.const(np.float32(sqrt(2.0)))))
    product = _call("multiply", x, _call("add", error, relay.const(np.float32(1.0))))
    return _call("multiply", product, relay.const(np.float32(0.5)))


def _layer_norm(call: Any, data: Expr, gamma: Expr, beta: Expr) -> Expr:
    axes, rank = _ints(call.attrs.axes), len(type_of(call.args[0]).shape)
    if [axis % rank for axis in axes] != [rank - 1] or not (call.attrs.center and call.attrs.scale):
        raise BuildError(f"DNNL normalises along the last axis, found axes {axes}")
    return nn.layer_norm(data, gamma, beta, epsilon=float(call.attrs.epsilon))


def _concatenate(parts: Expr, axis: int) -> Expr:
    assert isinstance(parts, Tuple)
    return _call("concatenate", list(parts.fields), axis=axis)


def _unary(name: str) -> Translation:
    return lambda call, x: _call(name, x)


def _binary(name: str) -> Translation:
    return lambda call, a, b: _call(name, a, b)


def _axes(values: Any, rank: int) -> list[int]:
    return _ints(values) if values is not None else list(range(rank))[::-1]


OPERATORS: Mapping[str, Translation] = {
    **{f"nn.conv{n}d": _conv(f"nn.conv{n}d") for n in (1, 2, 3)},
    **{f"nn.conv{n}d_transpose": _conv(f"nn.conv{n}d_transpose") for n in (1, 2)},
    **{f"nn.max_pool{n}d": _pool(f"nn.max_pool{n}d") for n in (1, 2, 3)},
    **{f"nn.avg_pool{n}d": _pool(f"nn.avg_pool{n}d") for n in (1, 2, 3)},
    **{name: _unary(name) for name in ("nn.relu", "abs", "exp", "log", "sqrt", "tanh", "sigmoid")},
    **{
        name: _binary(name)
        for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum")
    },
    "round": _unary("round"),
    "nn.adaptive_avg_pool2d": _adaptive_avg_pool2d,
    "mean": _mean,
    "nn.gelu": _gelu,
    "nn.silu": lambda call, x: _call("multiply", x, _call("sigmoid", x)),
    "nn.leakyrelu": lambda call, x: _call("nn.leaky_relu", x, alpha=float(call.attrs.alpha)),
    "nn.softmax": lambda call, x: _call("nn.softmax", x, axis=int(call.attrs.axis)),
    "nn.log_softmax": lambda call, x: _call("nn.log_softmax", x, axis=int(call.attrs.axis)),
    "nn.layer_norm": _layer_norm,
    "clip": lambda call, x, low, high: _call("clip", x, float(_number(low)), float(_number(high))),
    "matmul": _matmul,
    "concat": lambda call, parts: _concatenate(parts, int(call.attrs.axis)),
    "reshape": lambda call, x, shape: _call("reshape", x, type_of(call).concrete_shape),
    "flatten": lambda call, x: _call("reshape", x, type_of(call).concrete_shape),
    "permute_dims": lambda call, x: _call(
        "transpose", x, _axes(call.attrs.axes, len(type_of(call).shape))
    ),
}
