"""`legalize_pad_avg_pool`: merges an nn.pad and the mean after it into one operator.

Name and signature are those of TVM 0.16's python/tvm/relay/op/contrib/dnnl.py: an `FTVMLegalize`
attribute of an operator, (attributes, inputs, types) -> expression, or None to leave the call
unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.relay import nn
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Call, Constant, Expr
from byoc_lab.relay.ir.types import Type


def legalize_pad_avg_pool(
    attrs: Attrs, inputs: Sequence[Expr], types: Sequence[Type]
) -> Expr | None:
    """Merge an nn.pad with zeros and the avg_pool2d after it into one avg_pool2d that counts its
    padding.

    TVM always writes a padding of 1; this function keeps the actual padding. If the padding is not
    around the image, or not zero, the call is unchanged.
    """
    padded = inputs[0]
    if not (isinstance(padded, Call) and padded.is_op("nn.pad")) or any(attrs.padding):
        return None
    data, value = padded.args
    width = padded.attrs.pad_width
    zero = isinstance(value, Constant) and not value.numpy().any()
    if attrs.layout != "NCHW" or any(n for axis in width[:2] for n in axis) or not zero:
        return None
    (top, bottom), (left, right) = width[2:]
    options = {name: attrs[name] for name in ("pool_size", "strides", "dilation", "layout")}
    pooled: Expr = nn.avg_pool2d(
        data,
        **options,
        ceil_mode=attrs.ceil_mode,
        padding=(int(top), int(left), int(bottom), int(right)),
        count_include_pad=True,
    )
    return pooled
