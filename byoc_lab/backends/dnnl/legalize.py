"""Legalisations: the same computation in the form that DNNL's kernels have.

The two functions have the names and the signature of TVM 0.16's (python/tvm/relay/op/contrib/
dnnl.py): `FTVMLegalize` attributes of operators, (attributes, inputs, types) -> expression or None
for "as it is".
"""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.passes.framework.passes import FunctionPass, PassContext, register_pass
from byoc_lab.passes.framework.rewrite import rewrite, rule
from byoc_lab.relay import nn
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op import builder

GROUPED = {  # operators, the layout of their weights, and the one with groups as an axis
    "nn.conv2d": ("OIHW", "GOIHW"),
    "nn.conv2d_transpose": ("IOHW", "GIOHW"),
}


def legalize_group_conv(attrs: Attrs, inputs: Sequence[Expr], types: Sequence[Type]) -> Expr | None:
    """A grouped nn.conv2d or nn.conv2d_transpose with its groups as an axis of the weight.

    OIHW becomes GOIHW, and IOHW of the transposed one GIOHW.
    """
    weight = types[1]
    name = "nn.conv2d_transpose" if "output_padding" in attrs else "nn.conv2d"
    plain, parted = GROUPED[name]
    if attrs.groups == 1 or attrs.kernel_layout != plain or not isinstance(weight, TensorType):
        return None
    channels, *rest = weight.concrete_shape
    split = (attrs.groups, channels // attrs.groups, *rest)
    if name == "nn.conv2d" and attrs.channels not in (None, channels):  # O counts the inputs
        split = (channels, rest[0], 1, *rest[1:])
    reshaped = builder(Op.get("reshape"))(inputs[1], newshape=split)
    return Call(Op.get(name), [inputs[0], reshaped], attrs.replace(kernel_layout=parted))


def legalize_pad_avg_pool(
    attrs: Attrs, inputs: Sequence[Expr], types: Sequence[Type]
) -> Expr | None:
    """nn.pad with zeros and an avg_pool2d behind it as one avg_pool2d that counts its padding.

    TVM writes a padding of 1 whatever was padded; here it is what was there, and anything but
    zeros around the image is left alone.
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


@rule("legalize group conv", "DNNL's weights have groups as an axis of their own")
def _group_conv(pre: Expr, post: Expr) -> Expr | None:
    if not (isinstance(pre, Call) and isinstance(pre.op, Op) and pre.op.name in GROUPED):
        return None
    assert isinstance(post, Call)
    return legalize_group_conv(pre.attrs, post.args, [a.checked_type for a in pre.args])


class LegalizeGroupConv(FunctionPass):
    """Every grouped nn.conv2d and nn.conv2d_transpose gets a weight with groups as an axis."""

    required = ("InferType",)

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        legalized: Function = rewrite(func, [_group_conv])
        return legalized


register_pass("LegalizeGroupConv", LegalizeGroupConv)
