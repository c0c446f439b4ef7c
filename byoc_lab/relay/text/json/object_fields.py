"""Attribute fields that TVM stores as objects: in its JSON they are separate nodes.

All fields are, except plain numbers, strings and dtypes; but some numbers (Integer, Bool) and
strings (String) in C++ are objects too, which a schema does not record. Source: the attributes'
headers of TVM 0.16.
"""

from __future__ import annotations

from byoc_lab.relay.ir.attrs import Attr, AttrsType, boolean, dtype, integer, number, string

_BOXED = {
    "AdaptivePool1DAttrs": "out_layout", "AdaptivePool2DAttrs": "out_layout",
    "AdaptivePool3DAttrs": "out_layout", "AvgPool1DAttrs": "out_layout",
    "AvgPool2DAttrs": "layout out_layout", "AvgPool3DAttrs": "out_layout",
    "Conv1DAttrs": "data_layout kernel_layout out_layout",
    "Conv2DAttrs": "data_layout kernel_layout out_layout",
    "Conv3DAttrs": "data_layout kernel_layout out_layout",
    "Conv3DTransposeAttrs": "data_layout kernel_layout out_layout", "CorrelationAttrs": "layout",
    "DFTAttrs": "inverse", "DensePackAttrs": "weight_layout", "EinsumAttrs": "equation",
    "GatherAttrs": "axis", "GatherNDAttrs": "batch_dims", "GlobalPool2DAttrs": "layout out_layout",
    "GridSampleAttrs": "method layout padding_mode", "MaxPool1DAttrs": "out_layout",
    "MaxPool2DAttrs": "layout out_layout", "MaxPool3DAttrs": "out_layout",
    "MultinomialAttrs": "num_samples", "PadAttrs": "pad_mode", "RepeatAttrs": "repeats",
    "ReverseAttrs": "axis", "ReverseSequenceAttrs": "seq_axis batch_axis",
    "ScatterElementsAttrs": "axis reduction", "ScatterNDAttrs": "mode", "StackAttrs": "axis",
    "StridedSliceAttrs": "slice_mode", "TakeAttrs": "batch_dims mode",
    "UpSamplingAttrs": "layout method", "YoloReorgAttrs": "stride",
}  # fmt: skip


def is_object(schema: AttrsType, field: Attr) -> bool:
    """Whether TVM 0.16 stores the field as an object."""
    if field.name in _BOXED.get(schema.type_key.rpartition(".")[2], "").split():
        return True
    if field.kind is integer:
        return field.default is None or field.may_be_none
    return field.kind not in (number, boolean, dtype, string)
