"""Checks of operator calls that DNNL may support: types, shapes and attributes.

Each check returns None, or the reason for a refusal. `operators.py` states which operators
AnnotateTarget annotates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from byoc_lab.relay.analysis.known_sizes import follows_from_inputs
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Call, Constant, Tuple
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.op.framework.layout import is_permutation
from byoc_lab.relay.op.image.resize import resize_positions, resize_taps, sample_positions
from byoc_lab.relay.op.tensor.blocks import plain_layout
from byoc_lab.relay.op.tensor.relayout import pads_blocks

DTYPES = ("float32", "bfloat16")
NUMBERS = (*DTYPES, "uint8", "int8")  # for operators that compare or move elements
MAX_RANK = 6
# The layouts of the native operations, by the number of spatial axes.
DATA = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
WEIGHT = {1: "OIW", 2: "OIHW", 3: "OIDHW"}
FLOAT32_MAX = float(np.finfo(np.float32).max)

Check = Callable[[Call], str | None]


def check_types(call: Call, dtypes: Sequence[str], one: bool = True) -> str | None:
    """Check the types of operands and result. one: whether all must have the same dtype.

    Sizes that follow from the inputs are known when a region is compiled; sizes that depend on
    values are not.
    """
    # A tuple literal as argument is a list of operands.
    operands = [
        (f"argument {n}", operand)
        for n, arg in enumerate(call.args)
        for operand in (arg.fields if isinstance(arg, Tuple) else [arg])
    ]
    result = call.checked_type
    result = result.fields[0] if isinstance(result, TupleType) else result
    for what, operand in operands:
        # Constants may have any rank: blocked weights are reordered at compile time.
        most = None if isinstance(operand, Constant) else MAX_RANK
        reason = _check_type(what, operand.checked_type, dtypes, most)
        if reason:
            return reason
    reason = _check_type("the result", result, dtypes)
    known = not isinstance(result, TensorType) or result.is_static or follows_from_inputs(call)
    if not reason and not known:
        return f"the result must have a shape that does not depend on values, found {result}"
    if reason or not one:
        return reason
    for what, operand in operands:
        ty = operand.checked_type
        assert isinstance(ty, TensorType) and isinstance(result, TensorType)
        if ty.dtype != result.dtype:
            return f"{what} must have the dtype of the result {result}, found {ty}"
    return None


def check_finite(attrs: Mapping[str, Any]) -> str | None:
    """Check that attributes are finite in float32, in which the runtime computes."""
    for name, value in attrs.items():
        if isinstance(value, float) and not abs(value) <= FLOAT32_MAX:
            return f"{name} must be finite in float32, found {value}"
    return None


def _check_type(
    what: str, ty: Type, dtypes: Sequence[str], most: int | None = MAX_RANK
) -> str | None:
    if not isinstance(ty, TensorType):
        return f"{what} must be a tensor, found {ty}"
    if ty.dtype not in dtypes:
        return f"{what} must be {' or '.join(dtypes)}, found {ty}"
    if most is not None and len(ty.shape) > most:
        return f"{what} must have at most {most} dimensions, found {ty}"
    if any(n == 0 for n in ty.shape if isinstance(n, int)):
        return f"{what} must have elements, found {ty}"
    return None


def both_sides(padding: Sequence[int], axes: int) -> list[int]:
    """Padding in Relay's form (one number, one per axis, or both sides) as all before, then all
    after."""
    pads = list(padding)
    if len(pads) == 1:
        pads *= axes
    return pads * 2 if len(pads) == axes else pads


def _only(attrs: Attrs, **wanted: tuple[Any, ...]) -> str | None:
    for name, allowed in wanted.items():
        if attrs[name] not in allowed:
            return f"{name} must be {allowed[-1]!r}, found {attrs[name]!r}"
    return None


def check_layouts(attrs: Attrs, axes: int) -> str | None:
    """Check the layouts of data and result: any order of N, C and the spatial axes, with or without
    blocks."""
    for name in ("data_layout", "layout", "out_layout"):
        layout = attrs.get(name, "")
        if layout and not is_permutation(plain_layout(layout), DATA[axes]):
            return f"{name} must be an order of {DATA[axes]}, found {layout!r}"
    return None


def check_conv(call: Call, axes: int) -> str | None:
    attrs = call.attrs
    assert attrs is not None
    kernel = WEIGHT[axes]
    layout = plain_layout(attrs.kernel_layout)
    if not any(is_permutation(layout, wanted) for wanted in (kernel, f"G{kernel}")):
        return f"kernel_layout must be an order of {kernel}, found {attrs.kernel_layout!r}"
    return check_layouts(attrs, axes)


def check_transposed(call: Call, axes: int) -> str | None:
    attrs = call.attrs
    assert attrs is not None
    extra, strides = tuple(attrs.output_padding[:axes]), tuple(attrs.strides)
    if any(more >= stride for more, stride in zip(extra, strides, strict=True)):
        return f"output_padding must be smaller than the strides {strides}, found {extra}"
    return check_conv(call, axes)


def check_dense(call: Call) -> str | None:
    data = call.args[0].checked_type
    assert isinstance(data, TensorType)
    if len(data.shape) != 2:
        return f"the data must have 2 dimensions, found {data}"
    return None


def check_pool(call: Call, axes: int) -> str | None:
    attrs = call.attrs
    assert attrs is not None
    window = [(s - 1) * d + 1 for s, d in zip(attrs.pool_size, attrs.dilation, strict=True)]
    pads = both_sides(attrs.padding, axes)
    if any(pad >= window[side % axes] for side, pad in enumerate(pads)):
        return f"each padding must be smaller than the window {tuple(window)}, found {tuple(pads)}"
    dilated, padded = any(d != 1 for d in attrs.dilation), any(pads)
    data = call.args[0].checked_type
    if dilated and isinstance(data, TensorType) and data.dtype not in DTYPES:
        return f"oneDNN has only plain loops for dilated windows of integers, found {data}"
    if dilated and padded and "count_include_pad" in attrs and not attrs.count_include_pad:
        return "a dilated, padded mean must count the padding, found count_include_pad=False"
    return _only(attrs, ceil_mode=(False,)) or check_layouts(attrs, axes)


def check_resize(call: Call) -> str | None:
    """Check a resize: oneDNN uses half-pixel coordinates; other coordinates are supported for sizes
    that give the same samples."""
    attrs, data = call.attrs, call.args[0].checked_type
    assert attrs is not None and isinstance(data, TensorType)
    if attrs.method not in ("nearest_neighbor", "linear"):
        return f"method must be nearest_neighbor or linear, found {attrs.method!r}"
    if attrs.coordinate_transformation_mode == "tf_crop_and_resize":
        return "oneDNN does not crop, found coordinate_transformation_mode tf_crop_and_resize"
    if not is_permutation(plain_layout(attrs.layout), DATA[2]):
        return f"layout must be an order of {DATA[2]}, found {attrs.layout!r}"
    for target, axis in zip(attrs.size, "HW", strict=True):
        length = data.shape[plain_layout(attrs.layout).index(axis)]
        if not isinstance(length, int) or not isinstance(target, int):
            return f"the image must have a known size, found {data}"
        if not _samples_half_pixels(attrs, length, target):
            return (
                f"{attrs.method} at {attrs.coordinate_transformation_mode} coordinates from "
                f"{length} to {target} pixels samples other positions than oneDNN, which samples "
                f"at half pixels"
            )
    return None


def _samples_half_pixels(attrs: Attrs, length: int, target: int) -> bool:
    """Whether each result pixel has the data pixels and weights of half-pixel coordinates. For
    positions halfway between two pixels it is False, because rounding errors decide which pixel is
    nearest."""
    at = resize_positions(attrs, length, target, (0.0, 0.0), 2)
    halves = sample_positions(length, target, "half_pixel")
    if attrs.method == "linear":
        return bool(np.allclose(at, halves, rtol=0, atol=1e-6))
    ((nearest, _),) = resize_taps(length, at, attrs)
    low, high = (np.floor(halves + 0.5 + e).clip(0, length - 1) for e in (-1e-3, 1e-3))
    return bool(np.all(nearest == low) and np.all(nearest == high))


def check_layer_norm(call: Call) -> str | None:
    data, attrs = call.args[0].checked_type, call.attrs
    assert isinstance(data, TensorType) and attrs is not None
    if not 2 <= len(data.shape) <= 5 or attrs.axis % len(data.shape) != len(data.shape) - 1:
        return f"it must normalise the last of 2 to 5 axes, found axis {attrs.axis} of {data}"
    return _check_epsilon(attrs) or _only(attrs, center=(True,), scale=(True,))


def check_batch_norm(call: Call) -> str | None:
    data, attrs = call.args[0].checked_type, call.attrs
    assert isinstance(data, TensorType) and attrs is not None
    if not 2 <= len(data.shape) <= 5:
        return f"the data must have 2 to 5 dimensions, found {data}"
    if attrs.axis % len(data.shape) != 1:
        return f"the channels must be along axis 1, found axis {attrs.axis}"
    return _check_epsilon(attrs)


def _check_epsilon(attrs: Attrs) -> str | None:
    return None if attrs.epsilon >= 0 else f"epsilon must be at least 0, found {attrs.epsilon}"


def check_clip(call: Call) -> str | None:
    low, high = call.attrs.a_min, call.attrs.a_max
    if not (low <= high and high >= -FLOAT32_MAX and low <= FLOAT32_MAX):
        return f"a_min must be at most a_max, both within float32, found {low} and {high}"
    return None


def check_slice(call: Call) -> str | None:
    ty = call.checked_type
    return f"the slice must not be empty, found {ty}" if 0 in ty.shape else None


def check_relayout(call: Call) -> str | None:
    layouts = call.attrs.src_layout, call.attrs.dst_layout
    shape = call.args[0].checked_type.shape
    if pads_blocks(shape, *layouts):
        return f"{tuple(shape)} does not fill the blocks of {layouts[1]}"
    return None
