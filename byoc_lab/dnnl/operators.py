"""What DNNL can compute: for each Relay operator, the native operation that stands for it.

This one table answers three questions: whether AnnotateTarget offers a call (`why_not`), which
activations a fusable chain can end in (`patterns.py`), and what code generation writes
(`codegen.py`). To offer another operator, add one entry here.

The native operations and their attributes are listed in native/README.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from byoc_lab.backends.registry import Refused
from byoc_lab.relay.expr import Call, Op
from byoc_lab.relay.op.windows import four_pads
from byoc_lab.relay.types import TensorType, TupleType, Type

DTYPE = "float32"
MAX_RANK = 6

Check = Callable[[Call], str | None]


@dataclass(frozen=True)
class Operator:
    """One Relay operator in native terms.

    kind: of the native operation ("reshape" is one that only moves the data).
    attrs(attributes of the call) -> attributes of the native operation.
    check(call) -> why this call cannot be taken, or None. Types are checked before.
    post_op: whether it can be fused into the operation that makes its (first) operand.
    offered: whether AnnotateTarget takes it. Those that are not (TVM's DNNL leaves them to the
        host as well) still compile inside a region that was annotated by hand.
    """

    kind: str
    attrs: Callable[[Any], Mapping[str, Any]] = lambda attrs: {}
    check: Check = lambda call: None
    post_op: bool = False
    offered: bool = True


def why_not(call: Call) -> str | None:
    """Why DNNL cannot take this call of an operator, in words; None when it can.

    `call` must be typed.
    """
    name = call.op.name if isinstance(call.op, Op) else None
    if name not in OPERATORS:
        return f"DNNL has no counterpart of {name or 'a call of a function'}"
    for n, arg in enumerate(call.args):
        reason = _why_not_type(f"argument {n}", arg.checked_type)
        if reason:
            return f"{name}: {reason}"
    result = call.checked_type
    reason = _why_not_type(
        "the result", result.fields[0] if isinstance(result, TupleType) else result
    )
    reason = reason or OPERATORS[name].check(call)
    return f"{name}: {reason}" if reason else None


def _why_not_type(what: str, ty: Type) -> str | None:
    if not isinstance(ty, TensorType):
        return f"{what} must be a tensor, found {ty}"
    if ty.dtype != DTYPE:
        return f"{what} must be {DTYPE}, found {ty}"
    if not ty.is_static:
        return f"{what} must have a known shape, found {ty}"
    if len(ty.shape) > MAX_RANK:
        return f"{what} must have at most {MAX_RANK} dimensions, found {ty}"
    if 0 in ty.shape:
        return f"{what} must have elements, found {ty}"
    return None


# Checks ------------------------------------------------------------------------------------------


def _only(attrs: Any, **wanted: tuple[Any, ...]) -> str | None:
    for name, allowed in wanted.items():
        if attrs[name] not in allowed:
            return f"{name} must be {allowed[-1]!r}, found {attrs[name]!r}"
    return None


def _check_conv2d(call: Call) -> str | None:
    return _only(
        call.attrs,
        data_layout=("NCHW",),
        kernel_layout=("OIHW",),
        out_layout=("", "NCHW"),
        out_dtype=("", DTYPE),
    )


def _check_dense(call: Call) -> str | None:
    data = call.args[0].checked_type
    assert isinstance(data, TensorType)
    if len(data.shape) != 2:
        return f"the data must have 2 dimensions, found {data}"
    return _only(call.attrs, out_dtype=("", DTYPE))


def _check_pool2d(call: Call) -> str | None:
    attrs = call.attrs
    assert attrs is not None
    window = [(s - 1) * d + 1 for s, d in zip(attrs.pool_size, attrs.dilation, strict=True)]
    pads = four_pads(attrs.padding)
    if any(pad >= window[side % 2] for side, pad in enumerate(pads)):
        return f"each padding must be smaller than the window {tuple(window)}, found {pads}"
    dilated, padded = tuple(attrs.dilation) != (1, 1), any(pads)
    if dilated and padded and "count_include_pad" in attrs and not attrs.count_include_pad:
        return "a dilated, padded mean must count the padding, found count_include_pad=False"
    return _only(attrs, ceil_mode=(False,), layout=("NCHW",), out_layout=("", "NCHW"))


def _check_global_pool2d(call: Call) -> str | None:
    return _only(call.attrs, layout=("NCHW",), out_layout=("", "NCHW"))


def _check_batch_norm(call: Call) -> str | None:
    data, attrs = call.args[0].checked_type, call.attrs
    assert isinstance(data, TensorType) and attrs is not None
    if len(data.shape) not in (2, 4):
        return f"the data must have 2 or 4 dimensions, found {data}"
    if attrs.axis % len(data.shape) != 1:
        return f"the channels must be along axis 1, found axis {attrs.axis}"
    return None


def _check_bias_add(call: Call) -> str | None:
    data, attrs = call.args[0].checked_type, call.attrs
    assert isinstance(data, TensorType) and attrs is not None
    if len(data.shape) not in (2, 4) or attrs.axis % len(data.shape) != 1:
        return f"the bias must lie along axis 1 of 2 or 4 axes, found axis {attrs.axis} of {data}"
    return None


def channel_axis(call: Call) -> int:
    """The axis of the result of a convolution, pooling or dense along which its channels lie."""
    attrs = call.attrs
    layout = ""
    if attrs is not None and "data_layout" in attrs:
        layout = attrs.out_layout or attrs.data_layout
    return layout.index("C") if "C" in layout else 1


# The table ---------------------------------------------------------------------------------------


def _conv2d_attrs(attrs: Any) -> dict[str, Any]:
    return {
        "strides": list(attrs.strides),
        "padding": list(four_pads(attrs.padding)),
        "dilation": list(attrs.dilation),
        "groups": attrs.groups,
    }


def _pool2d_attrs(attrs: Any) -> dict[str, Any]:
    shared = {
        "pool_size": list(attrs.pool_size),
        "strides": list(attrs.strides),
        "padding": list(four_pads(attrs.padding)),
        "dilation": list(attrs.dilation),
    }
    if "count_include_pad" in attrs:
        shared["count_include_pad"] = attrs.count_include_pad
    return shared


def _matmul_attrs(attrs: Any) -> dict[str, Any]:
    return {"transpose_a": attrs.transpose_a, "transpose_b": attrs.transpose_b}


def eltwise(alg: str, parameters: Callable[[Any], dict[str, float]] = lambda attrs: {}) -> Operator:
    """An operator that is the native eltwise operation `alg`."""
    return Operator("eltwise", lambda attrs: {"alg": alg, **parameters(attrs)}, post_op=True)


def _binary(alg: str, offered: bool = True) -> Operator:
    return Operator("binary", lambda attrs: {"alg": alg}, post_op=True, offered=offered)


_RESHAPE = Operator("reshape", offered=False)

OPERATORS: dict[str, Operator] = {
    "nn.conv2d": Operator("conv2d", _conv2d_attrs, _check_conv2d),
    "nn.dense": Operator("dense", check=_check_dense),
    "nn.batch_matmul": Operator(
        "matmul", _matmul_attrs, lambda call: _only(call.attrs, out_dtype=("", DTYPE))
    ),
    "nn.batch_norm": Operator(
        "batch_norm", lambda attrs: {"epsilon": attrs.epsilon}, _check_batch_norm
    ),
    "nn.max_pool2d": Operator("max_pool2d", _pool2d_attrs, _check_pool2d),
    "nn.avg_pool2d": Operator("avg_pool2d", _pool2d_attrs, _check_pool2d),
    "nn.global_avg_pool2d": Operator("global_avg_pool2d", check=_check_global_pool2d),
    "nn.softmax": Operator("softmax", lambda attrs: {"axis": attrs.axis}),
    "nn.relu": eltwise("relu"),
    "nn.leaky_relu": eltwise("relu", lambda attrs: {"alpha": attrs.alpha}),
    "clip": eltwise("clip", lambda attrs: {"alpha": attrs.a_min, "beta": attrs.a_max}),
    "tanh": eltwise("tanh"),
    "sigmoid": eltwise("sigmoid"),
    "abs": eltwise("abs"),
    "exp": eltwise("exp"),
    "log": eltwise("log"),
    "sqrt": eltwise("sqrt"),
    "add": _binary("add"),
    "multiply": _binary("mul"),
    "subtract": _binary("sub", offered=False),
    "divide": _binary("div", offered=False),
    "maximum": _binary("max", offered=False),
    "minimum": _binary("min", offered=False),
    "nn.bias_add": Operator("binary", lambda attrs: {"alg": "add"}, _check_bias_add, post_op=True),
    "nn.batch_flatten": _RESHAPE,
    "reshape": _RESHAPE,
    "expand_dims": _RESHAPE,
    "squeeze": _RESHAPE,
}


def takes(call: Call) -> bool | Refused:
    """Whether DNNL takes a typed call: the predicate that AnnotateTarget asks."""
    reason = why_not(call)
    return Refused(reason) if reason else True
