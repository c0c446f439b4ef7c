"""For every kernel: one valid call, and wrong shapes and values of its arguments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from byoc_lab.backends.dnnl import kernels

Shape = tuple[int, ...]


def tensor(*shape: int, dtype: str = "float32") -> np.ndarray:
    values = np.arange(1, 1 + int(np.prod(shape)), dtype=np.float64).reshape(shape)
    return np.asarray(values if dtype == "int32" else values / 4, dtype)


@dataclass(frozen=True)
class Call:
    """tensors and attrs: a valid call. shapes: wrong shapes of a tensor; values: wrong values of
    an attribute."""

    tensors: dict[str, Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    shapes: dict[str, list[Shape]] = field(default_factory=dict)
    values: dict[str, list[Any]] = field(default_factory=dict)

    def run(self, name: str, **changed: Any) -> Any:
        """Calls the kernel with some arguments changed."""
        given = {**self.tensors, **self.attrs, **changed}
        tensors = [given.pop(key) for key in self.tensors]
        if "alg" in given and name != "resample":
            tensors.insert(0, given.pop("alg"))
        elif name == "concatenate":
            tensors = [tensors]
        return getattr(kernels, name)(*tensors, **given)


SIDES = [(1, 2, 3, 4, 5, 6, 7), "1", None, 1.5, -1, True]
STEPS = [(1, 1, 1, 1), "1", None, 1.5, 0, -1, 2**31, True]


def conv(axes: int, biased: bool = True, integers: bool = True) -> Call:
    """A convolution from 6 channels to 4, in 2 groups."""
    taps = [2] * axes
    tensors = {"data": tensor(2, 6, *[5] * axes), "weight": tensor(4, 3, *taps)}
    shapes = {
        "data": [(2, 6), (6, *[5] * axes), (1, 2, 6, *[5] * axes), (2, 6, *[1] * axes)],
        "weight": [(4, 3), (3, *taps), (4, 6, *taps), (4, 2, *taps), (1, 4, 3, *taps)],
    }
    if biased:
        tensors["bias"] = tensor(4)
        shapes["bias"] = [(), (3,), (5,), (2, 2), (4, 2)]
    values = {
        "strides": STEPS,
        "dilation": STEPS,
        "padding": [*SIDES, 2**31],
        "groups": [0, -1, 4, 5, "2", None, 1.0, True],
        "data_zero_point": [3, 256, "0", None, 0.5],
    }
    return Call(tensors, {"groups": 2}, shapes, values)


def conv_transpose(axes: int) -> Call:
    taps = [2] * axes
    return Call(
        {"data": tensor(2, 4, *[5] * axes), "weight": tensor(4, 3, *taps), "bias": tensor(6)},
        {"groups": 2, "strides": 2},
        {
            "data": [(2, 4), (4, *[5] * axes), (1, 2, 4, *[5] * axes)],
            "weight": [(4, 3), (4, *taps), (6, 3, *taps), (2, 3, *taps), (1, 4, 3, *taps)],
            "bias": [(), (3,), (4,), (3, 2)],
        },
        {
            "strides": STEPS,
            "dilation": STEPS,
            "padding": [*SIDES, 100],
            "output_padding": [2, *SIDES],
            "groups": [0, -1, 3, "2", None, 1.0, True],
        },
    )


def pool(axes: int, mean: bool) -> Call:
    values: dict[str, list[Any]] = {
        "pool_size": STEPS,
        "strides": STEPS,
        "dilation": STEPS,
        "padding": [2, *SIDES],
    }
    if mean:
        values["count_include_pad"] = [1, "yes", None]
    data = tensor(2, 3, *[5] * axes)
    shapes = {"data": [(2, 3), (3, *[5] * axes), (1, 2, 3, *[5] * axes)]}
    return Call({"data": data}, {"pool_size": 2}, shapes, values)


def image(axes: int) -> Call:
    shapes = {"data": [(2, 3), (3, *[5] * axes), (1, 2, 3, *[5] * axes)]}
    return Call({"data": tensor(2, 3, *[5] * axes)}, shapes=shapes)


def elementwise(**attrs: float) -> Call:
    wrong = ["1", None, True, float("nan"), float("inf")]
    return Call({"data": tensor(2, 3)}, attrs, values={name: wrong for name in attrs})


AXIS: list[Any] = [2, -3, "0", None, 0.5, True]
DENSE = {"data": tensor(3, 4), "weight": tensor(5, 4)}
DENSE_SHAPES: dict[str, list[Shape]] = {
    "data": [(4,), (1, 3, 4)],
    "weight": [(4,), (4, 5), (1, 5, 4)],
    "bias": [(), (4,), (5, 5), (2, 5)],
}
FLAG = [1, 0, "yes", None]
ZEROS = [0.5, "0", 2**40, [1.5], [1, 2, 3, 4]]
SCALES = [0.0, -0.5, "1", float("nan"), float("inf"), True, [1.0, 0.0, 1.0], [1.0] * 4]
CALLS: dict[str, Call] = {
    **{f"conv{n}d": conv(n) for n in (1, 2, 3)},
    "conv2d_bias": conv(2),
    "conv2d_relu": conv(2),
    "conv2d_bias_relu": conv(2),
    **{f"conv{n}d_transpose": conv_transpose(n) for n in (1, 2, 3)},
    **{f"max_pool{n}d": pool(n, mean=False) for n in (1, 2, 3)},
    **{f"avg_pool{n}d": pool(n, mean=True) for n in (1, 2, 3)},
    **{f"global_{alg}_pool{n}d": image(n) for alg in ("max", "avg") for n in (1, 2, 3)},
    "dense": Call(
        {**DENSE, "bias": tensor(5)}, {}, DENSE_SHAPES, {"data_zero_point": [1, 256, "0", None]}
    ),
    "dense_bias": Call({**DENSE, "bias": tensor(5)}, {}, DENSE_SHAPES),
    "matmul": Call(
        {"a": tensor(2, 3, 4), "b": tensor(4, 5), "bias": tensor(5)},
        {},
        {"a": [(4,)], "b": [(5,), (3, 5), (5, 4), (3, 4, 5)], "bias": [(), (4,), (2, 5)]},
        {"transpose_a": FLAG, "transpose_b": FLAG},
    ),
    "batch_matmul": Call(
        {"a": tensor(2, 3, 4), "b": tensor(2, 5, 4)},
        {},
        {"a": [(4,)], "b": [(5,), (2, 4, 5), (3, 5, 4)]},
        {"transpose_a": FLAG, "transpose_b": FLAG},
    ),
    "batch_norm": Call(
        {
            "data": tensor(2, 3, 4),
            **{name: tensor(3) for name in ("gamma", "beta", "mean", "variance")},
        },
        {"epsilon": 1e-5},
        {
            "data": [(3,), (1, 3, 1, 1, 1, 1)],
            **{name: [(), (4,), (1, 3), (3, 1)] for name in ("gamma", "beta", "mean", "variance")},
        },
        {"epsilon": [-1.0, float("nan"), float("inf"), "0", None, True]},
    ),
    "layer_norm": Call(
        {"data": tensor(2, 3), "gamma": tensor(3), "beta": tensor(3)},
        {"epsilon": 1e-5},
        {"data": [(3,)], "gamma": [(), (2,), (1, 3)], "beta": [(), (2,), (1, 3)]},
        {"epsilon": [-1.0, float("nan"), "0", None, True]},
    ),
    "softmax": Call({"data": tensor(2, 3)}, values={"axis": AXIS}),
    "log_softmax": Call({"data": tensor(2, 3)}, values={"axis": AXIS}),
    "reduce": Call(
        {"data": tensor(2, 3)}, {"alg": "sum"}, values={"axis": AXIS, "alg": ["median", 1, None]}
    ),
    "eltwise": Call(
        {"data": tensor(2, 3)},
        {"alg": "elu", "alpha": 1.0},
        values={
            "alg": ["median", 1, None],
            "alpha": ["1", None, True, float("nan")],
            "beta": ["1", None, True, float("nan")],
        },
    ),
    **{
        name: elementwise()
        for name in (
            *("abs", "exp", "gelu", "gelu_tanh", "log", "mish", "relu", "round"),
            *("sigmoid", "sqrt", "tanh"),
        )
    },
    "clip": Call(
        {"data": tensor(2, 3)},
        {"low": 0.0, "high": 1.0},
        values={
            "low": ["0", None, True, float("nan"), 1.5],
            "high": ["0", None, True, float("inf"), -0.5],
        },
    ),
    **{name: elementwise(alpha=0.5) for name in ("elu", "leaky_relu", "swish")},
    "binary": Call(
        {"a": tensor(2, 3), "b": tensor(3)},
        {"alg": "add"},
        {"b": [(2,), (3, 3), (2, 3, 3)]},
        {"alg": ["pow", 1, None]},
    ),
    "add": Call({"a": tensor(2, 3), "b": tensor(3)}, shapes={"b": [(2,), (3, 3), (2, 3, 3)]}),
    "multiply": Call({"a": tensor(2, 3), "b": tensor(3)}, shapes={"b": [(2,), (3, 3)]}),
    "sum": Call(
        {"data0": tensor(2, 3), "data1": tensor(2, 3)}, shapes={"data1": [(), (3,), (1, 3), (3, 2)]}
    ),
    "concatenate": Call(
        {"data0": tensor(2, 3), "data1": tensor(1, 3)},
        shapes={"data1": [(), (3,), (2, 4), (2, 3, 1)]},
        values={"axis": AXIS},
    ),
    "strided_slice": Call(
        {"data": tensor(4, 3)},
        {"length": 2},
        values={
            "axis": AXIS,
            "begin": [-1, 3, 4, 2**62, 0.5, "1", None],
            "length": [0, -1, 5, 2**62, 1.5, "2", None],
            "step": [4, -1, 2**62, 0.5, "1", None],
        },
    ),
    "transpose": Call(
        {"data": tensor(2, 3)},
        {"axes": (1, 0)},
        values={"axes": [(0, 0), (0,), (0, 1, 2), (0, -1), 1, "10", None, (0.5, 1), range(2)]},
    ),
    "reorder": Call(
        {"data": tensor(2, 4)},
        {"src_layout": "NC", "dst_layout": "CN2c"},
        {"data": [(4,), (2, 4, 1)]},
        {
            "src_layout": ["NCH", "N", "nc", "", 1, None],
            "dst_layout": ["NCH", "N", "NC3c", "NC2", "NC2c2c", "", 1, None],
        },
    ),
    "resample": Call(
        {"data": tensor(2, 3, 5, 5)},
        {"size": (4, 6)},
        {"data": [(3,), (2, 3), (1, 1, 1, 1, 1, 1)]},
        {"size": [0, (4,), (4, 6, 1), "4", None, 1.5, 2**31], "alg": ["cubic", 1, None]},
    ),
    "quantize": Call(
        {"data": tensor(2, 3)},
        {"scale": 0.5, "zero_point": 3},
        values={
            "scale": SCALES,
            "zero_point": ZEROS,
            "axis": AXIS,
            "dtype": ["float32", "int16", "bits"],
        },
    ),
    "dequantize": Call(
        {"data": tensor(2, 3, dtype="int32")},
        {"scale": 0.5, "zero_point": 3},
        values={"scale": SCALES, "zero_point": ZEROS, "axis": AXIS},
    ),
    "requantize": Call(
        {"data": tensor(2, 3, dtype="int32")},
        {
            "input_scale": 0.5,
            "input_zero_point": 3,
            "output_scale": 0.25,
            "output_zero_point": 1,
            "bias": tensor(3, dtype="int32"),
        },
        values={
            "input_scale": SCALES,
            "input_zero_point": ZEROS,
            "output_scale": [*SCALES, [1.0] * 3],
            "output_zero_point": [*ZEROS, [1] * 3],
            "bias": [tensor(4, dtype="int32"), tensor(3), [1, 2, 3], 1],
            "axis": AXIS,
            "rounding": ["DOWN", 1, None],
            "dtype": ["float32", "int16", "bits"],
        },
    ),
}
