"""FoldExplicitPadding: an `nn.pad` before a convolution or pool becomes that operator's padding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from byoc_lab.passes.framework.pattern_rewrite import PatternRewrite
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Call, Constant, Expr
from byoc_lab.relay.ir.ndarray import shown_array
from byoc_lab.relay.patterns import DFPattern, DFPatternCallback, is_op, wildcard

CONVOLUTIONS = tuple(f"nn.conv{rank}d" for rank in (1, 2, 3))
MAX_POOLS = tuple(f"nn.max_pool{rank}d" for rank in (1, 2, 3))
AVG_POOLS = tuple(f"nn.avg_pool{rank}d" for rank in (1, 2, 3))
QUANTIZED = "qnn.conv2d"


class FoldExplicitPadding(PatternRewrite):
    """An `nn.pad` before a convolution or pool becomes that operator's padding.

    `nn.conv2d(nn.pad(%x, 0), %w)` -> `nn.conv2d(%x, %w, padding=...)`, if only spatial axes are
    padded, with the same value as the operator's own padding: zero, the zero point of quantized
    data, or the smallest number for a maximum. Not changed: a pad with several users.

    Source: src/relay/transforms/fold_explicit_padding.cc of TVM 0.16.
    """

    def callbacks(self) -> Sequence[DFPatternCallback]:
        kinds = ((CONVOLUTIONS, 1), ((QUANTIZED,), 5), (MAX_POOLS + AVG_POOLS, 0))
        return [FoldPad(op, others) for names, others in kinds for op in names]


class FoldPad(DFPatternCallback):
    """The rewrite for an operator with `others` arguments after the data."""

    reason = ""

    def __init__(self, op: str, others: int):
        super().__init__()
        self.op = op
        self.pad = is_op("nn.pad")(wildcard(), wildcard())
        self.pattern = is_op(op)(self.pad, *(wildcard() for _ in range(others)))

    def callback(self, pre: Expr, post: Expr, node_map: dict[DFPattern, list[Expr]]) -> Expr:
        pad = node_map[self.pad][0]
        assert isinstance(post, Call) and isinstance(pad, Call)
        value = _scalar(pad.args[1])
        if pad.attrs.pad_mode != "constant" or value is None or value != self._own(post, value):
            return post
        padding = _spatial(pad.attrs.pad_width, post.attrs)
        attrs = None if padding is None else self._padded(post.attrs, padding)
        if attrs is None:
            return post
        self.reason = (
            f"{self.op} pads with {shown_array(value)} as well: padding={post.attrs.padding} "
            f"becomes padding={attrs.padding}"
        )
        return Call(post.op, [pad.args[0], *post.args[1:]], attrs, post.type_args, span=post.span)

    def _own(self, call: Call, value: np.ndarray) -> object:
        """The value of the operator's own padding."""
        if self.op == QUANTIZED:
            return _scalar(call.args[2])
        if self.op in MAX_POOLS:
            floating = np.issubdtype(value.dtype, np.floating)
            return np.finfo(value.dtype).min if floating else np.iinfo(value.dtype).min
        return 0

    def _padded(self, attrs: Attrs, more: Sequence[int]) -> Attrs | None:
        changes = {"padding": tuple(a + b for a, b in zip(attrs.padding, more, strict=True))}
        if self.op in AVG_POOLS and not attrs.count_include_pad:
            if any(attrs.padding):  # the mean would count only a part of the zeros
                return None
            return attrs.replace(**changes, count_include_pad=True)
        return attrs.replace(**changes)


def _scalar(expr: Expr) -> np.ndarray | None:
    """The value of a constant that is one number."""
    value = expr.numpy() if isinstance(expr, Constant) else None
    return value if value is not None and value.size == 1 else None


def _spatial(widths: Sequence[Sequence[int]], attrs: Attrs) -> list[int] | None:
    """The pad widths along spatial axes: all widths before, then all widths after; None if other
    axes are padded.
    """
    layout = attrs.get("data_layout") or attrs.layout
    named = list(zip(layout, widths, strict=True))
    if any(any(width) for letter, width in named if letter not in "DHW"):
        return None
    return [width[end] for end in (0, 1) for letter, width in named if letter in "DHW"]
