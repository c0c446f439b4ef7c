"""The formulas of kernel_cases.py again, in PyTorch: an independent reading of them.

Each takes the arguments of the kernel of its name, arrays as float64 tensors. PyTorch lacks some
forms (paddings that differ before and after, dilated means); these are composed of its operations.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

Tensor = torch.Tensor
Computed = Callable[..., Tensor]


def pad(data: Tensor, padding: list[int], value: float = 0.0) -> Tensor:
    """`padding` lists all axes before, then all after; PyTorch lists the last axis first."""
    axes = len(padding) // 2
    sides = [side for n in reversed(range(axes)) for side in (padding[n], padding[axes + n])]
    return F.pad(data, sides, value=value)


def with_bias(result: Tensor, bias: Tensor | None) -> Tensor:
    return result if bias is None else result + bias.reshape(1, -1, *[1] * (result.ndim - 2))


def conv(axes: int, after: Computed = lambda x: x) -> Computed:
    function = getattr(F, f"conv{axes}d")

    def computed(data, weight, bias=None, *, strides, padding, dilation, groups, data_zero_point=0):
        padded = pad(data - data_zero_point, padding)
        result = function(padded, weight, stride=strides, dilation=dilation, groups=groups)
        return after(with_bias(result, bias))

    return computed


def conv_transpose(axes: int) -> Computed:
    function = getattr(F, f"conv_transpose{axes}d")

    def computed(data, weight, bias=None, *, strides, padding, dilation, groups, output_padding):
        whole = function(data, weight, stride=strides, dilation=dilation, groups=groups)
        whole = pad(whole, [*[0] * axes, *output_padding])
        cut = [
            slice(padding[n], size - padding[n + axes]) for n, size in enumerate(whole.shape[2:])
        ]
        return with_bias(whole[(slice(None), slice(None), *cut)], bias)

    return computed


def max_pool(axes: int) -> Computed:
    function = getattr(F, f"max_pool{axes}d")

    def computed(data, pool_size, *, strides, padding, dilation):
        padded = pad(data, padding, -torch.inf)
        return function(padded, pool_size, stride=strides, dilation=dilation)

    return computed


def avg_pool(axes: int) -> Computed:
    """Sums by a convolution with ones, divided by the number of elements."""
    function = getattr(F, f"conv{axes}d")

    def computed(data, pool_size, *, strides, padding, dilation, count_include_pad):
        def sums(image: Tensor) -> Tensor:
            rows = image.reshape(-1, 1, *image.shape[2:])
            ones = torch.ones(1, 1, *pool_size, dtype=torch.float64)
            summed = function(pad(rows, padding), ones, stride=strides, dilation=dilation)
            return summed.reshape(*image.shape[:2], *summed.shape[2:])

        there = torch.ones_like(data)
        count = torch.tensor(pool_size).prod() if count_include_pad else sums(there)
        return sums(data) / count

    return computed


def global_pool(alg: str, axes: int) -> Computed:
    function = getattr(F, f"adaptive_{alg}_pool{axes}d")
    return lambda data: function(data, [1] * axes)


def resample(data: Tensor, size: list[int], *, alg: str) -> Tensor:
    if alg == "nearest":
        return F.interpolate(data, size, mode="nearest-exact")
    mode = ("linear", "bilinear", "trilinear")[data.ndim - 3]
    return F.interpolate(data, size, mode=mode, align_corners=False)


def dense(data, weight, bias=None, *, data_zero_point=0):
    return F.linear(data - data_zero_point, weight, None if bias is None else bias.flatten())


def matmul(a, b, bias=None, *, transpose_a, transpose_b):
    product = torch.matmul(a.mT if transpose_a else a, b.mT if transpose_b else b)
    return product if bias is None else product + bias.flatten()


def batch_norm(data, gamma, beta, mean, variance, *, epsilon):
    return F.batch_norm(data, mean, variance, gamma, beta, eps=epsilon)


def layer_norm(data, gamma, beta, *, epsilon):
    return F.layer_norm(data, data.shape[-1:], gamma, beta, eps=epsilon)


def reduce(alg: str, data: Tensor, *, axis: int) -> Tensor:
    function = {"max": torch.amax, "min": torch.amin}.get(alg) or getattr(torch, alg)
    return function(data, dim=axis, keepdim=True)


FUNCTIONS: dict[str, Callable[[Tensor, float, float], Tensor]] = {
    "abs": lambda x, a, b: x.abs(),
    "clip": lambda x, a, b: x.clamp(a, b),
    "elu": lambda x, a, b: F.elu(x, a),
    "exp": lambda x, a, b: x.exp(),
    "gelu": lambda x, a, b: F.gelu(x),
    "gelu_tanh": lambda x, a, b: F.gelu(x, approximate="tanh"),
    "hard_sigmoid": lambda x, a, b: F.hardtanh(x * a + b, 0.0, 1.0),
    "hard_swish": lambda x, a, b: x * F.hardtanh(x * a + b, 0.0, 1.0),
    "linear": lambda x, a, b: x * a + b,
    "log": lambda x, a, b: x.log(),
    "mish": lambda x, a, b: F.mish(x),
    "pow": lambda x, a, b: a * x.pow(b),
    "relu": lambda x, a, b: F.leaky_relu(x, a),
    "round": lambda x, a, b: x.round(),
    "sigmoid": lambda x, a, b: x.sigmoid(),
    "softplus": lambda x, a, b: F.softplus(x, beta=a, threshold=1e9),
    "sqrt": lambda x, a, b: x.sqrt(),
    "square": lambda x, a, b: x.square(),
    "swish": lambda x, a, b: x * torch.sigmoid(a * x),
    "tanh": lambda x, a, b: x.tanh(),
}
BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "div": torch.div,
    "max": torch.maximum,
    "min": torch.minimum,
    "mul": torch.mul,
    "sub": torch.sub,
}


def eltwise(alg: str, data: Tensor, alpha: float = 0.0, beta: float = 0.0) -> Tensor:
    return FUNCTIONS[alg](data, alpha, beta)


def named(alg: str) -> Computed:
    return functools.partial(eltwise, alg)


def dequantize(data: Tensor, scale: Any, zero_point: Any, *, axis: int) -> Tensor:
    along = [1] * data.ndim
    if data.ndim:
        along[axis] = -1
    scale, zero_point = (p.reshape(along) if p.numel() > 1 else p for p in (scale, zero_point))
    return ((data - zero_point).float() * scale.float()).double()


KERNELS: dict[str, Computed] = {
    **{f"conv{n}d": conv(n) for n in (1, 2, 3)},
    "conv2d_bias": conv(2),
    "conv2d_relu": conv(2, F.relu),
    "conv2d_bias_relu": conv(2, F.relu),
    **{f"conv{n}d_transpose": conv_transpose(n) for n in (1, 2, 3)},
    **{f"max_pool{n}d": max_pool(n) for n in (1, 2, 3)},
    **{f"avg_pool{n}d": avg_pool(n) for n in (1, 2, 3)},
    **{f"global_{alg}_pool{n}d": global_pool(alg, n) for alg in ("avg", "max") for n in (1, 2, 3)},
    "resample": resample,
    "dense": dense,
    "dense_bias": dense,
    "matmul": matmul,
    "batch_matmul": matmul,
    "batch_norm": batch_norm,
    "layer_norm": layer_norm,
    "softmax": lambda data, axis: F.softmax(data, axis),
    "log_softmax": lambda data, axis: F.log_softmax(data, axis),
    "reduce": reduce,
    "eltwise": eltwise,
    **{
        alg: named(alg)
        for alg in (
            *("abs", "clip", "elu", "exp", "gelu", "gelu_tanh", "log", "mish", "relu"),
            *("round", "sigmoid", "sqrt", "swish", "tanh"),
        )
    },
    "leaky_relu": named("relu"),
    "binary": lambda alg, a, b: BINARY[alg](a, b),
    "add": torch.add,
    "multiply": torch.mul,
    "sum": lambda *data: sum(data),
    "concatenate": lambda data, axis: torch.cat(data, axis),
    "strided_slice": lambda data, axis, begin, length, step: data.index_select(
        axis, begin + step * torch.arange(length)
    ),
    "transpose": torch.permute,
    "dequantize": dequantize,
}
