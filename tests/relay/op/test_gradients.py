"""The operators that are gradients give what small changes of the forward operator say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.relay import nn
from byoc_lab.run.reference import evaluate

rng = np.random.default_rng(5)


def run(build: Any, *arrays: np.ndarray) -> np.ndarray:
    params = [relay.var(f"x{n}", shape=a.shape, dtype="float64") for n, a in enumerate(arrays)]
    value = evaluate(relay.Function(params, build(*params)), list(arrays)).value
    assert isinstance(value, np.ndarray)
    return value


def numeric(loss: Any, at: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """The gradient of `loss` by central differences."""
    out = np.zeros_like(at)
    for place in np.ndindex(*at.shape):
        change = np.zeros_like(at)
        change[place] = step
        out[place] = (loss(at + change) - loss(at - change)) / (2 * step)
    return out


@pytest.mark.parametrize(
    ("kernel", "more"),
    [
        ((4, 2, 3, 2), {"groups": 2, "dilation": (1, 2)}),
        ((3, 4, 3, 3), {"strides": (2, 1), "padding": (1, 0)}),
        ((4, 1, 2, 2), {"groups": 4, "strides": (2, 2)}),
    ],
)
def test_conv2d_backward_weight(kernel: tuple[int, ...], more: dict[str, Any]) -> None:
    x, w = rng.normal(size=(2, 4, 6, 7)), rng.normal(size=kernel)

    def forward(weight: np.ndarray) -> np.ndarray:
        return run(lambda a, b: nn.conv2d(a, b, **more), x, weight)

    grad = rng.normal(size=forward(w).shape)
    found = run(
        lambda g, a: nn.conv2d_backward_weight(g, a, kernel_size=kernel[2:], **more), grad, x
    )
    wanted = numeric(lambda weight: (forward(weight) * grad).sum(), w)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("more", [{}, {"padding": (1, 1)}, {"ceil_mode": True}])
def test_pooling(kind: str, more: dict[str, Any]) -> None:
    x = rng.permutation(1 * 2 * 6 * 7).reshape(1, 2, 6, 7).astype("float64")
    window = {"pool_size": (3, 2), "strides": (2, 2), **more}
    pool = getattr(nn, f"{kind}_pool2d")

    def forward(data: np.ndarray) -> np.ndarray:
        return run(lambda a: pool(a, **window), data)

    grad = rng.normal(size=forward(x).shape)
    found = run(lambda g, a: getattr(nn, f"{kind}_pool2d_grad")(g, a, **window), grad, x)
    wanted = numeric(lambda data: (forward(data) * grad).sum(), x, step=1e-3)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)
