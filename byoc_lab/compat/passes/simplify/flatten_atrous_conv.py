"""FlattenAtrousConv: replaces a convolution of image blocks by a dilated convolution of the whole
image."""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.passes.framework.pattern_rewrite import PatternRewrite
from byoc_lab.relay.ir.expr import Call, Constant, Expr
from byoc_lab.relay.patterns import DFPattern, DFPatternCallback, is_op, wildcard

LAYOUT = "NHWC"
PLAIN = (1, 1)


class FlattenAtrousConv(PatternRewrite):
    """Replaces a convolution of image blocks by a dilated convolution of the whole image.

    nn.batch_to_space_nd(nn.conv2d(nn.space_to_batch_nd(%x), %w)) -> nn.conv2d(%x, %w, dilation=...)

    The padding is the padding of the blocks minus the crops. Unchanged: convolutions with strides,
    padding or dilation; different block sizes in the two operators; padding with a value other than
    the convolution's own (0, or the zero point of quantized data); layouts other than NHWC.

    Source: src/relay/transforms/flatten_atrous_conv.cc of TVM 0.16, which ignores the paddings:
    unless they keep the image's size, TVM's result is different.
    """

    def callbacks(self) -> Sequence[DFPatternCallback]:
        return [FlattenConv("nn.conv2d", 1), FlattenConv("qnn.conv2d", 5)]


class FlattenConv(DFPatternCallback):
    """The rewrite for an operator with `others` arguments after the data."""

    reason = "a convolution of image blocks equals a dilated convolution of the image"

    def __init__(self, op: str, others: int):
        super().__init__()
        self.pieces = is_op("nn.space_to_batch_nd")(wildcard())
        self.conv = is_op(op)(self.pieces, *(wildcard() for _ in range(others)))
        self.pattern = is_op("nn.batch_to_space_nd")(self.conv)

    def callback(self, pre: Expr, post: Expr, node_map: dict[DFPattern, list[Expr]]) -> Expr:
        (pieces,), (conv,) = node_map[self.pieces], node_map[self.conv]
        assert isinstance(post, Call) and isinstance(conv, Call) and isinstance(pieces, Call)
        own, blocks = conv.attrs, tuple(post.attrs.block_shape)
        plain = (own.strides, own.dilation) == (PLAIN, PLAIN) and not any(own.padding)
        same = tuple(pieces.attrs.block_shape) == blocks and len(blocks) == len(PLAIN)
        if not (plain and same and own.data_layout == LAYOUT and _pads_alike(pieces, conv)):
            return post
        sides = [
            [pad - crop for pad, crop in zip(pads, crops, strict=True)]
            for pads, crops in zip(pieces.attrs.paddings, post.attrs.crops, strict=True)
        ]
        if any(width < 0 for side in sides for width in side):
            return post
        (top, bottom), (left, right) = sides
        attrs = own.replace(dilation=blocks, padding=(top, left, bottom, right))
        return Call(conv.op, [pieces.args[0], *conv.args[1:]], attrs, span=conv.span)


def _pads_alike(pieces: Call, conv: Call) -> bool:
    """Whether the blocks are padded with the value that the convolution itself would use."""
    value = pieces.attrs.pad_value
    if not conv.is_op("qnn.conv2d"):
        return value == 0
    zero = conv.args[2]
    return isinstance(zero, Constant) and zero.numpy().size == 1 and value == zero.numpy().item()
