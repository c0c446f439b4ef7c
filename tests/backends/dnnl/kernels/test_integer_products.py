"""Products of 8-bit integers are exact on every processor: equal to NumPy in int64.

`make machines` runs this for each instruction set; without VNNI the kernels are those of
native/src/integer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab.backends.dnnl import kernels, native
from tests.sweeps import some

pytestmark = pytest.mark.native

ZEROS = (0, 1, -128, 127, 128, 200, 255)


def integers(rng: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    """Half of all tensors hold only extreme values, whose products are the largest."""
    limits = np.iinfo(dtype)
    if rng.integers(2):
        return rng.choice(np.array([limits.min, limits.max], dtype), shape)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def convolved(
    data: np.ndarray, weight: np.ndarray, zero: int, window: dict[str, Any], groups: int
) -> np.ndarray:
    """The convolution in int64, tap by tap."""
    axes = data.ndim - 2
    strides, steps, pads = window["strides"], window["dilation"], window["padding"]
    sides = [(0, 0), (0, 0), *((pads[i], pads[axes + i]) for i in range(axes))]
    moved = np.pad(data.astype(np.int64) - zero, sides)
    taps = weight.shape[2:]
    sizes = [
        (moved.shape[2 + i] - (taps[i] - 1) * steps[i] - 1) // strides[i] + 1 for i in range(axes)
    ]
    result = np.zeros((len(data), len(weight), *sizes), np.int64)
    channels, inner = data.shape[1] // groups, len(weight) // groups
    for tap in np.ndindex(*taps):
        at = tuple(
            slice(t * step, t * step + (size - 1) * stride + 1, stride)
            for t, step, size, stride in zip(tap, steps, sizes, strides, strict=True)
        )
        for g in range(groups):
            seen = moved[(slice(None), slice(g * channels, (g + 1) * channels), *at)]
            factors = weight[(slice(g * inner, (g + 1) * inner), slice(None), *tap)]
            products = np.tensordot(factors.astype(np.int64), seen, axes=([1], [1]))
            result[:, g * inner : (g + 1) * inner] += np.moveaxis(products, 0, 1)
    return result


@st.composite
def convolutions(draw: st.DrawFn) -> dict[str, Any]:
    axes = draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["dense", "dense", "grouped", "depthwise", "deep"]))
    few = st.integers(1, 40)
    groups = {"dense": 1, "deep": 1}.get(kind) or draw(st.integers(2, 40))
    inner, outer = draw(few), draw(few)
    if kind == "depthwise":
        inner = outer = 1
    if kind == "deep":
        inner = draw(st.sampled_from([64, 129, 512, 517, 1024, 2048]))
    taps = draw(st.lists(st.integers(1, 3), min_size=axes, max_size=axes))
    steps = draw(st.lists(st.integers(1, 2), min_size=axes, max_size=axes))
    sizes = [
        draw(st.integers(0, 6)) + (t - 1) * step + 1 for t, step in zip(taps, steps, strict=True)
    ]
    window = {
        "strides": draw(st.lists(st.integers(1, 3), min_size=axes, max_size=axes)),
        "dilation": steps,
        "padding": draw(st.lists(st.integers(0, 3), min_size=2 * axes, max_size=2 * axes)),
    }
    return {
        "data": (draw(st.integers(1, 2)), groups * inner, *sizes),
        "weight": (groups * outer, inner, *taps),
        "window": window,
        "groups": groups,
        "dtype": draw(st.sampled_from(["uint8", "int8"])),
        "zero": draw(st.sampled_from(ZEROS)),
        "seed": draw(st.integers(0, 2**32 - 1)),
        "threads": draw(st.integers(1, 3)),
    }


@settings(max_examples=some(150))
@given(case=convolutions())
def test_convolutions_of_integers_are_exact(case: dict[str, Any]) -> None:
    rng = np.random.default_rng(case["seed"])
    data = integers(rng, case["dtype"], *case["data"])
    weight = integers(rng, "int8", *case["weight"])
    kernel = getattr(kernels, f"conv{data.ndim - 2}d")
    shape = {**case["window"], "groups": case["groups"]}
    with native.using_threads(case["threads"]):
        got = kernel(data, weight, data_zero_point=case["zero"], **shape)
    want = convolved(data, weight, case["zero"], case["window"], case["groups"])
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, want)


@settings(max_examples=some(60))
@given(
    shape=st.tuples(st.integers(1, 130), st.integers(1, 1100), st.integers(1, 70)),
    dtype=st.sampled_from(["uint8", "int8"]),
    zero=st.sampled_from(ZEROS),
    seed=st.integers(0, 2**32 - 1),
)
def test_dense_layers_of_integers_are_exact(
    shape: tuple[int, int, int], dtype: str, zero: int, seed: int
) -> None:
    rows, depth, units = shape
    rng = np.random.default_rng(seed)
    data, weight = integers(rng, dtype, rows, depth), integers(rng, "int8", units, depth)
    want = (data.astype(np.int64) - zero) @ weight.T.astype(np.int64)
    np.testing.assert_array_equal(kernels.dense(data, weight, data_zero_point=zero), want)


@settings(max_examples=some(60))
@given(
    sizes=st.tuples(st.integers(1, 40), st.integers(1, 600), st.integers(1, 40)),
    batches=st.sampled_from(
        [((), ()), ((2,), (2,)), ((3, 1), (1, 2)), ((), (3,)), ((2, 3), (3,)), ((1, 4), (2, 1))]
    ),
    turned=st.tuples(st.booleans(), st.booleans()),
    dtype=st.sampled_from(["uint8", "int8"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_matmuls_of_integers_are_exact(
    sizes: tuple[int, int, int],
    batches: tuple[tuple[int, ...], tuple[int, ...]],
    turned: tuple[bool, bool],
    dtype: str,
    seed: int,
) -> None:
    rows, depth, columns = sizes
    rng = np.random.default_rng(seed)
    a = integers(rng, dtype, *batches[0], *((depth, rows) if turned[0] else (rows, depth)))
    b = integers(rng, "int8", *batches[1], *((columns, depth) if turned[1] else (depth, columns)))
    left, right = a.astype(np.int64), b.astype(np.int64)
    want = (left.swapaxes(-1, -2) if turned[0] else left) @ (
        right.swapaxes(-1, -2) if turned[1] else right
    )
    got = kernels.matmul(a, b, transpose_a=turned[0], transpose_b=turned[1])
    np.testing.assert_array_equal(got, want)
