"""What DNNL can compute: for each Relay operator, the native operation that stands for it.

This one table answers three questions: whether AnnotateTarget offers a call, which activations a
fusable chain can end in (`patterns.py`), and what code generation writes (`codegen.py`). All three
ask `why_not`, so that what is partitioned can be compiled. To offer another operator, add one entry
here.

The native operations and their attributes are listed in native/README.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from byoc_lab.backends.dnnl import native, quantized
from byoc_lab.backends.dnnl.graph import DnnlGraphWriter
from byoc_lab.backends.registry import Refused
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Call, Constant, Op, Tuple
from byoc_lab.relay.ir.layout import Layout
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.op.framework.layout import is_permutation, permutation
from byoc_lab.relay.op.tensor.blocks import plain_layout
from byoc_lab.relay.op.tensor.relayout import pads_blocks

DTYPES = ("float32", "bfloat16")
MAX_RANK = 6
# The layouts of the native operations, by the number of spatial axes.
DATA = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
WEIGHT = {1: "OIW", 2: "OIHW", 3: "OIDHW"}
FLOAT32_MAX = float(np.finfo(np.float32).max)

Check = Callable[[Call], str | None]


@dataclass(frozen=True)
class Layouts:
    """Orders of the axes of data and result, and the one that the runtime has: "NCHW"."""

    data: str
    result: str
    canonical: str


@dataclass(frozen=True)
class Operator:
    """One Relay operator in native terms.

    kind: of the native operation ("reshape" is one that only moves the data).
    attrs(attributes of the call) -> attributes of the native operation.
    check(call) -> why this call cannot be taken, or None. Types are checked before.
    post_op: whether it can be fused into the operation that makes its (first) operand.
    offered: whether AnnotateTarget takes it. Those that are not (TVM's DNNL leaves them to the
        host as well) still compile inside a region that was annotated by hand.
    beyond_tvm: whether it is offered here and not by TVM 0.16's DNNL; `byoc_lab.compat` leaves such
        operators to the host, as TVM does (see `AnnotateTarget`).
    integers: whether it is an operator on quantized numbers; `check` then answers for all dtypes.
    layouts(attributes of the call): for operators whose data may lie in several orders of axes.
    weight(graph, tensor, attributes of the call): a weight of any layout as the runtime has it.
    """

    kind: str
    attrs: Callable[[Any], Mapping[str, Any]] = lambda attrs: {}
    check: Check = lambda call: None
    post_op: bool = False
    offered: bool = True
    beyond_tvm: bool = False
    integers: bool = False
    layouts: Callable[[Any], Layouts] | None = None
    weight: Callable[[DnnlGraphWriter, int, Any], int] = lambda out, tensor, attrs: tensor


def why_not(call: Call, chained: bool = False) -> str | None:
    """Why DNNL cannot compute this call of an operator, in words; None when it can.

    `call` must be typed. chained: whether it is part of a quantized chain, in which some operators
    work on integers that stand for themselves otherwise (`quantized.why_no_step`).

    None does not mean that AnnotateTarget takes it: see `Operator.offered`.
    """
    name = call.op.name if isinstance(call.op, Op) else None
    if chained and quantized.is_step(call):
        return quantized.why_no_step(call)
    if name not in OPERATORS:
        return f"DNNL has no counterpart of {name or 'a call of a function'}"
    operator = OPERATORS[name]
    reason = _why_not_types(call, operator) or operator.check(call)
    if not reason and not operator.integers:
        reason = _why_not_numbers(operator.attrs(attributes(call)))
    return f"{name}: {reason}" if reason else None


def attributes(call: Call) -> Any:
    """The attributes of a call of an operator, with their defaults where it states none."""
    assert isinstance(call.op, Op)
    schema = call.op.definition.attrs
    return schema.make() if call.attrs is None and schema is not None else call.attrs


def _why_not_types(call: Call, operator: Operator) -> str | None:
    # A tuple that is written in place is a list of operands.
    operands = [
        (f"argument {n}", operand)
        for n, arg in enumerate(call.args)
        for operand in (arg.fields if isinstance(arg, Tuple) else [arg])
    ]
    result = call.checked_type
    result = result.fields[0] if isinstance(result, TupleType) else result
    dtypes = native.DTYPES if operator.integers else DTYPES
    for what, operand in operands:
        # What is known when the region is compiled, a weight in blocks, is turned there.
        most = None if isinstance(operand, Constant) else MAX_RANK
        reason = _why_not_type(what, operand.checked_type, dtypes, most)
        if reason:
            return reason
    reason = _why_not_type("the result", result, dtypes)
    if reason or operator.integers:
        return reason
    for what, operand in operands:
        ty = operand.checked_type
        assert isinstance(ty, TensorType) and isinstance(result, TensorType)
        if ty.dtype != result.dtype:
            return f"{what} must have the dtype of the result {result}, found {ty}"
    return None


def _why_not_numbers(attrs: Mapping[str, Any]) -> str | None:
    """The runtime computes in float32, with numbers that are finite there."""
    for name, value in attrs.items():
        if isinstance(value, float) and not abs(value) <= FLOAT32_MAX:
            return f"{name} must be finite in float32, found {value}"
    return None


def _why_not_type(
    what: str, ty: Type, dtypes: Sequence[str], most: int | None = MAX_RANK
) -> str | None:
    if not isinstance(ty, TensorType):
        return f"{what} must be a tensor, found {ty}"
    if ty.dtype not in dtypes:
        return f"{what} must be {' or '.join(dtypes)}, found {ty}"
    if not ty.is_static:
        return f"{what} must have a known shape, found {ty}"
    if most is not None and len(ty.shape) > most:
        return f"{what} must have at most {most} dimensions, found {ty}"
    if 0 in ty.shape:
        return f"{what} must have elements, found {ty}"
    return None


# Checks ------------------------------------------------------------------------------------------


def _only(attrs: Attrs, **wanted: tuple[Any, ...]) -> str | None:
    for name, allowed in wanted.items():
        if attrs[name] not in allowed:
            return f"{name} must be {allowed[-1]!r}, found {attrs[name]!r}"
    return None


def _check_layouts(attrs: Attrs, axes: int) -> str | None:
    """Layouts of data and result: any order of N, C and the spatial axes, in blocks or not."""
    for name in ("data_layout", "layout", "out_layout"):
        layout = attrs.get(name, "")
        if layout and not is_permutation(plain_layout(layout), DATA[axes]):
            return f"{name} must be an order of {DATA[axes]}, found {layout!r}"
    return None


def _check_conv(call: Call, axes: int) -> str | None:
    attrs = call.attrs
    assert attrs is not None
    kernel = WEIGHT[axes]
    layout = plain_layout(attrs.kernel_layout)
    if not any(is_permutation(layout, wanted) for wanted in (kernel, f"G{kernel}")):
        return f"kernel_layout must be an order of {kernel}, found {attrs.kernel_layout!r}"
    return _check_layouts(attrs, axes)


def _check_transposed(call: Call, axes: int) -> str | None:
    attrs = call.attrs
    assert attrs is not None
    extra, strides = tuple(attrs.output_padding[:axes]), tuple(attrs.strides)
    if any(more >= stride for more, stride in zip(extra, strides, strict=True)):
        return f"output_padding must be smaller than the strides {strides}, found {extra}"
    return _check_conv(call, axes)


def _check_dense(call: Call) -> str | None:
    data = call.args[0].checked_type
    assert isinstance(data, TensorType)
    if len(data.shape) != 2:
        return f"the data must have 2 dimensions, found {data}"
    return None


def _check_pool(call: Call, axes: int) -> str | None:
    attrs = call.attrs
    assert attrs is not None
    window = [(s - 1) * d + 1 for s, d in zip(attrs.pool_size, attrs.dilation, strict=True)]
    pads = _both_sides(attrs.padding, axes)
    if any(pad >= window[side % axes] for side, pad in enumerate(pads)):
        return f"each padding must be smaller than the window {tuple(window)}, found {tuple(pads)}"
    dilated, padded = any(d != 1 for d in attrs.dilation), any(pads)
    if dilated and padded and "count_include_pad" in attrs and not attrs.count_include_pad:
        return "a dilated, padded mean must count the padding, found count_include_pad=False"
    return _only(attrs, ceil_mode=(False,)) or _check_layouts(attrs, axes)


def _check_layer_norm(call: Call) -> str | None:
    data, attrs = call.args[0].checked_type, call.attrs
    assert isinstance(data, TensorType) and attrs is not None
    if len(data.shape) < 2 or attrs.axis % len(data.shape) != len(data.shape) - 1:
        return f"it must be along the last of at least 2 axes, found axis {attrs.axis} of {data}"
    return _check_epsilon(attrs) or _only(attrs, center=(True,), scale=(True,))


def _check_batch_norm(call: Call) -> str | None:
    data, attrs = call.args[0].checked_type, call.attrs
    assert isinstance(data, TensorType) and attrs is not None
    if not 2 <= len(data.shape) <= 5:
        return f"the data must have 2 to 5 dimensions, found {data}"
    if attrs.axis % len(data.shape) != 1:
        return f"the channels must be along axis 1, found axis {attrs.axis}"
    return _check_epsilon(attrs)


def _check_epsilon(attrs: Attrs) -> str | None:
    return None if attrs.epsilon >= 0 else f"epsilon must be at least 0, found {attrs.epsilon}"


def _check_clip(call: Call) -> str | None:
    low, high = call.attrs.a_min, call.attrs.a_max
    if not (low <= high and high >= -FLOAT32_MAX and low <= FLOAT32_MAX):
        return f"a_min must be at most a_max, both within float32, found {low} and {high}"
    return None


def channels_of(call: Call) -> int:
    """How many channels the result of a convolution has, those in blocks counted."""
    attrs, result = call.attrs, call.checked_type
    assert attrs is not None and isinstance(result, TensorType)
    layout = Layout(attrs.out_layout or attrs.data_layout)
    return result.concrete_shape[layout.index_of("C")] * (layout.block_of("C") or 1)


# The table ---------------------------------------------------------------------------------------


def _both_sides(padding: Sequence[int], axes: int) -> list[int]:
    """All before, all behind, of the paddings that Relay takes: one, one for each axis, or both."""
    pads = list(padding)
    if len(pads) == 1:
        pads *= axes
    return pads * 2 if len(pads) == axes else pads


def _window(attrs: Attrs, axes: int) -> dict[str, Any]:
    return {
        "strides": list(attrs.strides),
        "padding": _both_sides(attrs.padding, axes),
        "dilation": list(attrs.dilation),
    }


def _layouts(attrs: Attrs, axes: int) -> Layouts:
    data = attrs.data_layout if "data_layout" in attrs else attrs.layout
    result = attrs.out_layout if "out_layout" in attrs else ""
    return Layouts(data, result or data, DATA[axes])


def _conv_weight(out: DnnlGraphWriter, weight: int, attrs: Attrs, axes: int) -> int:
    """A weight of any layout as the runtime has it: (O, C / groups, ...)."""
    layout, wanted = attrs.kernel_layout, WEIGHT[axes]
    if "G" in layout:
        turned = out.transposed(weight, permutation(layout, f"G{wanted}"))
        groups, channels, *rest = out.shape(turned)
        return out.reshaped(turned, [groups * channels, *rest])
    turned = out.transposed(weight, permutation(layout, wanted))
    first, second, *taps = out.shape(turned)
    swapped = layout == "HWOI" or attrs.channels not in (None, first)
    if attrs.groups > 1 and swapped and second != 1:  # depthwise: O counts the data's channels
        return out.reshaped(turned, [first * second, 1, *taps])
    return turned


def _transposed_weight(out: DnnlGraphWriter, weight: int, attrs: Attrs, axes: int) -> int:
    """A weight (C, O / groups, ...) of any layout as the runtime has it: (O, C / groups, ...)."""
    layout, wanted = attrs.kernel_layout, WEIGHT[axes].replace("OI", "IO")
    groups, taps = attrs.groups, tuple(range(3, 3 + axes))
    if "G" in layout:
        parts = out.transposed(weight, permutation(layout, f"G{wanted}"))
    else:
        turned = out.transposed(weight, permutation(layout, wanted))
        channels, *rest = out.shape(turned)
        parts = out.reshaped(turned, [groups, channels // groups, *rest])
    swapped = out.transposed(parts, (0, 2, 1, *taps))
    _, first, *rest = out.shape(swapped)
    return out.reshaped(swapped, [groups * first, *rest])


def _quantized_conv() -> Operator:
    plain = _conv(2)
    return replace(
        plain,
        check=lambda call: quantized.why_no_product(call) or plain.check(call),
        integers=True,
        beyond_tvm=True,
    )


def _quantized(kind: str, check: Check) -> Operator:
    return Operator(kind, check=check, integers=True, beyond_tvm=True)


def _check_quantized_dense(call: Call) -> str | None:
    return quantized.why_no_product(call) or _check_dense(call)


def _check_relayout(call: Call) -> str | None:
    layouts = call.attrs.src_layout, call.attrs.dst_layout
    shape = call.args[0].checked_type.shape
    if pads_blocks(shape, *layouts):
        return f"{tuple(shape)} does not fill the blocks of {layouts[1]}"
    return None


def _conv(axes: int, transposed: bool = False, offered: bool = True) -> Operator:
    def attrs_of(attrs: Attrs) -> dict[str, Any]:
        found = {**_window(attrs, axes), "groups": attrs.groups}
        if transposed:
            found["output_padding"] = list(attrs.output_padding[:axes])
        return found

    weight = _transposed_weight if transposed else _conv_weight
    check = _check_transposed if transposed else _check_conv
    return Operator(
        f"conv{axes}d{'_transpose' if transposed else ''}",
        attrs_of,
        lambda call: check(call, axes),
        offered=offered,
        layouts=lambda attrs: _layouts(attrs, axes),
        weight=lambda out, tensor, attrs: weight(out, tensor, attrs, axes),
    )


def _pool(name: str, axes: int, offered: bool = True) -> Operator:
    def attrs_of(attrs: Attrs) -> dict[str, Any]:
        found = {"pool_size": list(attrs.pool_size), **_window(attrs, axes)}
        if "count_include_pad" in attrs:
            found["count_include_pad"] = attrs.count_include_pad
        return found

    return Operator(
        f"{name}_pool{axes}d",
        attrs_of,
        lambda call: _check_pool(call, axes),
        offered=offered,
        layouts=lambda attrs: _layouts(attrs, axes),
    )


def _global_pool(name: str, offered: bool) -> Operator:
    return Operator(
        f"global_{name}_pool2d",
        check=lambda call: _check_layouts(call.attrs, 2),
        offered=offered,
        layouts=lambda attrs: _layouts(attrs, 2),
    )


def _matmul_attrs(attrs: Attrs) -> dict[str, Any]:
    return {"transpose_a": attrs.transpose_a, "transpose_b": attrs.transpose_b}


def eltwise(alg: str, parameters: Callable[[Any], dict[str, float]] = lambda attrs: {}) -> Operator:
    """An operator that is the native eltwise operation `alg`."""
    return Operator("eltwise", lambda attrs: {"alg": alg, **parameters(attrs)}, post_op=True)


def _clip_attrs(attrs: Attrs) -> dict[str, Any]:
    """An infinite bound is the largest number of float32: for infinite data, the result is that."""
    low, high = attrs.a_min, attrs.a_max
    if low == 0 and high > FLOAT32_MAX:
        return {"alg": "relu"}
    return {"alg": "clip", "alpha": max(low, -FLOAT32_MAX), "beta": min(high, FLOAT32_MAX)}


def _binary(alg: str, offered: bool = True) -> Operator:
    return Operator("binary", lambda attrs: {"alg": alg}, post_op=True, offered=offered)


_RESHAPE = Operator("reshape", offered=False)

OPERATORS: dict[str, Operator] = {
    "nn.conv1d": _conv(1),
    "nn.conv2d": _conv(2),
    "nn.conv3d": _conv(3),
    "nn.conv1d_transpose": _conv(1, transposed=True, offered=False),
    "nn.conv2d_transpose": _conv(2, transposed=True),
    "nn.conv3d_transpose": _conv(3, transposed=True),
    "nn.dense": Operator("dense", check=_check_dense),
    "nn.batch_matmul": Operator("matmul", _matmul_attrs),
    "nn.batch_norm": Operator(
        "batch_norm", lambda attrs: {"epsilon": attrs.epsilon}, _check_batch_norm
    ),
    "nn.layer_norm": Operator(
        "layer_norm", lambda attrs: {"epsilon": attrs.epsilon}, _check_layer_norm
    ),
    "nn.max_pool1d": _pool("max", 1, offered=False),
    "nn.max_pool2d": _pool("max", 2),
    "nn.max_pool3d": _pool("max", 3),
    "nn.avg_pool1d": _pool("avg", 1, offered=False),
    "nn.avg_pool2d": _pool("avg", 2),
    "nn.avg_pool3d": _pool("avg", 3),
    "nn.global_avg_pool2d": _global_pool("avg", offered=True),
    "nn.global_max_pool2d": _global_pool("max", offered=False),
    "nn.softmax": Operator("softmax", lambda attrs: {"axis": attrs.axis}),
    "nn.log_softmax": Operator("log_softmax", lambda attrs: {"axis": attrs.axis}, offered=False),
    "nn.relu": eltwise("relu"),
    "nn.leaky_relu": eltwise("relu", lambda attrs: {"alpha": attrs.alpha}),
    "clip": Operator("eltwise", _clip_attrs, _check_clip, post_op=True),
    "tanh": eltwise("tanh"),
    "sigmoid": eltwise("sigmoid"),
    "abs": eltwise("abs"),
    "exp": eltwise("exp"),
    "log": eltwise("log"),
    "sqrt": eltwise("sqrt"),
    "round": eltwise("round"),
    "add": _binary("add"),
    "multiply": _binary("mul"),
    "subtract": _binary("sub", offered=False),
    "divide": _binary("div", offered=False),
    "maximum": _binary("max", offered=False),
    "minimum": _binary("min", offered=False),
    "nn.bias_add": Operator(
        "binary",
        lambda attrs: {"alg": "add", "axis": attrs.axis},
        post_op=True,
        beyond_tvm=True,
    ),
    "qnn.conv2d": _quantized_conv(),
    "qnn.dense": _quantized("dense", _check_quantized_dense),
    "qnn.requantize": _quantized("requantize", quantized.why_no_requantize),
    "qnn.quantize": _quantized("quantize", quantized.why_no_parameters),
    "qnn.dequantize": _quantized("dequantize", quantized.why_no_parameters),
    "qnn.add": _quantized("qadd", quantized.why_no_sum),
    "concatenate": Operator("concat", lambda attrs: {"axis": attrs.axis}, offered=False),
    "transpose": Operator("transpose", lambda attrs: {"axes": attrs.axes}, offered=False),
    "layout_transform": Operator(
        "transpose",
        lambda attrs: {"source": attrs.src_layout, "target": attrs.dst_layout},
        check=_check_relayout,
        offered=False,
    ),
    "nn.batch_flatten": _RESHAPE,
    "reshape": _RESHAPE,
    "expand_dims": _RESHAPE,
    "squeeze": _RESHAPE,
}


def takes(call: Call) -> bool | Refused:
    """Whether DNNL takes a typed call: the predicate that AnnotateTarget asks."""
    reason = why_not(call)
    return Refused(reason) if reason else True
