"""Annotations of regions: compiler_begin, compiler_end, stop_fusion.

All are identities on any type, including tuples and functions.
"""

from __future__ import annotations

from byoc_lab.relay.ir.attrs import Attr, AttrsType, string
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.registry import Arithmetic, builder, define_op, identity

COMPILER_ATTRS = AttrsType(
    "relay.attrs.CompilerAttrs", (Attr("compiler", string, doc="name of the external compiler"),)
)

for _name, _doc in (
    ("compiler_begin", "out = data, annotated as an input of a region for `compiler`."),
    ("compiler_end", "out = data, annotated as an output of a region for `compiler`."),
):
    define_op(
        f"annotation.{_name}",
        "data",
        identity,
        arithmetic=Arithmetic.COPY,
        reference=lambda attrs, x: x,
        attrs=COMPILER_ATTRS,
        attrs_key="",
        relax=lambda R, attrs, x: x,
        layout=layout_rules.elementwise,
        doc=_doc,
    )

define_op(
    "annotation.stop_fusion",
    "data",
    identity,
    reference=lambda attrs, x: x,
    relax=lambda R, attrs, x: x,
    layout=layout_rules.elementwise,
    doc="out = data; operators are not fused across it.",
    arithmetic=Arithmetic.COPY,
)

compiler_begin = builder(Op.get("annotation.compiler_begin"))
compiler_end = builder(Op.get("annotation.compiler_end"))
stop_fusion = builder(Op.get("annotation.stop_fusion"))
