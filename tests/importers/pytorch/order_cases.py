"""Calls of PyTorch that sort elements or measure distances: x (3, 8), y (3, 8), i (3, 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Functions = dict[str, Callable[..., Any]]
STEPS = torch.tensor([-1.0, 0.0, 0.5, 1.0])

ORDER: Functions = {
    "cumprod": lambda x, y, i: x.cumprod(1),
    "cumprod_integer": lambda x, y, i: i.cumprod(0),
    "cummax": lambda x, y, i: x.cummax(1),
    "cummin": lambda x, y, i: x.cummin(0),
    "cummax_equal": lambda x, y, i: i.cummax(1),
    "cummin_equal": lambda x, y, i: i.cummin(-1),
    "kthvalue": lambda x, y, i: x.kthvalue(3, 1),
    "kthvalue_kept": lambda x, y, i: x.kthvalue(2, 0, True),
    "kthvalue_integer": lambda x, y, i: i.kthvalue(2, 1)[0],
    "median": lambda x, y, i: x.median(),
    "median_dim": lambda x, y, i: x.median(1),
    "median_kept": lambda x, y, i: x.median(0, True),
    "median_integer": lambda x, y, i: i.median(1)[0],
    "bucketize": lambda x, y, i: torch.bucketize(x, STEPS),
    "bucketize_right": lambda x, y, i: torch.bucketize(STEPS, STEPS, right=True, out_int32=True),
    "searchsorted": lambda x, y, i: torch.searchsorted(x.sort(1)[0], y),
    "searchsorted_right": lambda x, y, i: torch.searchsorted(i.sort(1)[0], i, side="right"),
    "round_2": lambda x, y, i: x.round(decimals=2),
    "round_tens": lambda x, y, i: (x * 40).round(decimals=-1),
    "round_integer": lambda x, y, i: i.round(),
    "atan2": lambda x, y, i: torch.atan2(x, y),
    "hypot": lambda x, y, i: torch.hypot(x, y),
    "diagonal": lambda x, y, i: x.diagonal(),
    "diagonal_above": lambda x, y, i: x.diagonal(2),
    "diagonal_below": lambda x, y, i: x.diagonal(-1, 1, 0),
    "diagonal_outside": lambda x, y, i: x.diagonal(20),
    "diagonal_of_three": lambda x, y, i: x.reshape(2, 3, 4).diagonal(1, 2, 0),
    "trace": lambda x, y, i: x.trace(),
    "norm_0": lambda x, y, i: torch.linalg.vector_norm(x.round(), 0, 1),
    "norm_least": lambda x, y, i: torch.linalg.vector_norm(x, -float("inf"), 1),
    "cdist_batches": lambda x, y, i: torch.cdist(x.reshape(3, 2, 4), y.reshape(3, 2, 4)[:1]),
    "cdist_many": lambda x, y, i: torch.cdist(x.repeat(10, 1), y.repeat(9, 1)),
    **{
        f"cdist_{order}": lambda x, y, i, order=order: torch.cdist(x, y[:2], p=order)
        for order in (0.0, 1.0, 2.0, 3.0, float("inf"))
    },
}


def order_inputs() -> tuple[Any, ...]:
    x, y = (torch.empty(3, 8).uniform_(-2, 2) for _ in range(2))
    return x, y, torch.randint(-3, 3, (3, 8))
