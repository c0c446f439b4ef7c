"""PyTorch's operators on special values: PyTorch's results, except for listed differences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab.importers.pytorch import from_pytorch

torch = pytest.importorskip("torch")
F = torch.nn.functional

PAGE = Path(__file__).parents[3] / "docs" / "importers.md"
SPECIAL = torch.tensor(
    [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, -1e-40, 0.5, 1.5, 2.5, -0.5, -2.5, 3e38, -3e38, 1,
     -1, 88.8, -104, 20.5, 7]
)  # fmt: skip
LEFT, RIGHT = SPECIAL.repeat_interleave(len(SPECIAL)), SPECIAL.repeat(len(SPECIAL))
ROW = torch.tensor([1, 2, 3, -1, 0.5, 0.25, 0, 1])
ROWS = torch.stack([r for s in SPECIAL for r in (ROW.where(torch.arange(8) != 4, s), s.expand(8))])
IMAGE = torch.cat([ROWS, ROWS], 1).reshape(1, -1, 4, 4)
Cases = dict[str, Callable[..., Any]]


def named(module: Any, names: str) -> Cases:
    return {name: getattr(module, name) for name in names.split()}


UNARY: Cases = {
    **named(
        torch,
        "abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad erf exp expm1 floor frac "
        "isfinite isinf isnan log log10 log1p log2 logical_not nan_to_num neg positive reciprocal "
        "relu round rsqrt sgn sigmoid sign sin sinh sqrt square tan tanh trunc",
    ),
    **named(
        F,
        "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 "
        "selu silu softplus softshrink softsign tanhshrink",
    ),
    "gelu of tanh": lambda x: F.gelu(x, approximate="tanh"),
    "threshold": lambda x: F.threshold(x, 0.5, 2.0),
    "round to 2 decimals": lambda x: x.round(decimals=2),
    "round to tens": lambda x: x.round(decimals=-1),
    "bucketize": lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.5])),
    "bucketize to the right": lambda x: torch.bucketize(x, torch.tensor([0.0, 1.5]), right=True),
    "clamp": lambda x: x.clamp(-1, 2),
    "clamp to a minimum above the maximum": lambda x: x.clamp(2, -1),
    "clamp from below": lambda x: x.clamp(min=0.0),
    "integer powers": lambda x: x**2 + x**3,
    "square root as a power": lambda x: x**0.5,
    "reciprocal as a power": lambda x: x**-1,
    "power of 2": lambda x: 2**x,
    "bool": lambda x: x.to(torch.bool),
    "half": lambda x: x.half(),
    "prelu": lambda x: F.prelu(x, torch.tensor([0.25])),
}
BINARY: Cases = {
    **named(
        torch,
        "add sub mul div eq ne gt ge lt le maximum minimum pow fmod remainder floor_divide "
        "logical_and logical_or logical_xor atan2 hypot",
    ),
    "division rounded down": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "division rounded to 0": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "lerp": lambda x, y: torch.lerp(x, y, 0.3),
    "where": lambda x, y: torch.where(x > y, x, y),
}
REDUCTIONS: Cases = {
    **{
        name: lambda x, f=f: f(x, 1)
        for name, f in named(
            torch,
            "sum mean prod amax amin argmax argmin logsumexp var std all any cumsum softmax "
            "log_softmax nansum count_nonzero",
        ).items()
    },
    "variance of one value": lambda x: x[:, :1].var(1),
    "deviation with a correction above the count": lambda x: x[:4, :3].std(1, correction=4),
    "vector norm": lambda x: torch.linalg.vector_norm(x, dim=1),
    "maximum": lambda x: x.max(1)[0],
    "position of the maximum": lambda x: x.max(1)[1],
    "normalize": lambda x: F.normalize(x, dim=1),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x + 1, dim=1),
    "cumprod": lambda x: x.cumprod(1),
    "cummax": lambda x: x.cummax(1)[0],
    "positions of cummax": lambda x: x.cummax(1)[1],
    "cummin": lambda x: x.cummin(1)[0],
    "positions of cummin": lambda x: x.cummin(1)[1],
    "median": lambda x: x.median(1)[0],
    "kthvalue": lambda x: x.kthvalue(6, 1)[0],
    "cdist": lambda x: torch.cdist(x, x[:3] + 1, p=1.0),
    **{
        f"cdist of order {p}": lambda x, p=p: torch.cdist(x, x[:3] + 1, p=float(p))
        for p in ("0", "2", "inf")
    },
    "sort": lambda x: x.sort(1)[0],
    "topk": lambda x: x.topk(3, 1)[0],
    "layer_norm": lambda x: F.layer_norm(x, (8,)),
    "rms_norm": lambda x: F.rms_norm(x, (8,)),
    "linear": lambda x: F.linear(x, torch.ones(3, 8)),
    "attention": lambda x: F.scaled_dot_product_attention(x[None, :8], x[None, :8], x[None, :8]),
}
EMPTY: Cases = {
    **{name: REDUCTIONS[name] for name in ("sum", "softmax", "var", "layer_norm", "linear")},
    "sum of no rows": lambda x: x.sum(0),
    "logsumexp of no rows": lambda x: x.logsumexp(0),
    "mean of no rows": lambda x: x.mean(0),
    "product of no rows": lambda x: x.prod(0),
    "max_pool2d": lambda x: F.max_pool2d(x.reshape(0, 2, 2, 2), 2),
    "conv2d": lambda x: F.conv2d(x.reshape(0, 2, 2, 2), torch.ones(3, 2, 1, 1)),
}
WINDOWS: Cases = {
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "max_pool2d with padding": lambda x: F.max_pool2d(x, 3, 2, 1),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "avg_pool2d with padding": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 3),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 3),
    "group_norm": lambda x: F.group_norm(x, 2),
    "instance_norm": F.instance_norm,
    "batch_norm": lambda x: F.batch_norm(x, torch.zeros(x.shape[1]), torch.ones(x.shape[1])),
    "local_response_norm": lambda x: F.local_response_norm(x, 3),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2),
    "bilinear interpolate": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
}
GROUPS: dict[str, tuple[Cases, tuple[Any, ...]]] = {
    "one value": (UNARY, (SPECIAL,)),
    "two values": (BINARY, (LEFT, RIGHT)),
    "rows": (REDUCTIONS, (ROWS,)),
    "no rows": (EMPTY, (torch.zeros(0, 8),)),
    "windows": (WINDOWS, (IMAGE,)),
}
# Operators whose special values may differ, as docs/importers.md lists: they get other values.
DIFFERENT = {
    "bilinear interpolate", "cdist of order 0", "cdist of order inf", "cumprod",
    "fmod", "gelu", "hardswish", "instance_norm", "max_pool2d with padding",
    "remainder", "std", "var",
}  # fmt: skip


def tame(x: Any) -> Any:
    """`x` with nan, large values and subnormal values replaced by 1."""
    return torch.where((x == 0) | ((x.abs() < 50) & (x.abs() > 1e-30)), x, torch.ones(()))


class Every(torch.nn.Module):
    """The results of all operators of a group; operators in DIFFERENT get the second half of the
    inputs."""

    def __init__(self, cases: Cases):
        super().__init__()
        self.cases = cases

    def forward(self, *given: Any) -> Any:
        half = len(given) // 2
        return tuple(
            f(*(given[half:] if name in DIFFERENT else given[:half]))
            for name, f in self.cases.items()
        )


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("group", GROUPS)
def test_special_values_equal_pytorch(group: str) -> None:
    cases, data = GROUPS[group]
    given = (*data, *map(tame, data))
    net = Every(cases).eval()
    mod, _ = from_pytorch(net, given)
    found = byoc_lab.evaluate(mod, [x.numpy() for x in given]).outputs
    for name, got, expected in zip(cases, found, net(*given), strict=True):
        wanted = expected.numpy()
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), name
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=5e-5, err_msg=name)


def test_page_lists_the_operators_that_differ() -> None:
    _, _, text = PAGE.read_text().partition("### Numbers that differ from PyTorch")
    rows = [line.split("|")[1].strip() for line in text.split("##")[0].splitlines() if "|" in line]
    assert {name for row in rows[2:] for name in row.split(", ")} == DIFFERENT
