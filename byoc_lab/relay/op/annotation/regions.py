"""The marks of BYOC: where a region for an external compiler begins and ends.

Both are identities on any type, tuples and functions included.
"""

from __future__ import annotations

from byoc_lab.relay.ir.attrs import Attr, AttrsType, string
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.costs import no_flops
from byoc_lab.relay.op.framework.registry import builder, define_op, identity

COMPILER_ATTRS = AttrsType(
    "relay.attrs.CompilerAttrs",
    (Attr("compiler", string, doc="name of the external compiler"),),
)

for _name, _doc in (
    ("compiler_begin", "Marks a value that enters a region of `compiler`."),
    ("compiler_end", "Marks a value that leaves a region of `compiler`."),
):
    define_op(
        f"annotation.{_name}",
        "data",
        identity,
        reference=lambda attrs, x: x,
        attrs=COMPILER_ATTRS,
        attrs_key="",
        flops=no_flops,
        relax=lambda R, attrs, x: x,
        layout=layout_rules.elementwise,
        doc=_doc,
    )

define_op(
    "annotation.stop_fusion",
    "data",
    identity,
    reference=lambda attrs, x: x,
    flops=no_flops,
    relax=lambda R, attrs, x: x,
    layout=layout_rules.elementwise,
    doc="An identity that operators are not fused across.",
)

define_op(
    "annotation.checkpoint",
    "data",
    identity,
    reference=lambda attrs, x: x,
    flops=no_flops,
    relax=lambda R, attrs, x: x,
    doc="An identity that says that training computes data again instead of keeping it.",
)

compiler_begin = builder(Op.get("annotation.compiler_begin"))
compiler_end = builder(Op.get("annotation.compiler_end"))
stop_fusion = builder(Op.get("annotation.stop_fusion"))
checkpoint = builder(Op.get("annotation.checkpoint"))
