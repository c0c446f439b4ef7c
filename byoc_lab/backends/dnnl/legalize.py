"""Legalisation of grouped convolutions: their weights in the form that DNNL's kernels have.

`legalize_group_conv` has the name and the signature of TVM 0.16's (python/tvm/relay/op/contrib/
dnnl.py): an `FTVMLegalize` attribute of an operator, (attributes, inputs, types) -> expression, or
None to leave the call unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.passes.framework.passes import FunctionPass, PassContext, register_pass
from byoc_lab.passes.framework.rewrite import rewrite, rule
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.tensor.shape import reshaped_to

GROUPED = {  # {operator: (weight layout, weight layout with a groups axis)}
    "nn.conv2d": ("OIHW", "GOIHW"),
    "nn.conv2d_transpose": ("IOHW", "GIOHW"),
}


def legalize_group_conv(attrs: Attrs, inputs: Sequence[Expr], types: Sequence[Type]) -> Expr | None:
    """A grouped nn.conv2d or nn.conv2d_transpose with its groups as an axis of the weight. OIHW
    becomes GOIHW; IOHW of a transposed convolution becomes GIOHW.
    """
    weight = types[1]
    name = "nn.conv2d_transpose" if "output_padding" in attrs else "nn.conv2d"
    plain, parted = GROUPED[name]
    if attrs.groups == 1 or attrs.kernel_layout != plain or not isinstance(weight, TensorType):
        return None
    if not weight.is_static:
        return None
    channels, *rest = weight.concrete_shape
    split = (attrs.groups, channels // attrs.groups, *rest)
    if name == "nn.conv2d" and attrs.channels not in (None, channels):  # O counts the inputs
        split = (channels, rest[0], 1, *rest[1:])
    reshaped = reshaped_to(inputs[1], split)
    return Call(Op.get(name), [inputs[0], reshaped], attrs.replace(kernel_layout=parted))


@rule("legalize group conv", "DNNL's weights have a separate axis for groups")
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
