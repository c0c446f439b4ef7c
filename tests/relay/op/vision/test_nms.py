"""Non-maximum suppression compared with ONNX Runtime and results of TVM 0.16."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab.relay import vision
from tests.relay.op.onnx_runs import numbers, run, run_onnx
from tests.sweeps import some

few = settings(max_examples=some(15))


seeds = st.integers(0, 10_000)


def regions(rng: np.random.Generator, count: int, size: float) -> np.ndarray:
    """Regions with ordered corners, all in the first image."""
    ends = np.sort(rng.uniform(0, size, (count, 2, 2)), axis=1).reshape(count, 4)
    return np.concatenate([np.zeros((count, 1)), ends], axis=1).astype("float32")


@few
@given(seed=seeds, limit=st.integers(1, 6), iou=st.sampled_from([0.1, 0.4, 0.8]))
def test_non_maximum_suppression_of_all_classes_agrees_with_onnxruntime(seed, limit, iou) -> None:
    rng = np.random.default_rng(seed)
    boxes, scores = regions(rng, 20, 1)[:, 1:].reshape(2, 10, 4), np.abs(numbers((2, 3, 10), seed))
    rows, total = run(
        lambda b, s: vision.all_class_non_max_suppression(b, s, limit, iou, 0.3).astuple(),
        boxes,
        scores,
    )
    wanted = run_onnx(
        "NonMaxSuppression",
        boxes,
        scores,
        np.array([limit]),
        np.array([iou], "float32"),
        np.array([0.3], "float32"),
    )
    assert total == len(wanted)
    assert np.array_equal(rows[: len(wanted)], wanted)
    assert not rows[len(wanted) :].any()


BOXES = np.array(
    [
        [
            [0, 0.8, 1, 20, 25, 45],
            [1, 0.7, 30, 60, 50, 80],
            [0, 0.4, 4, 21, 19, 40],
            [2, 0.9, 35, 61, 52, 79],
            [1, 0.5, 100, 60, 70, 110],
        ]
    ],
    "float32",
)


VALID, INDICES = np.array([4], "int32"), np.array([[10, 11, 12, 13, 14]], "int32")


@pytest.mark.parametrize(
    ("attrs", "chosen"),
    [
        ({"force_suppress": True}, [13, 10, -1, -1, -1]),
        ({}, [13, 10, 11, -1, -1]),
        ({"max_output_size": 1}, [13, -1, -1, -1, -1]),
        ({"top_k": 1}, [13, -1, -1, -1, -1]),
        ({"iou_threshold": 0.9}, [13, 10, 11, 12, -1]),
        ({"iou_threshold": 0.0}, [10, 11, 12, 13, -1]),
        ({"id_index": -1}, [13, 10, -1, -1, -1]),
    ],
)
def test_non_maximum_suppression_keeps_the_best_boxes(attrs, chosen) -> None:
    """Boxes 0 and 2, of one class, overlap; so do 1 and 3, of two classes."""
    attrs = {"iou_threshold": 0.4, **attrs}
    indices, count = run(
        lambda *a: vision.non_max_suppression(*a, **attrs).astuple(), BOXES, VALID, INDICES
    )
    assert indices.tolist() == [chosen]
    assert count.tolist() == [[sum(n >= 0 for n in chosen)]]
    rows = run(
        lambda *a: vision.non_max_suppression(
            *a, return_indices=False, invalid_to_bottom=True, **attrs
        ),
        BOXES,
        VALID,
        INDICES,
    )
    assert np.array_equal(rows[0], [BOXES[0, n - 10] if n >= 0 else [-1] * 6 for n in chosen])


def test_suppressed_boxes_leave_holes_unless_valid_boxes_are_moved_to_the_front() -> None:
    rows = run(
        lambda *a: vision.non_max_suppression(
            *a, iou_threshold=0.4, return_indices=False, force_suppress=True
        ),
        BOXES,
        np.array([5], "int32"),
        INDICES,
    )
    assert rows[0, :, 1].tolist() == pytest.approx([0.9, 0.8, -1, 0.5, -1])


def test_valid_counts_returns_counts_and_indices() -> None:
    count, rows, indices = run(lambda x: vision.get_valid_counts(x, 0.45).astuple(), BOXES)
    assert (count.tolist(), indices.tolist()) == ([4], [[0, 1, 3, 4, -1]])
    assert np.array_equal(rows[0], [*BOXES[0, [0, 1, 3, 4]], [-1] * 6])
