"""Operators that add elements around a tensor: pad, mirror_pad.

Source: `PadRel`, `MirrorPadRel` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any as AnyValue

import numpy as np

from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.attrs import Attr, AttrsType, nested_integers, string
from byoc_lab.relay.ir.dims import Dim, Unknown
from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.from_relax import RelaxCall, ints, number, relay_call
from byoc_lab.relay.op.framework.precision import FOLLOW
from byoc_lab.relay.op.framework.registry import OpPattern, define_op
from byoc_lab.relay.op.framework.relations import Types, dim, fail, need_one_of, tensors
from byoc_lab.relay.op.framework.relax_types import (
    by_topi,
    constant_of,
    constant_value,
    dtype_of,
    is_constant,
    shape_of,
    typed,
)

PAD_MODES = ("constant", "edge", "reflect")


def _checked_widths(op: str, attrs: AnyValue, x: TensorType) -> AnyValue:
    """Attribute pad_width. Raises TypeInferenceError unless it has a pair for each axis of `x`."""
    widths = attrs.pad_width
    if len(widths) != len(x.shape) or any(len(w) != 2 for w in widths):
        fail(op, f"attribute pad_width must be a (before, after) for each axis of {x}: {widths}")
    return widths


def _padded_shape(x: TensorType, widths: AnyValue) -> list[Dim]:
    return [dim(lambda n, w=w: n + sum(w), d) for d, w in zip(x.shape, widths, strict=True)]


def pad_relation(attrs: AnyValue, data: Type | None, value: Type | None) -> Types:
    """Each axis grows by its two numbers (negative ones crop); the pad value is a scalar."""
    op = "nn.pad"
    x, v = tensors(op, "data pad_value", data, value)
    if x is None:
        return None, v, None
    widths = _checked_widths(op, attrs, x)
    shape = _padded_shape(x, widths)
    if any(not isinstance(d, Unknown) and d < 0 for d in shape):
        fail(op, f"pad_width {widths} crops more elements than {x} has")
    need_one_of(op, "pad_mode", attrs.pad_mode, PAD_MODES)
    return x, v, TensorType(shape, x.dtype)


def pad_reference(attrs: AnyValue, x: np.ndarray, value: np.ndarray) -> np.ndarray:
    cut = [
        slice(max(0, -before), n - max(0, -after))
        for n, (before, after) in zip(x.shape, attrs.pad_width, strict=True)
    ]
    grown = [(max(0, a), max(0, b)) for a, b in attrs.pad_width]
    options = {"constant_values": value} if attrs.pad_mode == "constant" else {}
    return np.pad(x[tuple(cut)], grown, attrs.pad_mode, **options)


def _pad_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, value: AnyValue) -> AnyValue:
    flat = [n for both in attrs.pad_width for n in both]
    if attrs.pad_mode != "constant":
        mode = "replicate" if attrs.pad_mode == "edge" else attrs.pad_mode
        if mode == "reflect":
            _check_mirrored("nn.pad", attrs.pad_width, shape_of(x), 1)
        return R.nn.pad(x, flat, pad_mode=mode, pad_value=0.0)
    if is_constant(value):
        return R.nn.pad(x, flat, pad_value=constant_value(value, "nn.pad", "pad_value"))
    inside = constant_of(_inside(shape_of(x), attrs.pad_width))
    filler = value if dtype_of(value) == dtype_of(x) else R.astype(value, dtype_of(x))
    return R.where(inside, typed(R.nn.pad(x, flat, pad_value=0.0)), filler)


def _check_mirrored(op: str, widths: AnyValue, shape: Sequence[int], without: int) -> None:
    """Raise BuildError if the mirror image would need more elements than exist: compiled code would
    read past the data. without: the number of edge elements that the mirror image omits."""
    for axis, (n, both) in enumerate(zip(shape, widths, strict=True)):
        most = max(n - without, 0) if isinstance(n, int) else max(both)
        if max(both) > most:
            raise BuildError(
                f"{op}: axis {axis} of size {n} can be extended by at most {most} mirrored "
                f"elements, found a pad_width of {tuple(both)}. Pad in steps, or use "
                "byoc_lab.evaluate"
            )


def _inside(shape: Sequence[int], widths: AnyValue) -> np.ndarray:
    """A mask of the elements of padded data that are data elements; size 1 along axes without
    padding."""
    found = np.ones([1] * len(shape), bool)
    for axis, (n, (before, after)) in enumerate(zip(shape, widths, strict=True)):
        if before or after:
            places = np.arange(before + n + after) - before
            row = (places >= 0) & (places < n)
            found = found & row.reshape([-1 if k == axis else 1 for k in range(len(shape))])
    return found


def _pad_from_relax(op: Op, call: RelaxCall, x: Expr) -> Expr:
    attrs = call.attrs
    flat = ints(attrs.pad_width)
    widths = list(zip(flat[::2], flat[1::2], strict=True))
    mode = {"replicate": "edge"}.get(str(attrs.pad_mode), str(attrs.pad_mode))
    if mode not in ("constant", "edge", "reflect"):
        raise call.error(f"Relay pads by constant, edge or reflect, found pad_mode={mode!r}")
    value = float(number(attrs.pad_value))
    return relay_call("nn.pad", x, pad_width=widths, pad_value=value, pad_mode=mode)


define_op(
    "nn.pad",
    "data pad_value",
    pad_relation,
    from_relax={"nn.pad": _pad_from_relax},
    reference=pad_reference,
    attrs=AttrsType(
        "relay.attrs.PadAttrs",
        (
            Attr("pad_width", nested_integers, doc="(before, after) for each axis"),
            Attr("pad_mode", string, "constant", "constant, edge or reflect"),
        ),
    ),
    relax=_pad_relax,
    pattern=OpPattern.INJECTIVE,
    layout=layout_rules.pad,
    parameters="data pad_width pad_value pad_mode",
    defaults={"pad_value": 0},
    constants={"pad_value": None},
    doc="Data padded with pad_value, or with copies of its elements (edge, reflect).",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.PAD,
    qat=True,
)

# nn.mirror_pad -----------------------------------------------------------------------------------

MIRRORS: dict[str, AnyValue] = {
    "SYMMETRIC": "symmetric",
    "REFLECT": "reflect",
}  # TVM's name -> NumPy's


def mirror_pad_type(attrs: AnyValue, x: TensorType) -> Type:
    """Each axis grows by its two numbers, which must not be negative."""
    op = "nn.mirror_pad"
    widths = _checked_widths(op, attrs, x)
    if any(min(w) < 0 for w in widths):
        fail(op, f"attribute pad_width must not be negative, found {widths}")
    need_one_of(op, "mode", attrs.mode, MIRRORS)
    shape = _padded_shape(x, widths)
    return TensorType(shape, x.dtype)


def _mirror_pad_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    _check_mirrored("nn.mirror_pad", attrs.pad_width, shape_of(x), int(attrs.mode == "REFLECT"))
    before, after = ([w[side] for w in attrs.pad_width] for side in (0, 1))
    return by_topi("nn.mirror_pad", x, before, after, attrs.mode)


define_op(
    "nn.mirror_pad",
    "data",
    result_type=mirror_pad_type,
    reference=lambda attrs, x: np.pad(x, attrs.pad_width, MIRRORS[attrs.mode]),
    attrs=AttrsType(
        "relay.attrs.MirrorPadAttrs",
        (
            Attr("mode", string, "SYMMETRIC", "SYMMETRIC repeats the edge, REFLECT does not"),
            Attr("pad_width", nested_integers, doc="(before, after) for each axis"),
        ),
    ),
    relax=_mirror_pad_relax,
    pattern=OpPattern.INJECTIVE,
    parameters="data pad_width mode",
    doc="Data padded with its mirror image on each side.",
)
