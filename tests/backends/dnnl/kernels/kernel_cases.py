"""For every kernel: arguments of any shape it takes, and its formula in float64.

`KERNELS` is the table. A row draws a case and computes the expected result: the formula takes the
kernel's own arguments, with arrays as `Bounded` (reference.py) and lists of attributes in full.
test_every_kernel.py calls the kernels; kernels_in_torch.py has the same formulas in PyTorch.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.backends.dnnl import reference as ref
from tests.backends.dnnl.kernels import quantized_numbers, relayouts
from tests.backends.dnnl.kernels.draws import ALL, FLOATS, INTEGERS, Case, Draw
from tests.backends.dnnl.kernels.functions import BINARY, FUNCTIONS, apply
from tests.backends.dnnl.reference import Bounded


@dataclass(frozen=True)
class Kernel:
    """cases(draw) -> Case; formula(*args, **attrs) -> Bounded.

    dtypes: of the first operand. from_integers: the dtype of the result for integer operands; None:
    the dtype of the operands. rounded_inside(*args, **attrs): the intermediate values that oneDNN
    stores in the dtype of the result.
    """

    cases: Callable[[Draw], Case]
    formula: Callable[..., Bounded]
    dtypes: tuple[str, ...] = FLOATS
    from_integers: str | None = None
    rounded_inside: Callable[..., np.ndarray] | None = None

    def result_dtype(self, case: Case, dtype: str) -> str:
        integers = dtype in INTEGERS and self.from_integers
        return case.attrs.get("dtype") or (self.from_integers if integers else dtype)


# ---- sliding windows


def window(d: Draw, axes: int, most_padding: Callable[[int], int]) -> tuple[Any, ...]:
    """taps, spatial sizes of data that fit them, strides, padding and dilation."""
    taps, dilation = d.ints(axes, 1, 3), d.ints(axes, 1, 2)
    extent = [(t - 1) * n + 1 for t, n in zip(taps, dilation, strict=True)]
    padding = [d.int(0, most_padding(extent[n % axes])) for n in range(2 * axes)]
    size = [
        max(1, e - before - behind) + d.int(0, 6)
        for e, before, behind in zip(extent, padding[:axes], padding[axes:], strict=True)
    ]
    attrs = {"strides": d.ints(axes, 1, 3), "padding": padding, "dilation": dilation}
    return taps, size, attrs


def conv_cases(d: Draw, axes: int, biased: bool | None) -> Case:
    """biased: whether there is a bias; None: draws it."""
    taps, size, attrs = window(d, axes, lambda extent: extent + 1)
    groups = d.one_of(1, 1, 2, 3, 16)
    per, out_per = d.one_of(1, 2, 5, 16), d.one_of(1, 3, 16)
    args = [
        d.array(d.int(1, 2), groups * per, *size),
        d.weight(groups * out_per, per, *taps),
    ]
    if d.integers:
        attrs["data_zero_point"] = d.int(-128, 255)
    elif biased or (biased is None and d.flag()):
        ones = [1] * d.int(0, axes)
        args.append(d.array(groups * out_per, *ones))
    return Case(args, {**attrs, "groups": groups})


def conv(data: Bounded, weight: Bounded, bias: Any = None, *, data_zero_point=0, **attrs: Any):
    data = Bounded(data.value - data_zero_point, data.error)
    return ref.conv(data, weight, bias, **attrs)


def conv_relu(*args: Any, **attrs: Any) -> Bounded:
    return ref.relu(ref.conv(*args, **attrs))


def transposed_cases(d: Draw, axes: int) -> Case:
    taps, size, attrs = window(d, axes, lambda extent: extent + 1)
    strides, padding, dilation = attrs["strides"], attrs["padding"], attrs["dilation"]
    extra = [d.int(0, stride - 1) for stride in strides]
    for n in range(axes):
        lost = padding[n] + padding[n + axes] - (taps[n] - 1) * dilation[n] - extra[n]
        size[n] = max(size[n], 1 + math.ceil(max(lost, 0) / strides[n]))
    groups = d.one_of(1, 1, 2, 3, 16)
    per, out_per = d.one_of(1, 2, 5, 16), d.one_of(1, 3, 16)
    args = [
        d.array(d.int(1, 2), groups * per, *size),
        d.array(groups * per, out_per, *taps),
    ]
    if d.flag():
        args.append(d.array(groups * out_per))
    return Case(args, {**attrs, "groups": groups, "output_padding": extra})


def pool_cases(d: Draw, axes: int, mean: bool) -> Case:
    taps, size, attrs = window(d, axes, lambda extent: extent - 1)
    # Each window contains an element: see
    # test_max_pool_over_padding_alone_is_the_smallest_number.
    size = [max(pair) for pair in zip(size, attrs["dilation"], strict=True)]
    data = d.array(d.int(1, 2), d.one_of(1, 3, 16, 20), *size)
    if mean:
        # oneDNN cannot compute the mean of a dilated window without counting the padding.
        attrs["count_include_pad"] = (set(attrs["dilation"]) != {1} and any(attrs["padding"])) or (
            d.flag()
        )
    return Case([data, taps], attrs)


def image(d: Draw, axes: int, most: int = 9) -> np.ndarray:
    return d.array(d.int(1, 2), d.one_of(1, 3, 16, 20), *d.ints(axes, 1, most))


def resample_cases(d: Draw) -> Case:
    data = image(d, d.int(1, 3), 7)
    return Case([data, d.ints(data.ndim - 2, 1, 9)], {"alg": d.one_of("nearest", "linear")})


# ---- products


def dense_cases(d: Draw, biased: bool | None) -> Case:
    batch, depth, units = d.int(1, 9), d.int(1, 70), d.int(1, 40)
    case = Case([d.array(batch, depth), d.weight(units, depth)])
    if d.integers:
        case.attrs["data_zero_point"] = d.int(-128, 255)
    elif biased or (biased is None and d.flag()):
        case.args.append(d.array(*d.one_of([units], [1, units])))
    return case


def dense(data: Bounded, weight: Bounded, bias: Any = None, *, data_zero_point: int = 0):
    return ref.dense(Bounded(data.value - data_zero_point, data.error), weight, bias)


def matmul_cases(d: Draw, batch: bool) -> Case:
    rows, depth, columns = d.int(1, 9), d.int(1, 40), d.int(1, 20)
    axes = d.ints(1, 1, 3) if batch else d.ints(d.int(0, 3), 1, 3)
    left, right = (axes, axes) if batch else (axes, d.beside(axes))
    if not batch and d.flag():
        left, right = right, left
    attrs = {"transpose_a": d.flag(), "transpose_b": d.flag()}
    a = (depth, rows) if attrs["transpose_a"] else (rows, depth)
    b = (columns, depth) if attrs["transpose_b"] else (depth, columns)
    args = [d.array(*left, *a), d.weight(*right, *b)]
    if not batch and not d.integers and d.flag():
        args.append(d.array(*d.one_of([columns], [1, columns])))
    return Case(args, attrs)


def matmul(a, b, bias=None, *, transpose_a, transpose_b):
    def turned(x: Bounded, wanted: bool) -> Bounded:
        return Bounded(x.value.swapaxes(-1, -2), x.error.swapaxes(-1, -2)) if wanted else x

    return ref.matmul(turned(a, transpose_a), turned(b, transpose_b), bias)


# ---- normalisations


def batch_norm_cases(d: Draw) -> Case:
    data = d.array(d.int(1, 3), d.one_of(1, 3, 16, 20), *d.ints(d.int(0, 3), 1, 5))
    vectors = [d.array(data.shape[1], positive=n == 3) for n in range(4)]
    return Case([data, *vectors], {"epsilon": d.one_of(1e-5, 1e-3, 0.25)})


def layer_norm_cases(d: Draw) -> Case:
    data = d.array(*d.shape(2))
    vectors = [d.array(data.shape[-1]) for _ in range(2)]
    return Case([data, *vectors], {"epsilon": d.one_of(1e-5, 1e-3, 0.25)})


def axis_cases(d: Draw) -> Case:
    data = d.array(*d.shape(1))
    return Case([data], {"axis": d.int(-data.ndim, data.ndim - 1)})


def reduce_cases(d: Draw) -> Case:
    case = axis_cases(d)
    return Case([d.one_of("sum", "mean", "prod", "max", "min"), *case.args], case.attrs)


# ---- element by element


def some_parameters(d: Draw, alg: str) -> dict[str, float]:
    """The parameters in FUNCTIONS, or other parameters for which the function has values."""
    alpha, beta = FUNCTIONS[alg].parameters
    if alg == "clip" and d.flag():
        alpha = beta - d.int(0, 8) / 4
    elif alg in ("elu", "linear", "relu", "swish", "softplus") and d.flag():
        alpha, beta = d.int(1, 8) / 4, d.int(-4, 4) / 2 if alg == "linear" else beta
    return {"alpha": alpha, "beta": beta}


def eltwise_cases(d: Draw) -> Case:
    alg = d.one_of(*FUNCTIONS)
    data = d.array(*d.shape(), positive=FUNCTIONS[alg].positive)
    return Case([alg, data], some_parameters(d, alg))


def function_cases(d: Draw, alg: str) -> Case:
    return Case([d.array(*d.shape(), positive=FUNCTIONS[alg].positive)])


def named_function(alg: str) -> Kernel:
    return Kernel(functools.partial(function_cases, alg=alg), functools.partial(apply, alg))


def with_numbers(alg: str, *low_to_high: tuple[int, int]) -> Callable[[Draw], Case]:
    """The data, then as many numbers as there are ranges, in quarters."""

    def cases(d: Draw) -> Case:
        numbers = [d.int(low, high) / 4 for low, high in low_to_high]
        return Case([*function_cases(d, alg).args, *numbers])

    return cases


def pair(d: Draw, positive: bool = False) -> list[np.ndarray]:
    """Two arrays that broadcast: one of them or both are broadcast."""
    whole = d.shape()
    shapes = [whole, d.beside(whole)]
    if d.flag():
        shapes[0] = [size if d.flag() else 1 for size in whole]
    if d.flag():
        shapes.reverse()
    return [d.array(*shapes[0]), d.array(*shapes[1], positive=positive)]


def binary_cases(d: Draw) -> Case:
    alg = d.one_of(*BINARY)
    return Case([alg, *pair(d, positive=alg == "div")])


def terms(d: Draw) -> Case:
    shape = d.shape()
    return Case([d.array(*shape) for _ in range(d.int(1, 4))])


# ---- moves


def concatenate_cases(d: Draw) -> Case:
    shape = d.shape(1)
    axis = d.int(0, len(shape) - 1)
    sizes = d.ints(d.int(1, 4), 1, 5)
    parts = [d.array(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes]
    return Case([parts], {"axis": axis - d.one_of(0, len(shape))})


def concatenate(data: list[Bounded], *, axis: int) -> Bounded:
    return Bounded(
        np.concatenate([part.value for part in data], axis),
        np.concatenate([part.error for part in data], axis),
    )


def strided_slice_cases(d: Draw) -> Case:
    shape = d.shape(1)
    axis = d.int(0, len(shape) - 1)
    size = shape[axis]
    begin, step = d.int(0, size - 1), d.one_of(1, 2, 3, -1, -2)
    most = (size - 1 - begin) // step + 1 if step > 0 else begin // -step + 1
    attrs = {"axis": axis - d.one_of(0, len(shape)), "begin": begin, "step": step}
    return Case([d.array(*shape)], {**attrs, "length": d.int(1, most)})


def strided_slice(data: Bounded, *, axis: int, begin: int, length: int, step: int) -> Bounded:
    at = [begin + n * step for n in range(length)]
    return Bounded(data.value.take(at, axis), data.error.take(at, axis))


def transpose_cases(d: Draw) -> Case:
    data = d.array(*d.shape())
    return Case([data, d.draw(st.permutations(range(data.ndim)))])


def transpose(data: Bounded, axes: Sequence[int]) -> Bounded:
    return Bounded(data.value.transpose(axes), data.error.transpose(axes))


def reorder_cases(d: Draw) -> Case:
    src, dst, shape = relayouts.draw(d)
    return Case([d.array(*shape), src, dst])


def reorder(data: Bounded, src: str, dst: str) -> Bounded:
    return ref.exact(relayouts.move(data.value, src, dst))


# ---- the table


def along(cases: Callable[..., Case], *args: Any, **attrs: Any) -> Callable[[Draw], Case]:
    return lambda d: cases(d, *args, **attrs)


NUMBERS = (*FLOATS, "uint8", "int8")
KERNELS: dict[str, Kernel] = {
    **{f"conv{n}d": Kernel(along(conv_cases, n, None), conv, NUMBERS, "int32") for n in (1, 2, 3)},
    "conv2d_bias": Kernel(along(conv_cases, 2, True), ref.conv),
    "conv2d_relu": Kernel(along(conv_cases, 2, False), conv_relu),
    "conv2d_bias_relu": Kernel(along(conv_cases, 2, True), conv_relu),
    **{
        f"conv{n}d_transpose": Kernel(along(transposed_cases, n), ref.conv_transpose)
        for n in (1, 2, 3)
    },
    **{
        f"max_pool{n}d": Kernel(along(pool_cases, n, False), ref.max_pool, NUMBERS)
        for n in (1, 2, 3)
    },
    **{f"avg_pool{n}d": Kernel(along(pool_cases, n, True), ref.avg_pool) for n in (1, 2, 3)},
    **{
        f"global_{alg}_pool{n}d": Kernel(lambda d, n=n: Case([image(d, n)]), formula, dtypes)
        for alg, formula, dtypes in (
            ("max", ref.global_max_pool, NUMBERS),
            ("avg", ref.global_avg_pool, FLOATS),
        )
        for n in (1, 2, 3)
    },
    "resample": Kernel(resample_cases, ref.resample),
    "dense": Kernel(along(dense_cases, None), dense, NUMBERS, "int32"),
    "dense_bias": Kernel(along(dense_cases, True), dense),
    "matmul": Kernel(along(matmul_cases, batch=False), matmul, NUMBERS, "int32"),
    "batch_matmul": Kernel(along(matmul_cases, batch=True), matmul, NUMBERS, "int32"),
    "batch_norm": Kernel(batch_norm_cases, ref.batch_norm),
    "layer_norm": Kernel(layer_norm_cases, ref.layer_norm),
    "softmax": Kernel(
        axis_cases, ref.softmax, rounded_inside=lambda x, axis: ref.softmax(x, axis).value
    ),
    "log_softmax": Kernel(
        axis_cases,
        ref.log_softmax,
        rounded_inside=lambda x, axis: x.value - x.value.max(axis, keepdims=True),
    ),
    "reduce": Kernel(reduce_cases, lambda alg, x, axis: ref.reduce(x, alg, axis)),
    "eltwise": Kernel(eltwise_cases, apply),
    **{
        alg: named_function(alg)
        for alg in (
            *("abs", "exp", "gelu", "gelu_tanh", "log", "mish"),
            *("relu", "round", "sigmoid", "sqrt", "tanh"),
        )
    },
    "clip": Kernel(with_numbers("clip", (-8, 0), (0, 8)), functools.partial(apply, "clip")),
    "elu": Kernel(with_numbers("elu", (1, 8)), functools.partial(apply, "elu")),
    "leaky_relu": Kernel(with_numbers("relu", (1, 8)), functools.partial(apply, "relu")),
    "swish": Kernel(with_numbers("swish", (1, 8)), functools.partial(apply, "swish")),
    "binary": Kernel(binary_cases, lambda alg, a, b: BINARY[alg](a, b)),
    "add": Kernel(lambda d: Case(pair(d)), ref.add),
    "multiply": Kernel(lambda d: Case(pair(d)), ref.multiply),
    "sum": Kernel(terms, lambda *data: functools.reduce(ref.add, data)),
    "concatenate": Kernel(concatenate_cases, concatenate, NUMBERS),
    "strided_slice": Kernel(strided_slice_cases, strided_slice, ALL),
    "transpose": Kernel(transpose_cases, transpose, ALL),
    "reorder": Kernel(reorder_cases, reorder, ALL),
    "quantize": Kernel(quantized_numbers.quantize_cases, quantized_numbers.quantize, ("float32",)),
    "dequantize": Kernel(
        quantized_numbers.dequantize_cases, quantized_numbers.dequantize, INTEGERS, "float32"
    ),
    "requantize": Kernel(
        quantized_numbers.requantize_cases, quantized_numbers.requantize, INTEGERS
    ),
}
