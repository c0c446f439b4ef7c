"""Operators on boxes and anchors give the results of TVM 0.16."""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab.compat  # noqa: F401 (defines operators)
from byoc_lab.relay import vision
from tests.relay.op.onnx_runs import numbers, run


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


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


def test_tflite_box_operators_return_the_expected_boxes() -> None:
    boxes, scores = BOXES[:, :, 2:], np.zeros((1, 5, 3), "float32")
    scores[0, :, 1:] = [[0.8, 0.1], [0.2, 0.7], [0.9, 0.3], [0.3, 0.6], [0.05, 0.65]]
    places, kinds, best, count = run(
        lambda b, s: vision.regular_non_max_suppression(b, s, 2, 4, 2, 0.4, 0.25).astuple(),
        boxes,
        scores,
    )
    assert count.tolist() == [4]
    assert best[0].tolist() == pytest.approx([0.9, 0.7, 0.65, 0.3])
    assert kinds[0].tolist() == [0, 1, 1, 0]
    assert np.array_equal(places[0], boxes[0, [2, 1, 4, 3]])


def test_prior_boxes_have_the_sizes_and_ratios_asked_for() -> None:
    """One square for each size, then the first size in each further ratio, pixel by pixel."""
    found = run(lambda x: vision.multibox_prior(x, (0.5, 0.25), (1, 4)), numbers((1, 3, 2, 4), 0))
    middle, half = np.array([0.125, 0.25]), [(0.125, 0.25), (0.0625, 0.125), (0.25, 0.125)]
    close(found[0, :3], [[*(middle - h), *(middle + h)] for h in half])
    close(found[0, 9:12] - found[0, :3], [[0.75, 0, 0.75, 0]] * 3)


def test_predicted_boxes_of_multibox_transform_equal_tvm() -> None:
    prob = np.array([[[0.2, 0.5, 0.3], [0.25, 0.3, 0.45], [0.7, 0.1, 0.2]]], "float32")
    loc = np.array([[0.1, -0.2, 0.3, 0.2, 0.2, 0.4, 0.5, -0.3, 0.7, -0.2, -0.4, -0.8]], "float32")
    anchor = [[[-0.1, -0.1, 0.1, 0.1], [-0.2, -0.2, 0.2, 0.2], [1.2, 1.2, 1.5, 1.5]]]
    rows, count = run(
        lambda *a: vision.multibox_transform_loc(*a).astuple(),
        prob,
        loc,
        np.array(anchor, "float32"),
    )
    assert count.tolist() == [3]
    close(
        rows[0],
        [
            [1, 0.7, 0, 0, 0.108183652, 0.100081079],
            [0, 0.3, 0, 0, 0.229034185, 0.204352915],
            [0, 0.45, 1, 1, 1, 1],
        ],
    )


def test_proposals_are_clipped_to_the_image_and_small_ones_come_last() -> None:
    prob, delta = np.abs(numbers((1, 2, 3, 3), 4)), numbers((1, 4, 3, 3), 5)
    info = np.array([[48, 48, 1]], "float32")

    def proposed(least: int, loss: bool) -> np.ndarray:
        attrs = ((1.0,), (1.0,), 16, 0.7, -1, 4, least, loss)
        return run(lambda *a: vision.proposal(*a, *attrs), prob, delta, info)

    (y, x), shift = np.unravel_index(prob[0, 1].argmax(), (3, 3)), 15.0
    left, top = 16.0 * x, 16.0 * y
    ends = np.array([left, top, left + shift, top + shift]) + delta[0, :, y, x]
    close(proposed(1, True)[0], [0, *ends.clip(0, 47)])
    assert len(np.unique(proposed(1, False), axis=0)) > 1
    enlarged = proposed(60, True)[0]
    assert enlarged[3] - enlarged[1] >= 60
