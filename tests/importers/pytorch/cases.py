"""Calls of PyTorch by group: the functions of a group take the same inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

from .order_cases import ORDER, order_inputs

Functions = dict[str, Callable[..., Any]]


def _random(*shape: int) -> Any:
    return torch.empty(shape).uniform_(-2, 2)


UNARY: Functions = {
    name: (lambda f: lambda x: f(x))(getattr(torch, name))
    for name in (
        "neg", "abs", "floor", "ceil", "exp", "asinh", "atan", "cos", "cosh", "sin", "sinh", "tan",
        "tanh", "sigmoid", "erf", "sign", "trunc", "square", "isnan", "isinf", "reciprocal",
        "logical_not", "round", "relu",
    )
}  # fmt: skip
POSITIVE: Functions = {
    name: (lambda f: lambda x: f(x.abs() * 0.4 + 0.1))(getattr(torch, name))
    for name in ("sqrt", "rsqrt", "log", "log2", "log10", "acos", "asin", "atanh")
}
ACTIVATIONS: Functions = {
    "relu6": F.relu6,
    "hardtanh": lambda x: F.hardtanh(x, -0.5, 0.7),
    "leaky": lambda x: F.leaky_relu(x, 0.2),
    "elu": lambda x: F.elu(x, 0.7),
    "selu": F.selu,
    "celu": lambda x: F.celu(x, 1.3),
    "expm1": torch.expm1,
    "log1p": lambda x: torch.log1p(x.abs()),
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "mish": F.mish,
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "softplus": lambda x: F.softplus(x * 12, 2.0, 20.0),
    "logsigmoid": F.logsigmoid,
    "softmax": lambda x: F.softmax(x, 1),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "glu": lambda x: F.glu(x, 1),
    "softsign": F.softsign,
    "tanhshrink": F.tanhshrink,
    "prelu": lambda x: F.prelu(x, torch.tensor([0.3])),
    "prelu_channels": lambda x: F.prelu(x, torch.tensor([0.1, 0.2, 0.3, 0.4])),
}
BINARY: Functions = {
    "add": lambda x, y: x + y,
    "add_alpha": lambda x, y: torch.add(x, y, alpha=2.5),
    "add_scalar": lambda x, y: x + 2,
    "radd": lambda x, y: 2.5 + x,
    "sub": lambda x, y: x - y,
    "rsub": lambda x, y: 3 - x,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "div_floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "div_trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "floor_divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "fmod": torch.fmod,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != 0.5,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > 0,
    "ge": lambda x, y: x >= y,
    "pow2": lambda x, y: x**2,
    "pow3": lambda x, y: x**3,
    "pow_tensor": lambda x, y: x.abs() ** y,
    "pow_scalar": lambda x, y: 2**x,
    "where": lambda x, y: torch.where(x > y, x, y),
    "where_scalar": lambda x, y: torch.where(x > y, x, 0.5),
    "masked_fill": lambda x, y: x.masked_fill(y > 0, -1.0),
    "clamp": lambda x, y: x.clamp(-1, 0.5),
    "clamp_min": lambda x, y: x.clamp_min(0.1),
    "clamp_max": lambda x, y: x.clamp_max(0.1),
    "clamp_tensor": lambda x, y: torch.clamp(x, min=y * 0 - 1, max=y),
    "and": lambda x, y: (x > 0) & (y > 0),
    "or": lambda x, y: (x > 0) | (y > 0),
    "xor": lambda x, y: (x > 0) ^ (y > 0),
    "logical_and": lambda x, y: torch.logical_and(x > 0, y > 0),
    "invert": lambda x, y: ~(x > 0),
    "to_int": lambda x, y: x.to(torch.int32),
    "to_double": lambda x, y: x.double() + y,
    "mixed": lambda x, y: x * (y > 0),
}
INTEGERS: Functions = {
    "add": lambda i, x: i + 3,
    "mixed": lambda i, x: i * x,
    "true_div": lambda i, x: i / 2,
    "floor_div": lambda i, x: i // 3,
    "remainder": lambda i, x: i % 3,
    "compare": lambda i, x: i > 1.5,
    "and": lambda i, x: i & 6,
    "or": lambda i, x: i | 1,
    "xor": lambda i, x: i ^ 5,
    "not": lambda i, x: ~i,
    "sum": lambda i, x: i.sum(1),
    "mean": lambda i, x: i.float().mean(),
    "sqrt": lambda i, x: (i * i).sqrt(),
    "clamp": lambda i, x: i.clamp(-1, 1),
    "any": lambda i, x: (i > 2).any(),
    "all": lambda i, x: (i < 2).all(1),
    "cumsum": lambda i, x: i.cumsum(1),
    "cumsum_float": lambda i, x: x.cumsum(0),
    "prod": lambda i, x: x.prod(1),
}
SHAPES: Functions = {
    "reshape": lambda x: x.reshape(3, 8),
    "view": lambda x: x.view(2, -1),
    "flatten": torch.flatten,
    "flatten_1": lambda x: x.flatten(1),
    "unflatten": lambda x: x.unflatten(-1, (2, 2)),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "squeeze": lambda x: x.unsqueeze(1).squeeze(1),
    "squeeze_all": lambda x: x.reshape(1, 24, 1).squeeze(),
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(0, -1),
    "t": lambda x: x[0].t(),
    "T": lambda x: x[0].T,
    "cat": lambda x: torch.cat([x, x * 2], -1),
    "stack": lambda x: torch.stack([x, -x], 1),
    "split": lambda x: x.split(2, 1),
    "split_sizes": lambda x: x.split([1, 3], 2),
    "chunk": lambda x: x.chunk(2, 2),
    "unbind": lambda x: x.unbind(0),
    "slice": lambda x: x[:, 1:, ::2],
    "slice_negative": lambda x: x[..., -3:-1],
    "select": lambda x: x[:, -1],
    "expand": lambda x: x[:, :1].expand(2, 5, 4),
    "repeat": lambda x: x.repeat(1, 2, 1),
    "tile": lambda x: torch.tile(x, (2, 1, 1)),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 1),
    "flip": lambda x: x.flip(0, 2),
    "roll": lambda x: x.roll((1, -1), (0, 2)),
    "pad": lambda x: F.pad(x, (1, 2, 0, 3), value=0.5),
    "pad_negative": lambda x: F.pad(x, (-1, 2)),
    "reflect": lambda x: F.pad(x, (1, 2), mode="reflect"),
    "replicate": lambda x: F.pad(x[None], (1, 2, 1, 0), mode="replicate"),
    "circular": lambda x: F.pad(x[None], (1, 2, 0, 1), mode="circular"),
    "zeros": lambda x: torch.zeros(2, 3) + x.sum(),
    "ones_like": torch.ones_like,
    "full": lambda x: torch.full((2, 3), 7.0) * x.mean(),
    "full_like": lambda x: torch.full_like(x, 3),
    "arange": lambda x: torch.arange(4) + x,
    "arange_step": lambda x: torch.arange(1, 9, 2) * x,
    "tril": lambda x: x.tril(-1),
    "triu": lambda x: x.triu(1),
    "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.transpose(0, 1).contiguous(),
    "new_zeros": lambda x: x.new_zeros(2),
    "narrow": lambda x: x.narrow(2, 1, 2),
    "movedim": lambda x: x.movedim(0, 2),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "meshgrid": lambda x: torch.meshgrid(x[0, 0], x[0, 1], indexing="ij"),
}
REDUCTIONS: Functions = {
    "sum": lambda x: x.sum(),
    "sum_axes": lambda x: x.sum((0, -1), keepdim=True),
    "mean": lambda x: x.mean(),
    "mean_axis": lambda x: x.mean(1),
    "amax": lambda x: x.amax(1),
    "amin": lambda x: x.amin((0, 2)),
    "max": lambda x: x.max(),
    "max_dim": lambda x: x.max(1),
    "min_dim": lambda x: x.min(2, keepdim=True),
    "argmax": lambda x: x.argmax(),
    "argmax_dim": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(-1),
    "var": lambda x: x.var(1),
    "var_0": lambda x: x.var(2, correction=0),
    "std": lambda x: x.std((0, 1), keepdim=True),
    "var_mean": lambda x: torch.var_mean(x, 1),
    "logsumexp": lambda x: x.logsumexp(2),
    "norm": lambda x: x.norm(dim=1),
    "norm_1": lambda x: torch.linalg.vector_norm(x, 1, 2),
    "norm_3": lambda x: torch.linalg.vector_norm(x, 3, 2),
    "norm_inf": lambda x: torch.linalg.vector_norm(x, float("inf"), 2),
    "normalize": lambda x: F.normalize(x, dim=1),
    "topk": lambda x: x.topk(2, 2),
    "topk_smallest": lambda x: x.topk(2, 1, largest=False),
    "sort": lambda x: x.sort(2),
    "argsort": lambda x: x.argsort(1, descending=True),
    "cosine": lambda x: F.cosine_similarity(x, x + 1, 2),
}
NORMS: Functions = {
    "layer": lambda x: F.layer_norm(x, (6,)),
    "layer_2": lambda x: F.layer_norm(x, (6, 6)),
    "layer_weights": lambda x: F.layer_norm(x, (6,), torch.arange(6.0), torch.ones(6)),
    "group": lambda x: F.group_norm(x, 2),
    "instance": lambda x: F.instance_norm(x),
    "rms": lambda x: F.rms_norm(x, (6,)),
    "rms_2": lambda x: F.rms_norm(x, (6, 6), eps=1e-3),
    "max_pool": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max_pool_ceil": lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True),
    "avg_pool": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "avg_pool_exclude": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "avg_pool_divided": lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=4),
    "avg_pool_ceil_divided": lambda x: F.avg_pool2d(
        x, 3, 2, 1, ceil_mode=True, count_include_pad=False, divisor_override=4
    ),
    "max_pool_places": lambda x: F.max_pool2d(x.round(), 3, 2, 1, return_indices=True),
    "max_pool_ceil_places": lambda x: F.max_pool2d(
        x, 2, 3, 1, dilation=2, ceil_mode=True, return_indices=True
    ),
    "max_unpool": lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
    "adaptive_max_places": lambda x: F.adaptive_max_pool2d(x, (4, 5), return_indices=True),
    "adaptive": lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
    "adaptive_max": lambda x: F.adaptive_max_pool2d(x, 2),
    "global_max": lambda x: F.adaptive_max_pool2d(x, 1),
    "pool1d": lambda x: F.max_pool1d(x[0], 2),
    "avg1d": lambda x: F.avg_pool1d(x[:, 0], 2),
    "adaptive1d": lambda x: F.adaptive_avg_pool1d(x[:, 0], 3),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "nearest_size": lambda x: F.interpolate(x, size=(9, 4)),
    "bilinear": lambda x: F.interpolate(x, size=(9, 4), mode="bilinear"),
    "bilinear_aligned": lambda x: F.interpolate(
        x, scale_factor=2, mode="bilinear", align_corners=True
    ),
    "bicubic": lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 2),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
    "unfold_free": lambda x: x[:, :, ::2, ::2] * 1.0,
}
CONVOLUTIONS: Functions = {
    "conv1d": lambda x, w: F.conv1d(x[:, 0], w[:, :, 0].repeat(1, 2, 1)[:, :6]),
    "conv2d": lambda x, w: F.conv2d(x, w),
    "bias": lambda x, w: F.conv2d(x, w, torch.ones(4), 2, 1),
    "same": lambda x, w: F.conv2d(x, w[:, :, :2, :2], padding="same"),
    "dilated": lambda x, w: F.conv2d(x, w, padding=2, dilation=2),
    "grouped": lambda x, w: F.conv2d(x, w[:, :2], groups=2),
    "depthwise": lambda x, w: F.conv2d(x, w[:, :1], groups=4),
    "transposed": lambda x, w: F.conv_transpose2d(x, w, torch.ones(4), 2, 1, 1),
    "transposed_grouped": lambda x, w: F.conv_transpose2d(x, w[:, :2], groups=2),
    "conv3d": lambda x, w: F.conv3d(x[:, None], w[:, :1, None, :2, :2].repeat(1, 1, 2, 1, 1)),
}
PRODUCTS: Functions = {
    "linear": lambda a, b: F.linear(a, b),
    "linear_bias": lambda a, b: F.linear(a, b, torch.ones(6)),
    "linear_vector": lambda a, b: F.linear(a[0, 0], b),
    "mm": lambda a, b: torch.mm(a[0], b.t()),
    "addmm": lambda a, b: torch.addmm(torch.ones(6), a[0], b.t(), alpha=2, beta=0.5),
    "bmm": lambda a, b: torch.bmm(a, a.transpose(1, 2)),
    "matmul_3_2": lambda a, b: a @ b.t(),
    "matmul_2_3": lambda a, b: b @ a.transpose(1, 2),
    "matmul_4": lambda a, b: a[:, None] @ a.transpose(1, 2),
    "vector": lambda a, b: a @ b[0],
    "vector_left": lambda a, b: b[0] @ a.transpose(1, 2),
    "dot": lambda a, b: torch.dot(a[0, 0], b[0]),
    "mv": lambda a, b: torch.mv(b, a[0, 0]),
    "baddbmm": lambda a, b: torch.baddbmm(
        torch.ones(2, 3, 3), a, a.transpose(1, 2), beta=2, alpha=0.5
    ),
    "einsum": lambda a, b: torch.einsum("bij,kj->bik", a, b),
    "attention": lambda a, b: F.scaled_dot_product_attention(a, a, a),
    "causal": lambda a, b: F.scaled_dot_product_attention(a, a, a, is_causal=True),
    "masked": lambda a, b: F.scaled_dot_product_attention(
        a, a, a, torch.ones(3, 3, dtype=torch.bool).tril()
    ),
    "biased": lambda a, b: F.scaled_dot_product_attention(
        a[:, None], a[:, None], a[:, None], a[0] @ a[0].t(), scale=0.3
    ),
    "grouped": lambda a, b: F.scaled_dot_product_attention(
        a[:, None].expand(2, 6, 3, 5), *(2 * [a[:, None].repeat(1, 2, 1, 1)]), enable_gqa=True
    ),
    "cross": lambda a, b: F.scaled_dot_product_attention(a, b.expand(2, 6, 5), b.expand(2, 6, 5)),
}
GATHERING: Functions = {
    "embedding": lambda t, i: F.embedding(i, t),
    "index_select": lambda t, i: t.index_select(0, i[0]),
    "gather": lambda t, i: t.gather(0, i),
    "index": lambda t, i: t[i],
    "index_1": lambda t, i: t[:, i[0] - 3],
    "scatter": lambda t, i: t.scatter(0, i[:1, :2] * 0 + 1, t[:1, :2] + 9),
    "scatter_add": lambda t, i: t.scatter_add(0, i, torch.ones(2, 3)),
    "one_hot": lambda t, i: F.one_hot(i, 6),
    "assigned": lambda t, i: _assigned(t),
    "fake": lambda t, i: torch.fake_quantize_per_tensor_affine(t, 0.1, 3, 0, 255),
    "fake_int8": lambda t, i: torch.fake_quantize_per_tensor_affine(t, 0.05, 0, -128, 127),
}


def _put(x: Any, place: Any, value: Any, add: bool = False) -> Any:
    """x with an assignment to, or an addition at, an index."""
    y = x.clone()
    if add:
        y[place] += value
    else:
        y[place] = value
    return y


ASSIGNMENTS: Functions = {  # x (4, 6, 5), v (4, 6, 5), i (3), j (3)
    "slice": lambda x, v, i, j: _put(x, slice(1, 3), v[1:3]),
    "slice_number": lambda x, v, i, j: _put(x, (slice(None), slice(2, None)), 7.0),
    "slice_step": lambda x, v, i, j: _put(x, (slice(None), slice(1, 6, 2)), v[:, :3]),
    "slice_negative": lambda x, v, i, j: _put(x, (slice(None), slice(-2, None)), v[:, :2]),
    "slice_whole": lambda x, v, i, j: _put(x, slice(None), v),
    "slice_of_slice": lambda x, v, i, j: _put(x, (slice(1, 3), slice(2, 4)), v[1:3, 2:4], True),
    "row": lambda x, v, i, j: _put(x, 2, v[0]),
    "index": lambda x, v, i, j: _put(x, i, v[:3]),
    "index_number": lambda x, v, i, j: _put(x, i - 4, 3.0),
    "index_1": lambda x, v, i, j: _put(x, (slice(None), j), v[:, :3]),
    "index_1_row": lambda x, v, i, j: _put(x, (slice(None), j), v[0, 0]),
    "two": lambda x, v, i, j: _put(x, (i, j), v[0, :3]),
    "two_apart": lambda x, v, i, j: _put(x, (i, slice(None), j - 5), v[0, :3, :1].expand(3, 6)),
    "two_behind": lambda x, v, i, j: _put(x, (slice(None), i, j.clamp(max=4)), v[:, :3, 0]),
    "mask": lambda x, v, i, j: _put(x, x > 0, 0.5),
    "mask_rows": lambda x, v, i, j: _put(x, v[:, 0, 0] > 0, 2.0),
    "accumulated": lambda x, v, i, j: x.index_put((i * 0, j * 0 + 1), v[0, :3], accumulate=True),
    "index_add": lambda x, v, i, j: x.index_add(1, i, v[:, :3], alpha=2),
    "index_copy": lambda x, v, i, j: x.index_copy(1, j, v[:, :3]),
    "index_fill": lambda x, v, i, j: x.index_fill(2, i, -1.0),
    "masked_fill": lambda x, v, i, j: x.masked_fill(v > 0, 4.0),
    "read_two": lambda x, v, i, j: x[i, j],
    "read_two_negative": lambda x, v, i, j: x[i - 4, j - 6],
    "read_two_broadcast": lambda x, v, i, j: x[i[:, None], j],
    "read_two_apart": lambda x, v, i, j: x[i, :, j.clamp(max=4)],
    "read_two_behind": lambda x, v, i, j: x[:, i, j.clamp(max=4)],
    "read_three": lambda x, v, i, j: x[i, j, i],
    **{
        f"reduced_{kind}_{own}": lambda x, v, i, j, kind=kind, own=own: x.scatter_reduce(
            1, i.expand(4, 5, 3).transpose(1, 2), v[:, :3], kind, include_self=own
        )
        for kind in ("sum", "prod", "mean", "amax", "amin")
        for own in (True, False)
    },
}


def _bags(mode: str, **more: Any) -> Callable[..., Any]:
    """Bags of 2, 0, 3 and 1 rows."""
    return lambda t, i: F.embedding_bag(
        i.reshape(-1), t, torch.tensor([0, 2, 2, 5]), mode=mode, **more
    )


BAGS: Functions = {  # t (6, 5), i (2, 3)
    **{mode: _bags(mode) for mode in ("sum", "mean", "max")},
    **{f"{mode}_padded": _bags(mode, padding_idx=2) for mode in ("sum", "mean", "max")},
    "weighted": _bags("sum", per_sample_weights=torch.arange(6.0)),
    "rows": lambda t, i: F.embedding_bag(i, t),
    "last": lambda t, i: F.embedding_bag(
        i.reshape(-1), t, torch.tensor([0, 2, 2, 6]), include_last_offset=True
    ),
}


def _scaled(scale: Any, mode: str, **more: Any) -> Callable[..., Any]:
    return lambda x, g: F.interpolate(x, scale_factor=scale, mode=mode, **more)


SAMPLING: Functions = {  # x (2, 3, 7, 10), g (2, 4, 5, 2)
    **{
        f"{mode}_{scale}": _scaled(scale, mode)
        for mode in ("nearest", "bilinear", "bicubic", "nearest-exact")
        for scale in (0.6, 1.3, 2.0, (1.5, 0.7))
    },
    **{
        f"{mode}_antialias_{scale}": _scaled(scale, mode, antialias=True)
        for mode in ("bilinear", "bicubic")
        for scale in (0.4, 0.5, 1.3)
    },
    "recomputed": _scaled(1.3, "bilinear", recompute_scale_factor=True),
    "corners": _scaled(1.3, "bilinear", align_corners=True),
    **{
        f"grid_{mode}_{padding}_{corners}": lambda x, g, m=mode, p=padding, c=corners: (
            F.grid_sample(x, g, m, p, align_corners=c)
        )
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for corners in (True, False)
    },
    "grid_3d": lambda x, g: F.grid_sample(
        x[:, None], F.pad(g, (0, 1))[:, None], align_corners=False
    ),
}


def _assigned(x: Any) -> Any:
    """In-place changes through a view."""
    y = x * 2
    view = y.view(-1)
    view.add_(1)
    y[1] = 5.0
    return view + y.reshape(-1)


GROUPS: dict[str, tuple[Functions, Callable[[], tuple[Any, ...]]]] = {
    "unary": (UNARY, lambda: (_random(3, 4),)),
    "positive": (POSITIVE, lambda: (_random(3, 4),)),
    "activations": (ACTIVATIONS, lambda: (_random(2, 4, 6),)),
    "binary": (BINARY, lambda: (_random(3, 4), _random(3, 4))),
    "integers": (INTEGERS, lambda: (torch.randint(-7, 7, (3, 4)), _random(3, 4))),
    "shapes": (SHAPES, lambda: (_random(2, 3, 4),)),
    "reductions": (REDUCTIONS, lambda: (_random(2, 3, 4),)),
    "norms": (NORMS, lambda: (_random(2, 4, 6, 6),)),
    "convolutions": (CONVOLUTIONS, lambda: (_random(2, 4, 6, 6), _random(4, 4, 3, 3))),
    "products": (PRODUCTS, lambda: (_random(2, 3, 5), _random(6, 5))),
    "assignments": (
        ASSIGNMENTS,
        lambda: (
            _random(4, 6, 5),
            _random(4, 6, 5),
            torch.tensor([3, 0, 2]),
            torch.tensor([5, 1, 0]),
        ),
    ),
    "order": (ORDER, order_inputs),
    "bags": (BAGS, lambda: (_random(6, 5), torch.randint(0, 6, (2, 3)))),
    "sampling": (SAMPLING, lambda: (_random(2, 3, 7, 10), _random(2, 4, 5, 2) * 1.3)),
    "gathering": (GATHERING, lambda: (_random(6, 5), torch.randint(0, 6, (2, 3)))),
}
