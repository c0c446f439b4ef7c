"""The operators that DNNL supports: for each Relay operator, the native operation that implements
it.

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

from byoc_lab.backends.dnnl import checks, native, quantized
from byoc_lab.backends.dnnl.graph import DnnlGraphWriter
from byoc_lab.backends.registry import Refused
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Call, Op
from byoc_lab.relay.ir.layout import Layout
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op.framework.layout import permutation


@dataclass(frozen=True)
class Layouts:
    """The layouts of data and result, and the runtime's layout: "NCHW"."""

    data: str
    result: str
    canonical: str


@dataclass(frozen=True)
class Operator:
    """One Relay operator in native terms.

    kind: of the native operation ("reshape" only moves the data).
    attrs(attributes of the call) -> attributes of the native operation.
    check(call) -> the reason why this call is not supported, or None. Types are checked before.
    post_op: whether it can be fused into the producer of its (first) operand.
    offered: whether AnnotateTarget annotates it. Other operators, which TVM's DNNL also leaves to
        the host, still compile inside a region that was annotated by hand.
    beyond_tvm: whether it is offered here and not by TVM 0.16's DNNL; `byoc_lab.compat` leaves such
        operators to the host, as TVM does (see `AnnotateTarget`).
    dtypes: of operands and result, which are the same.
    integers: whether its operands are quantized; then `check` checks the dtypes.
    compute_intensive: whether it is worth a call of DNNL: PruneSubgraphs inlines regions without
        such an operator. As in TVM, which omits quantized operators by mistake.
    layouts(attributes of the call): for operators with several possible axis orders of the data.
    weight(graph, tensor, attributes of the call): a weight of any layout in the runtime's layout.
    """

    kind: str
    attrs: Callable[[Any], Mapping[str, Any]] = lambda attrs: {}
    check: checks.Check = lambda call: None
    post_op: bool = False
    offered: bool = True
    beyond_tvm: bool = False
    dtypes: Sequence[str] = checks.DTYPES
    integers: bool = False
    compute_intensive: bool = False
    layouts: Callable[[Any], Layouts] | None = None
    weight: Callable[[DnnlGraphWriter, int, Any], int] = lambda out, tensor, attrs: tensor


def why_not(call: Call, chained: bool = False) -> str | None:
    """The reason why DNNL cannot compute this operator call; None if it can.

    `call` must be typed. chained: whether it is part of a quantized chain, in which some operators
    work on integers (`quantized.why_no_step`).

    None does not mean that AnnotateTarget annotates it: see `Operator.offered`.
    """
    op = call.op if isinstance(call.op, Op) else None
    name = op.name if op else None
    if chained and quantized.is_step(call):
        return quantized.why_no_step(call)
    if op is None or name not in OPERATORS:
        return f"DNNL has no counterpart of {name or 'a call of a function'}"
    operator = OPERATORS[name]
    dtypes = native.DTYPES if operator.integers else operator.dtypes
    reason = checks.check_types(call, dtypes, one=not operator.integers) or operator.check(call)
    if not reason and not operator.integers:
        reason = checks.check_finite(operator.attrs(op.definition.attributes(call.attrs)))
    return f"{name}: {reason}" if reason else None


def is_compute_intensive(name: str) -> bool:
    """Whether an operator is worth a call of DNNL."""
    return name in OPERATORS and OPERATORS[name].compute_intensive


def channels_of(call: Call) -> int:
    """The number of channels of a convolution's result, including channels in blocks; 0 if it is
    unknown."""
    attrs, result = call.attrs, call.checked_type
    assert attrs is not None and isinstance(result, TensorType)
    layout = Layout(attrs.out_layout or attrs.data_layout)
    channels = result.shape[layout.index_of("C")]
    return channels * (layout.block_of("C") or 1) if isinstance(channels, int) else 0


# The table ---------------------------------------------------------------------------------------


def _window(attrs: Attrs, axes: int) -> dict[str, Any]:
    return {
        "strides": list(attrs.strides),
        "padding": checks.both_sides(attrs.padding, axes),
        "dilation": list(attrs.dilation),
    }


def _layouts(attrs: Attrs, axes: int) -> Layouts:
    """The result of a pooling has the layout of its data, for any out_layout."""
    if "layout" in attrs:
        return Layouts(attrs.layout, attrs.layout, checks.DATA[axes])
    return Layouts(attrs.data_layout, attrs.out_layout or attrs.data_layout, checks.DATA[axes])


def _conv_weight(out: DnnlGraphWriter, weight: int, attrs: Attrs, axes: int) -> int:
    """A weight of any layout in the runtime's layout: (O, C / groups, ...)."""
    layout, wanted = attrs.kernel_layout, checks.WEIGHT[axes]
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
    """A weight (C, O / groups, ...) of any layout in the runtime's layout: (O, C / groups, ...)."""
    layout, wanted = attrs.kernel_layout, checks.WEIGHT[axes].replace("OI", "IO")
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


def _quantized(kind: str, check: checks.Check) -> Operator:
    return Operator(kind, check=check, integers=True, beyond_tvm=True)


def _check_quantized_dense(call: Call) -> str | None:
    return quantized.why_no_product(call) or checks.check_dense(call)


def _conv(axes: int, transposed: bool = False, offered: bool = True) -> Operator:
    def attrs_of(attrs: Attrs) -> dict[str, Any]:
        found = {**_window(attrs, axes), "groups": attrs.groups}
        if transposed:
            found["output_padding"] = list(attrs.output_padding[:axes])
        return found

    weight = _transposed_weight if transposed else _conv_weight
    check = checks.check_transposed if transposed else checks.check_conv
    return Operator(
        f"conv{axes}d{'_transpose' if transposed else ''}",
        attrs_of,
        lambda call: check(call, axes),
        offered=offered,
        compute_intensive=offered,
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
        lambda call: checks.check_pool(call, axes),
        offered=offered,
        dtypes=checks.NUMBERS if name == "max" else checks.DTYPES,
        layouts=lambda attrs: _layouts(attrs, axes),
    )


def _global_pool(name: str, offered: bool) -> Operator:
    return Operator(
        f"global_{name}_pool2d",
        check=lambda call: checks.check_layouts(call.attrs, 2),
        offered=offered,
        dtypes=checks.NUMBERS if name == "max" else checks.DTYPES,
        compute_intensive=offered,
        layouts=lambda attrs: _layouts(attrs, 2),
    )


def _matmul_attrs(attrs: Attrs) -> dict[str, Any]:
    return {"transpose_a": attrs.transpose_a, "transpose_b": attrs.transpose_b}


def eltwise(alg: str, parameters: Callable[[Any], dict[str, float]] = lambda attrs: {}) -> Operator:
    """An operator that is the native eltwise operation `alg`."""
    return Operator("eltwise", lambda attrs: {"alg": alg, **parameters(attrs)}, post_op=True)


def _clip_attrs(attrs: Attrs) -> dict[str, Any]:
    """Replaces infinite bounds by the largest float32 number, so infinite data gives that
    number."""
    low, high = attrs.a_min, attrs.a_max
    if low == 0 and high > checks.FLOAT32_MAX:
        return {"alg": "relu"}
    return {
        "alg": "clip",
        "alpha": max(low, -checks.FLOAT32_MAX),
        "beta": min(high, checks.FLOAT32_MAX),
    }


def _binary(alg: str, offered: bool = True) -> Operator:
    return Operator("binary", lambda attrs: {"alg": alg}, post_op=True, offered=offered)


def _move(kind: str, **options: Any) -> Operator:
    """An operator that moves elements of any dtype; only `OffloadDataMovement` offloads it."""
    return Operator(kind, offered=False, dtypes=native.DTYPES, **options)


_RESHAPE = _move("reshape")

OPERATORS: dict[str, Operator] = {
    "nn.conv1d": _conv(1),
    "nn.conv2d": _conv(2),
    "nn.conv3d": _conv(3),
    "nn.conv1d_transpose": _conv(1, transposed=True, offered=False),
    "nn.conv2d_transpose": _conv(2, transposed=True),
    "nn.conv3d_transpose": _conv(3, transposed=True),
    "nn.dense": Operator("dense", check=checks.check_dense, compute_intensive=True),
    "nn.batch_matmul": Operator("matmul", _matmul_attrs, compute_intensive=True),
    "nn.batch_norm": Operator(
        "batch_norm", lambda attrs: {"epsilon": attrs.epsilon}, checks.check_batch_norm
    ),
    "nn.layer_norm": Operator(
        "layer_norm",
        lambda attrs: {"epsilon": attrs.epsilon},
        checks.check_layer_norm,
        compute_intensive=True,
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
    "clip": Operator("eltwise", _clip_attrs, checks.check_clip, post_op=True),
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
    "qnn.dense": replace(_quantized("dense", _check_quantized_dense), compute_intensive=True),
    "qnn.requantize": _quantized("requantize", quantized.why_no_requantize),
    "qnn.quantize": _quantized("quantize", quantized.why_no_parameters),
    "qnn.dequantize": _quantized("dequantize", quantized.why_no_parameters),
    "qnn.add": _quantized("qadd", quantized.why_no_sum),
    "concatenate": Operator(
        "concat", lambda attrs: {"axis": attrs.axis}, offered=False, dtypes=checks.NUMBERS
    ),
    "image.resize2d": Operator(
        "resample2d",
        lambda attrs: {"size": list(attrs.size), "alg": attrs.method.removesuffix("_neighbor")},
        checks.check_resize,
        offered=False,
        layouts=lambda attrs: Layouts(attrs.layout, attrs.layout, checks.DATA[2]),
    ),
    "strided_slice": _move("slice", check=checks.check_slice),
    "transpose": _move("transpose", attrs=lambda attrs: {"axes": attrs.axes}),
    "layout_transform": _move(
        "transpose",
        attrs=lambda attrs: {"source": attrs.src_layout, "target": attrs.dst_layout},
        check=checks.check_relayout,
    ),
    "nn.batch_flatten": _RESHAPE,
    "reshape": _RESHAPE,
    "expand_dims": _RESHAPE,
    "squeeze": _RESHAPE,
}


def takes(call: Call) -> bool | Refused:
    """Whether DNNL supports a typed call: the predicate for AnnotateTarget."""
    reason = why_not(call)
    return Refused(reason) if reason else True
