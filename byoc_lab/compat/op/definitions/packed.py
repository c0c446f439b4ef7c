"""Convolution and dense on blocked layouts: contrib_conv2d_NCHWc, contrib_depthwise_conv2d_NCHWc,
contrib_dense_pack. They compute the same as nn.conv2d and nn.dense.

Source: `Conv2DNCHWcRel`, `DensePackRel` of TVM 0.16.
"""

from __future__ import annotations

from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, Attrs, AttrsType, dtype, integer, string
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.registry import Arithmetic, OpDef, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import NO_DTYPE, relation_of
from byoc_lab.relay.op.framework.relax_types import typed
from byoc_lab.relay.op.framework.windows import window_normalize
from byoc_lab.relay.op.tensor.blocks import (
    plain_layout,
    relayout_array,
    relayout_relax,
    relayout_type,
)

CONV: OpDef = Op.get("nn.conv2d").definition


def _plain(attrs: AnyValue) -> tuple[Attrs, str]:
    """The attributes of the equivalent plain convolution, and the layout of the result."""
    result = attrs.out_layout or attrs.data_layout
    data, kernel = plain_layout(attrs.data_layout), plain_layout(attrs.kernel_layout)
    return attrs.replace(data_layout=data, kernel_layout=kernel, out_layout=""), result


def _conv(op: str, word: str, doc: str) -> None:
    def result_type(attrs: AnyValue, x: TensorType, w: TensorType) -> Type:
        """data (N, C / c, H, W, c) and a blocked weight give a blocked result."""
        plain, result = _plain(attrs)
        flat = relayout_type(op, x, attrs.data_layout, plain.data_layout)
        kernel = relayout_type(op, w, attrs.kernel_layout, plain.kernel_layout)
        *_, out = relation_of(op, CONV, plain, flat, kernel)
        assert isinstance(out, TensorType)
        return relayout_type(op, out, plain.data_layout, result)

    def reference(attrs: AnyValue, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        plain, result = _plain(attrs)
        assert CONV.reference is not None
        flat = relayout_array(op, x, attrs.data_layout, plain.data_layout)
        kernel = relayout_array(op, w, attrs.kernel_layout, plain.kernel_layout)
        return relayout_array(op, CONV.reference(plain, flat, kernel), plain.data_layout, result)

    def relax(R: AnyValue, attrs: AnyValue, x: AnyValue, w: AnyValue) -> AnyValue:
        plain, result = _plain(attrs)
        assert CONV.relax is not None
        flat = relayout_relax(R, op, x, attrs.data_layout, plain.data_layout)
        kernel = relayout_relax(R, op, w, attrs.kernel_layout, plain.kernel_layout)
        out = typed(CONV.relax(R, plain, flat, kernel))
        return relayout_relax(R, op, out, plain.data_layout, result)

    def flops(attrs: AnyValue, args: AnyValue, result: TensorType) -> int:
        plain, blocked = _plain(attrs)
        assert CONV.flops is not None
        types = [
            relayout_type(op, args[0], attrs.data_layout, plain.data_layout),
            relayout_type(op, args[1], attrs.kernel_layout, plain.kernel_layout),
        ]
        return CONV.flops(plain, types, relayout_type(op, result, blocked, plain.data_layout))

    define_op(
        op,
        "data weight",
        result_type=result_type,
        reference=reference,
        attrs=CONV.attrs,
        flops=flops,
        relax=relax,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        layout=layout_rules.convolution,
        arithmetic=Arithmetic.CONVOLUTION,
        python_name=f"nn.{word}",
        parameters="data kernel=weight strides padding dilation groups channels kernel_size "
        "data_layout kernel_layout out_layout out_dtype",
        defaults={"data_layout": "NCHW8c"},
        normalize=window_normalize(2),
        doc=doc,
    )


_conv(
    "nn.contrib_conv2d_NCHWc",
    "contrib_conv2d_nchwc",
    "nn.conv2d of data and weight in blocked layouts, such as NCHW8c and OIHW8i8o.",
)
_conv(
    "nn.contrib_depthwise_conv2d_NCHWc",
    "contrib_depthwise_conv2d_nchwc",
    "Depthwise nn.conv2d of data and weight in blocked layouts, such as NCHW8c and OIHW1i8o.",
)

# nn.contrib_dense_pack ---------------------------------------------------------------------------

PACK = "nn.contrib_dense_pack"
DENSE: OpDef = Op.get("nn.dense").definition


def _dense_attrs(attrs: AnyValue) -> Attrs:
    assert DENSE.attrs is not None
    return DENSE.attrs.make(units=attrs.units, out_dtype=attrs.out_dtype)


def pack_type(attrs: AnyValue, x: TensorType, w: TensorType) -> Type:
    """data (M, K) and a blocked weight (units, K), such as NC8n, give (M, units)."""
    flat = relayout_type(PACK, w, attrs.weight_layout, "NC")
    *_, result = relation_of(PACK, DENSE, _dense_attrs(attrs), x, flat)
    assert result is not None
    return result


def pack_reference(attrs: AnyValue, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    assert DENSE.reference is not None
    return DENSE.reference(
        _dense_attrs(attrs), x, relayout_array(PACK, w, attrs.weight_layout, "NC")
    )


def _pack_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, w: AnyValue) -> AnyValue:
    assert DENSE.relax is not None
    flat = relayout_relax(R, PACK, typed(w), attrs.weight_layout, "NC")
    return DENSE.relax(R, _dense_attrs(attrs), x, flat)


def _pack_flops(attrs: AnyValue, args: AnyValue, result: TensorType) -> int:
    assert DENSE.flops is not None
    flat = relayout_type(PACK, args[1], attrs.weight_layout, "NC")
    return DENSE.flops(_dense_attrs(attrs), [args[0], flat], result)


define_op(
    PACK,
    "data weight",
    result_type=pack_type,
    reference=pack_reference,
    attrs=AttrsType(
        "relay.attrs.DensePackAttrs",
        (
            Attr(
                "units",
                integer,
                doc="number of outputs; None: as in the weight",
                may_be_none=True,
            ),
            Attr("out_dtype", dtype, NO_DTYPE, "dtype of the result; empty: the dtype of the data"),
            Attr("weight_layout", string, "NC", "layout of the weight"),
        ),
    ),
    attrs_key="relay.attrs.DenseAttrs",
    flops=_pack_flops,
    relax=_pack_relax,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    layout=layout_rules.packed_weight,
    parameters="data weight weight_layout units out_dtype",
    doc="nn.dense with the weight in a blocked layout, such as NC8n.",
)
