"""roi_align and roi_pool compared with ONNX Runtime."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab.relay import vision
from tests.relay.op.onnx_runs import numbers, run, run_onnx
from tests.sweeps import some

few = settings(max_examples=some(15))


seeds = st.integers(0, 10_000)


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def regions(rng: np.random.Generator, count: int, size: float) -> np.ndarray:
    """Regions with ordered corners, all in the first image."""
    ends = np.sort(rng.uniform(0, size, (count, 2, 2)), axis=1).reshape(count, 4)
    return np.concatenate([np.zeros((count, 1)), ends], axis=1).astype("float32")


@few
@given(seed=seeds, samples=st.integers(0, 3))
def test_roi_align_agrees_with_onnxruntime(seed, samples) -> None:
    x, rois = numbers((2, 3, 8, 9), seed), regions(np.random.default_rng(seed), 5, 12)
    found = run(lambda a, r: vision.roi_align(a, r, (3, 2), 0.75, samples), x, rois)
    wanted = run_onnx(
        "RoiAlign",
        x,
        rois[:, 1:],
        rois[:, 0].astype("int64"),
        coordinate_transformation_mode="output_half_pixel",
        output_height=3,
        output_width=2,
        sampling_ratio=samples,
        spatial_scale=0.75,
    )
    close(found, wanted)


@few
@given(seed=seeds)
def test_roi_pool_agrees_with_onnxruntime(seed) -> None:
    x, rois = numbers((2, 3, 8, 9), seed), regions(np.random.default_rng(seed), 5, 10)
    found = run(lambda a, r: vision.roi_pool(a, r, (3, 2), 0.75), x, rois)
    close(found, run_onnx("MaxRoiPool", x, rois, pooled_shape=(3, 2), spatial_scale=0.75))
