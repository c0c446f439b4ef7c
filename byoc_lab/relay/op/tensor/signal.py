"""Fourier transforms and sums of products: dft, stft, einsum.

Source: `DFTRel`, `STFTRel`, `EinsumRel` of TVM 0.16.
"""

from __future__ import annotations

from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, boolean, integer, string
from byoc_lab.relay.ir.dims import Dim, Unknown
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.op.framework.from_relax import renamed
from byoc_lab.relay.op.framework.namespace import function
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    Types,
    broadcast,
    dim,
    fail,
    is_incomplete,
    need_rank,
    tensor_fields,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import (
    constant_of,
    dtype_of,
    need_dtype,
    rank_of,
    shape_of,
)

# dft, stft ---------------------------------------------------------------------------------------


def dft_relation(attrs: AnyValue, real: Type | None, imaginary: Type | None) -> Types:
    """Real and imaginary part have one type; so do the two results."""
    re, im = tensors("dft", "re_data im_data", real, imaginary)
    if re is not None and im is not None and re != im:
        fail("dft", f"re_data and im_data must have one type, found {re} and {im}")
    ty = re or im
    if ty is not None and not ty.shape:
        fail("dft", f"re_data must have at least one dimension, found {ty}")
    return ty, ty, None if ty is None else TupleType((ty, ty))


def dft_reference(
    attrs: AnyValue, real: np.ndarray, imaginary: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    transform = np.fft.ifft if attrs.inverse else np.fft.fft
    out = transform(real + 1j * imaginary)
    return out.real.astype(real.dtype), out.imag.astype(real.dtype)


def waves(count: int, length: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of 2 pi k n / length, a row for each n < length and a column for each k."""
    angles = 2 * np.pi * (np.outer(np.arange(length), np.arange(count)) % length) / length
    return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


def _dft_relax(R: AnyValue, attrs: AnyValue, real: AnyValue, imaginary: AnyValue) -> AnyValue:
    from tvm import relax

    need_dtype("dft", real)
    n = shape_of(real)[-1]
    cosine, sine = waves(n, n, dtype_of(real))
    factor, sign = (1 / n, 1) if attrs.inverse else (1, -1)
    cosine, sine = (
        constant_of((cosine * factor).astype(dtype_of(real))),
        constant_of((sine * factor * sign).astype(dtype_of(real))),
    )
    re = R.subtract(R.matmul(real, cosine), R.matmul(imaginary, sine))
    im = R.add(R.matmul(real, sine), R.matmul(imaginary, cosine))
    return relax.Tuple([re, im])


define_op(
    "dft",
    "re_data im_data",
    dft_relation,
    reference=dft_reference,
    attrs=AttrsType(
        "relay.attrs.DFTAttrs",
        (Attr("inverse", boolean, False, "whether to compute the inverse transform"),),
    ),
    attrs_key="",
    # Four products and sums for each pair of elements, as TVM computes it.
    flops=lambda attrs, args, result: 8 * prod(args[0].shape) * args[0].shape[-1],
    relax=_dft_relax,
    pattern=OpPattern.OPAQUE,
    results=2,
    doc="The discrete Fourier transform along the last axis: real and imaginary part.",
)


def _frames(op: str, attrs: AnyValue, length: Dim) -> Dim:
    count = dim(lambda n: (n - attrs.n_fft) // attrs.hop_length + 1, length)
    if not isinstance(count, Unknown) and count < 1:
        fail(op, f"data must have at least n_fft={attrs.n_fft} elements, found {length}")
    return count


def _starts(attrs: AnyValue, length: int) -> np.ndarray:
    """The start of each frame."""
    return np.arange(0, length - attrs.n_fft + 1, attrs.hop_length)


def stft_relation(attrs: AnyValue, data: Type | None, window: Type | None) -> Types:
    """data (batch, n) or (n,) and window (win_length,) give (batch, bins, frames, 2)."""
    op = "stft"
    x, w = tensors(op, "data window", data, window)
    if min(attrs.n_fft, attrs.hop_length, attrs.win_length) < 1:
        fail(op, "attributes n_fft, hop_length and win_length must be positive")
    if w is not None:
        need_rank(op, "window", w, 1)
        if not isinstance(w.shape[0], Unknown) and w.shape[0] < attrs.win_length:
            fail(op, f"window must have win_length={attrs.win_length} elements, found {w}")
    if x is None:
        return None, w, None
    if len(x.shape) not in (1, 2):
        fail(op, f"data must have one or two dimensions, found {x}")
    bins = attrs.n_fft // 2 + 1 if attrs.onesided else attrs.n_fft
    shape = (*x.shape[:-1], bins, _frames(op, attrs, x.shape[-1]), 2)
    return x, w, TensorType(shape, x.dtype)


def stft_reference(attrs: AnyValue, x: np.ndarray, window: np.ndarray) -> np.ndarray:
    length = attrs.win_length
    bins = attrs.n_fft // 2 + 1 if attrs.onesided else attrs.n_fft
    starts = _starts(attrs, x.shape[-1])
    frames = x[..., starts[:, None] + np.arange(length)] * window[:length]
    cosine, sine = waves(bins, length, x.dtype.name)
    out = np.stack([frames @ cosine, -(frames @ sine)], axis=-1)
    out = np.moveaxis(out, -2, -3)
    return (out / np.sqrt(attrs.n_fft) if attrs.normalized else out).astype(x.dtype)


def _stft_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, window: AnyValue) -> AnyValue:
    need_dtype("stft", x)
    length, kind, rank = attrs.win_length, dtype_of(x), rank_of(x)
    bins = attrs.n_fft // 2 + 1 if attrs.onesided else attrs.n_fft
    starts = _starts(attrs, shape_of(x)[-1])
    positions = starts[:, None] + np.arange(length)
    part = R.strided_slice(window, [0], [0], [length])
    frames = R.multiply(R.take(x, constant_of(positions), rank - 1), R.astype(part, kind))
    factor = attrs.n_fft**-0.5 if attrs.normalized else 1.0
    cosine, sine = (constant_of((wave * factor).astype(kind)) for wave in waves(bins, length, kind))
    parts = [R.matmul(frames, cosine), R.negative(R.matmul(frames, sine))]
    order = [0, 2, 1, 3] if rank == 2 else [1, 0, 2]
    return R.permute_dims(R.stack(parts, axis=rank + 1), order)


def _frame_defaults(values: dict[str, AnyValue]) -> dict[str, AnyValue]:
    """Sets the defaults: length and distance of frames, and a window of ones."""
    length = values["n_fft"]
    chosen = {"hop_length": length // 4, "win_length": length}
    if values["window"] is None:
        chosen["window"] = function("ones")([length], "int32")
    return {**values, **{name: v for name, v in chosen.items() if values[name] is None}}


define_op(
    "stft",
    "data window",
    stft_relation,
    reference=stft_reference,
    attrs=AttrsType(
        "relay.attrs.StftAttrs",
        (
            Attr("n_fft", integer, -1, "length of the transform"),
            Attr("hop_length", integer, -1, "distance between the starts of frames"),
            Attr("win_length", integer, -1, "length of a frame"),
            Attr("normalized", boolean, False, "whether the result is divided by sqrt(n_fft)"),
            Attr("onesided", boolean, True, "whether the redundant half of the bins is omitted"),
        ),
    ),
    attrs_key="",
    flops=lambda attrs, args, result: 2 * prod(result.shape) * attrs.win_length,
    relax=_stft_relax,
    pattern=OpPattern.OPAQUE,
    shape_from=(),
    parameters="data n_fft hop_length win_length window normalized onesided",
    defaults={"n_fft": REQUIRED, "hop_length": None, "win_length": None, "window": None},
    normalize=_frame_defaults,
    doc="The Fourier transforms of overlapping frames: (real, imaginary) along the last axis. "
    "By default a frame has n_fft elements and starts n_fft // 4 after the one before it.",
)

# einsum ------------------------------------------------------------------------------------------


def _lengths(op: str, equation: str, types: list[TensorType]) -> dict[str, AnyValue]:
    """The size of the axis of each letter, and under the key "..." the shape that the dots
    represent.

    Raises TypeInferenceError if the equation does not match the tensors.
    """
    inputs = equation.split("->")[0].replace(" ", "").split(",")
    if len(inputs) != len(types):
        fail(op, f"equation {equation!r} has {len(inputs)} tensors, found {len(types)}")
    found: dict[str, AnyValue] = {"...": ()}
    for term, ty in zip(inputs, types, strict=True):
        before, dots, after = term.partition("...")
        spare = len(ty.shape) - len(before) - len(after)
        if spare < 0 or (spare and not dots):
            fail(op, f"{term!r} of equation {equation!r} does not match the axes of {ty}")
        middle = ty.shape[len(before) : len(before) + spare]
        pair = TensorType(found["..."]), TensorType(middle)
        found["..."] = broadcast(op, *pair)
        axes = [*zip(before, ty.shape, strict=False)]
        axes += zip(after, ty.shape[len(before) + spare :], strict=True)
        for letter, length in axes:
            known = found.setdefault(letter, length)
            if known == 1 or (isinstance(known, Unknown) and length != 1):
                found[letter] = length
            elif length not in (1, known) and not isinstance(length, Unknown):
                fail(op, f"axis {letter!r} of equation {equation!r} has sizes {known} and {length}")
    return found


def _result_term(equation: str) -> str:
    """The part after "->", or NumPy's default: dots, then the letters that occur once, sorted."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    if arrow:
        return output
    letters = [c for c in inputs if c.isalpha()]
    dots = "..." if "..." in inputs else ""
    return dots + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))


def einsum_relation(attrs: AnyValue, data: Type | None) -> Types:
    """Tensors of one dtype give the axes that the equation names after "->"."""
    op = "einsum"
    if is_incomplete(data):
        return data, None
    types = tensor_fields(op, "data", data)
    if len({t.dtype for t in types}) > 1:
        fail(op, f"the tensors of data must have one dtype, found {data}")
    lengths = _lengths(op, attrs.equation, types)
    before, dots, after = _result_term(attrs.equation).partition("...")
    unknown = [c for c in before + after if c not in lengths]
    if unknown:
        fail(op, f"equation {attrs.equation!r}: {unknown[0]!r} is an axis of no tensor")
    shape = [lengths[c] for c in before] + list(lengths["..."] if dots else ())
    return data, TensorType(shape + [lengths[c] for c in after], types[0].dtype)


def _einsum_flops(attrs: AnyValue, args: AnyValue, result: AnyValue) -> int:
    """A product and a sum for each tensor and each combination of indices of all axes."""
    types = args[0].fields
    lengths = _lengths("einsum", attrs.equation, types)
    points = prod(lengths.pop("...")) * prod(lengths.values())
    return len(types) * points


def _checked_tensors(values: dict[str, AnyValue]) -> dict[str, AnyValue]:
    """Raises ValueError for no tensors or an equation that is not a string."""
    tensors_given, equation = list(values["data"]), values["equation"]
    if not tensors_given:
        raise ValueError("einsum: data must hold at least one tensor, found none")
    if not isinstance(equation, str):
        raise ValueError(f"einsum: equation must be a string, found {equation!r}")
    return {**values, "data": tensors_given}


define_op(
    "einsum",
    "data*",
    einsum_relation,
    reference=lambda attrs, data: np.asarray(np.einsum(attrs.equation, *data), data[0].dtype),
    attrs=AttrsType(
        "relay.attrs.EinsumAttrs",
        (Attr("equation", string, doc='which axes are multiplied and summed: "ij,jk->ik"'),),
    ),
    flops=_einsum_flops,
    relax=lambda R, attrs, data: R.einsum(list(data), attrs.equation),
    pattern=OpPattern.INJECTIVE,
    normalize=_checked_tensors,
    doc="Sums of products of tensors, in Einstein notation.",
    from_relax={"einsum": renamed(equation="subscripts")},
    arithmetic=Arithmetic.OTHER,
)
