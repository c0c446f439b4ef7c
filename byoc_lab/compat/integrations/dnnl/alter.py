"""The layouts that oneDNN prefers for convolutions, for AlterOpLayout.

The names are those of TVM 0.16's python/tvm/relay/op/contrib/dnnl.py. A convolution stays unchanged
if TVM aborts (a network in NHWC) or writes a call without a valid type (channels that do not fill
their blocks, nested blocks).

Compiled regions choose layouts themselves, and oneDNN's preference depends on the machine, so
`partition_for_dnnl` does this only on request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from byoc_lab.backends.dnnl import native
from byoc_lab.errors import AttributeValueError
from byoc_lab.passes.framework.passes import register_pass
from byoc_lab.passes.layout.alter_op_layout import AlterOpLayout
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op, Var
from byoc_lab.relay.ir.layout import Layout
from byoc_lab.relay.ir.types import TensorType, Type

Ints = list[int]
# The axes of a weight before its spatial axes.
DIRECT, TRANSPOSED = ("OI", "GOI"), ("IO", "OI", "GIO", "GOI")


def get_shape(tensor: Any) -> tuple[Any, ...]:
    """The shape of a tensor type, a variable, a constant or a typed call."""
    shape: tuple[Any, ...] = _tensor_type(tensor).shape
    return shape


def get_dtype(tensor: Any) -> str:
    """The dtype of a tensor type, a variable, a constant or a typed call."""
    dtype: str = _tensor_type(tensor).dtype
    return dtype


def _tensor_type(tensor: Any) -> Any:
    if isinstance(tensor, TensorType):
        return tensor
    if isinstance(tensor, Var):
        return tensor.type_annotation or tensor.checked_type
    if isinstance(tensor, Constant):
        return tensor.data
    if isinstance(tensor, (list, tuple)):
        return tensor[-1]
    if isinstance(tensor, Expr):
        return tensor.checked_type
    raise TypeError(f"expected a tensor or its type, found {type(tensor).__name__}")


def tag2layout(input_data: str, is_weight: bool = False, conv_type: str = "Conv1D") -> str:
    """Converts a oneDNN format tag to a layout: "aBcd8b" is "NCHW8c" for data, "OIHW8i" for a
    weight.

    A weight with one axis more begins with the groups. Raises AttributeValueError for a letter
    without an axis in a convolution of that type.
    """
    rank = int(conv_type[4])
    spatial = "DHW"[3 - rank :]
    letters = "abcdef"[: len({c.lower() for c in input_data if c.isalpha()})]
    axes = f"OI{spatial}" if is_weight else f"NC{spatial}"
    axes = f"G{axes}" if is_weight and len(letters) > len(axes) else axes
    if len(letters) > len(axes) or any(
        c.isalpha() and c.lower() not in letters for c in input_data
    ):
        raise AttributeValueError(f"{input_data!r} has no axes of a {conv_type}: {axes}")
    name_of = dict(zip(letters, axes, strict=False))
    made, seen = "", set()
    for c in input_data:
        axis = name_of.get(c.lower(), c)
        made += axis.lower() if axis in seen else axis
        seen |= {axis} if c.isalpha() else set()
    return made


def get_optimal_layout_for_conv(
    data_layout: str,
    kernel_layout: str,
    weight_shape: str,
    out_shape: str,
    paddings: str,
    strides: str,
    dilates: str,
    groups: str,
    dtype: str,
) -> str:
    """The layouts that oneDNN chooses for data, weight and result: "aBcd8b,ABcd8b8a,aBcd8b".

    All arguments except the layouts and the dtype are lists of integers as text, "1,16,6,6";
    paddings are the padding before each axis, then after each axis. Raises AttributeValueError for
    layouts other than NCHW and OIHW or GOIHW (with any number of spatial axes), and oneDNN's error
    for an invalid convolution.
    """
    _check_layouts(data_layout, kernel_layout, DIRECT)
    weight, out, pads, steps, taps = map(
        _ints, (weight_shape, out_shape, paddings, strides, dilates)
    )
    parts, axes = int(groups), len(out) - 2
    kernel = weight[-axes:]
    inputs = weight[-axes - 1] * parts
    before, after = pads[: len(pads) // 2], pads[len(pads) // 2 :]
    size = [
        (n - 1) * s + (k - 1) * d + 1 - b - a
        for n, s, k, d, b, a in zip(out[2:], steps, kernel, taps, before, after, strict=True)
    ]
    data, weight = [out[0], inputs, *size], _in_groups(parts, out[1], inputs, kernel)
    return _optimal(False, data, weight, out, steps, [d - 1 for d in taps], before, after, dtype)


def get_optimal_layout_for_conv_transpose(
    data_layout: str,
    kernel_layout: str,
    weight_shape: str,
    out_shape: str,
    paddings: str,
    output_paddings: str,
    strides: str,
    dilates: str,
    groups: str,
    dtype: str,
) -> str:
    """Like `get_optimal_layout_for_conv`, for a transposed convolution; weight IOHW or OIHW."""
    _check_layouts(data_layout, kernel_layout, TRANSPOSED)
    weight, out, pads, more, steps, taps = map(
        _ints, (weight_shape, out_shape, paddings, output_paddings, strides, dilates)
    )
    parts, axes = int(groups), len(out) - 2
    kernel, pair = weight[-axes:], weight[-axes - 2 : -axes]
    if len(weight) == axes + 3:
        pair = [n * parts for n in pair]
    elif parts > 1:
        pair = [pair[0], pair[1] * parts]
    inputs = pair[1] if pair[0] == out[1] else pair[0]
    before, after = pads[: len(pads) // 2], pads[len(pads) // 2 :]
    after = [a - e for a, e in zip(after, more, strict=True)]
    size = [
        (n - (k - 1) * d - 1 + b + a) // s + 1
        for n, s, k, d, b, a in zip(out[2:], steps, kernel, taps, before, after, strict=True)
    ]
    data, weight = [out[0], inputs, *size], _in_groups(parts, out[1], inputs, kernel)
    return _optimal(True, data, weight, out, steps, [d - 1 for d in taps], before, after, dtype)


def _optimal(*question: Any) -> str:
    layouts: str = native.function("optimal_layouts")(*question)
    return layouts


def _in_groups(groups: int, outputs: int, inputs: int, kernel: Ints) -> Ints:
    if groups == 1:
        return [outputs, inputs, *kernel]
    return [groups, outputs // groups, inputs // groups, *kernel]


def _ints(text: str) -> Ints:
    return [int(n) for n in text.split(",")]


def _check_layouts(data: str, kernel: str, channels: Sequence[str]) -> None:
    spatial = data[2:]
    if data[:2] != "NC" or spatial not in ("W", "HW", "DHW"):
        raise AttributeValueError(f"data_layout must be NCW, NCHW or NCDHW, found {data!r}")
    known = [f"{c}{spatial}" for c in channels]
    if kernel not in known:
        raise AttributeValueError(f"kernel_layout must be {' or '.join(known)}, found {kernel!r}")


def alter_conv(
    attrs: Attrs, inputs: Sequence[Expr], tinfos: Sequence[Type], out_type: Type
) -> Call | None:
    """A convolution in the layouts that oneDNN chooses, as `FTVMAlterOpLayout`."""
    return _altered("", attrs, inputs, tinfos, out_type)


def alter_conv_transpose(
    attrs: Attrs, inputs: Sequence[Expr], tinfos: Sequence[Type], out_type: Type
) -> Call | None:
    """A transposed convolution in the layouts that oneDNN chooses, as `FTVMAlterOpLayout`."""
    return _altered("_transpose", attrs, inputs, tinfos, out_type)


def _altered(
    kind: str, attrs: Attrs, inputs: Sequence[Expr], tinfos: Sequence[Type], out_type: Type
) -> Call | None:
    rank = len(attrs.strides)
    text = {
        "weight_shape": get_shape(tinfos[1]),
        "out_shape": get_shape(out_type),
        "paddings": attrs.get_int_tuple("padding"),
        "strides": attrs.get_int_tuple("strides"),
        "dilates": attrs.get_int_tuple("dilation"),
    }
    query: Callable[..., str] = get_optimal_layout_for_conv
    if kind:
        query = get_optimal_layout_for_conv_transpose
        text["output_paddings"] = attrs.get_int_tuple("output_padding")
    plain = {"data_layout": attrs.data_layout, "kernel_layout": attrs.kernel_layout}
    orders = TRANSPOSED if kind else DIRECT
    try:
        _check_layouts(attrs.data_layout, attrs.kernel_layout, orders)
    except AttributeValueError:
        return None
    found = query(
        **plain,
        **{name: ",".join(map(str, values)) for name, values in text.items()},
        groups=str(attrs.groups),
        dtype=get_dtype(tinfos[1]),
    )
    names = [tag2layout(tag, n == 1, f"Conv{rank}D") for n, tag in enumerate(found.split(","))]
    shapes = [get_shape(t) for t in (*tinfos[:2], out_type)]
    axes = [attrs.data_layout, attrs.kernel_layout, attrs.out_layout or attrs.data_layout]
    if not all(map(_fills, names, axes, shapes)):
        return None
    changed = attrs.replace(data_layout=names[0], kernel_layout=names[1], out_layout=names[2])
    return Call(Op.get(f"nn.conv{rank}d{kind}"), list(inputs), changed)


def _fills(layout: str, axes: str, shape: Sequence[Any]) -> bool:
    """Whether a tensor with these axes fills the blocks of a layout."""
    try:
        wanted = Layout(layout)
    except AttributeValueError:  # nested blocks, for which Relay has no name
        return False
    same = sorted(axes) == sorted(str(wanted.plain))
    return same and not any(n % (wanted.block_of(a) or 1) for a, n in zip(axes, shape, strict=True))


ALTER = {
    **dict.fromkeys(("nn.conv1d", "nn.conv2d", "nn.conv3d"), alter_conv),
    **dict.fromkeys(("nn.conv2d_transpose", "nn.conv3d_transpose"), alter_conv_transpose),
}


class AlterConvLayout(AlterOpLayout):
    """AlterOpLayout with DNNL's functions for convolutions, even if other functions are
    registered."""

    def alter_of(self, op: Op) -> Any:
        return ALTER.get(op.name) or super().alter_of(op)


register_pass(AlterConvLayout.__name__, AlterConvLayout)
