"""Quantized chains in the form that TVM 0.16 gives DNNL: float32 after the product.

Name and form are those of python/tvm/relay/op/contrib/dnnl.py. With S for a scale and z for a zero
point, (product + bias) requantized, clipped, cast, and perhaps summed with `other` becomes

    real = cast(product without zero points) + shift
    real = clip(real * (S_in / S_out)) * (S_left / S_sum)
    real = real + (S_right / S_sum) * cast(other) + z
    cast(real)

`patterns.pattern_table` knows both forms. This form ends with a cast, which truncates (TVM's DNNL
kernels round instead), so results may be one less than Relay's. DNNL also runs quantized chains
without this conversion (`quantized.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import PassContext, Sequential, register_pass
from byoc_lab.passes.framework.pattern_rewrite import PatternRewrite
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op, const
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op import builder
from byoc_lab.relay.patterns import (
    DFPattern,
    DFPatternCallback,
    is_constant,
    is_expr,
    is_op,
    wildcard,
)
from byoc_lab.relay.typing.infer import infer_expr

NodeMap = dict[DFPattern, list[Expr]]
# For a chain without a sum: scale and zero point of both summands and of the result.
ONE, NONE = const(1.0, "float32"), const(0, "int32")
NO_SUM = [ONE, NONE, const(0.0, "float32"), NONE, ONE, NONE]


class LegalizeQnnOpForDnnl(DFPatternCallback):
    """product (, bias), requantize, clip, cast (, qnn.add, clip) -> product, float32, cast.

    Four bugs of TVM are fixed. (1) TVM always clips to [0, 255]; here the bounds of the clip are
    used. (2) TVM multiplies per-channel scales as if the channels were the last axis. (3) TVM also
    subtracts the zero point of the data in padded borders, which is wrong: a chain with such a
    padding is unchanged. (4) TVM drops the clip after the sum, which is correct only if the cast
    has the same bounds: other chains are unchanged.
    """

    def __init__(self) -> None:
        super().__init__()
        self.data, self.weight, self.bias, self.other = (wildcard() for _ in range(4))
        self.data_zero = is_constant()
        zero = is_expr(const(0))
        self.root = (is_op("qnn.conv2d") | is_op("qnn.dense"))(
            self.data, self.weight, self.data_zero, zero, is_constant(), is_constant()
        )
        self.ends = [is_constant() for _ in range(4)]
        self.sums = [is_constant() for _ in range(6)]
        biased = is_op("add")(self.root, self.bias) | self.root
        self.clip = is_op("clip")(is_op("qnn.requantize")(biased, *self.ends))
        narrow = is_op("cast")(self.clip)
        self.last = is_op("clip")(is_op("qnn.add")(narrow, self.other, *self.sums))
        self.pattern = self.last | narrow

    def callback(self, pre: Expr, post: Expr, node_map: NodeMap) -> Expr:
        root, clip = node_map[self.root][0], node_map[self.clip][0]
        data, weight, data_zero = (node_map[p][0] for p in (self.data, self.weight, self.data_zero))
        result = pre.checked_type
        assert isinstance(root, Call) and isinstance(clip, Call) and isinstance(result, TensorType)
        layout, weight_layout = _layouts(root)
        padded = root.is_op("qnn.conv2d") and any(root.attrs.padding)
        shifts_border = padded and _number(data_zero) != 0
        summed = self.other in node_map
        bias = node_map[self.bias][0] if self.bias in node_map else const(0, "int32")
        if layout is None or shifts_border or (summed and not _cuts_as_cast(post, result.dtype)):
            return post
        if not _is_bias(bias, layout):
            return post

        in_scale, in_zero, out_scale, out_zero = (node_map[p][0] for p in self.ends)
        sums = [node_map[p][0] for p in self.sums] if summed else NO_SUM
        left_scale, left_zero, right_scale, right_zero, sum_scale, sum_zero = sums
        offset = (
            _real(sum_zero)
            - _real(left_zero) * left_scale / sum_scale
            - _real(right_zero) * right_scale / sum_scale
        )
        axes = [weight_layout.index("O")]
        units = _call("sum", _call("cast", weight, dtype="int32"), axis=axes, exclude=True)
        shift = (
            _real(_vector(bias, layout))
            - _real(data_zero * units)
            - _real(in_zero)
            + _real(out_zero) * out_scale / in_scale
        )
        # One shared zero: the pattern of such a chain (also in TVM) requires the same node twice.
        zero = const(0, "int32")
        product = Call(root.op, [data, weight, zero, zero, ONE, ONE], root.attrs)
        real = _real(product) + _along_channels(shift, layout)
        real = real * _along_channels(in_scale / out_scale, layout)
        bounds = {"a_min": clip.attrs.a_min, "a_max": clip.attrs.a_max}
        real = _call("clip", real, **bounds) * (left_scale / sum_scale)
        if summed:
            real = real + (right_scale / sum_scale) * _real(node_map[self.other][0])
        return _call("cast", real + offset, dtype=result.dtype)


def _call(name: str, *args: Expr, **attrs: object) -> Expr:
    call: Expr = builder(Op.get(name))(*args, **attrs)
    return call


def _real(expr: Expr) -> Expr:
    return _call("cast", expr, dtype="float32")


def _number(expr: Expr) -> int:
    assert isinstance(expr, Constant)
    return int(expr.numpy())


def _layouts(root: Call) -> tuple[str | None, str]:
    """The layouts of the result and of the weight; None for a blocked result."""
    if root.is_op("qnn.dense"):
        return "NC", "OI"
    attrs = root.attrs
    assert attrs is not None
    layout = attrs.out_layout or attrs.data_layout
    return (layout if layout.isalpha() else None), attrs.kernel_layout


def _cuts_as_cast(last: Expr, dtype: str) -> bool:
    """Whether the bounds of an integer clip equal the range of its dtype."""
    assert isinstance(last, Call) and last.attrs is not None
    limits = np.iinfo(dtype)
    return bool(last.attrs.a_min <= limits.min and last.attrs.a_max >= limits.max)


def _rank(expr: Expr) -> int:
    ty = infer_expr(expr).checked_type
    assert isinstance(ty, TensorType)
    return len(ty.shape)


def _is_bias(added: Expr, layout: str) -> bool:
    """Whether all axes of a product's addend except the channels have size 1."""
    ty = infer_expr(added).checked_type
    assert isinstance(ty, TensorType)
    channels = layout.index("C") - len(layout) + len(ty.shape)
    others = [size for n, size in enumerate(ty.shape) if n != channels]
    return len(ty.shape) <= len(layout) and all(size == 1 for size in others)


def _vector(bias: Expr, layout: str) -> Expr:
    """A bias as a vector over the channels."""
    rank = _rank(bias)
    channels = layout.index("C") - len(layout) + rank
    return _call("squeeze", bias, axis=[n for n in range(rank) if n != channels])


def _along_channels(numbers: Expr, layout: str) -> Expr:
    """A scalar, or one value per channel, reshaped to broadcast to a tensor in `layout`."""
    behind = len(layout) - layout.index("C") - 1
    if _rank(numbers) == 0 or behind == 0:
        return numbers
    return _call("expand_dims", numbers, axis=1, num_newaxis=behind)


class LegalizeQnn(PatternRewrite):
    """Converts quantized chains to float32 after the product, as TVM's DNNL integration does."""

    reason = "TVM's DNNL kernels rescale in float32"

    def callbacks(self) -> Sequence[DFPatternCallback]:
        return [LegalizeQnnOpForDnnl()]


register_pass("LegalizeQnn", LegalizeQnn)


def legalize_qnn_for_dnnl(mod: IRModule) -> IRModule:
    """`mod` after LegalizeQnn, with its new constants folded."""
    with PassContext(opt_level=3):
        return Sequential([LegalizeQnn(), InferType(), FoldConstant()])(mod)
