"""The operators of detection networks against ONNX Runtime, and against numbers of TVM 0.16."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay import nn, vision
from tests.relay.op.onnx_runs import numbers, run, run_onnx

few = settings(max_examples=15)
seeds = st.integers(0, 10_000)


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def regions(rng: np.random.Generator, count: int, size: float) -> np.ndarray:
    """Regions with their ends in order, all of the first image."""
    ends = np.sort(rng.uniform(0, size, (count, 2, 2)), axis=1).reshape(count, 4)
    return np.concatenate([np.zeros((count, 1)), ends], axis=1).astype("float32")


# Against ONNX Runtime ----------------------------------------------------------------------------


@few
@given(seed=seeds, samples=st.integers(0, 3))
def test_roi_align(seed, samples) -> None:
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
def test_roi_pool(seed) -> None:
    x, rois = numbers((2, 3, 8, 9), seed), regions(np.random.default_rng(seed), 5, 10)
    found = run(lambda a, r: vision.roi_pool(a, r, (3, 2), 0.75), x, rois)
    close(found, run_onnx("MaxRoiPool", x, rois, pooled_shape=(3, 2), spatial_scale=0.75))


@few
@given(seed=seeds, strides=st.integers(1, 2), dilation=st.integers(1, 2), data=st.data())
def test_deformable_convolution(seed, strides, dilation, data) -> None:
    """Offsets that leave the places inside: a place less than a pixel outside is 0 in TVM, and
    part of the nearest pixel in ONNX."""
    pytest.importorskip("onnxruntime", minversion="1.31", reason="1.23 has no DeformConv on CPUs")
    groups, parts = data.draw(st.sampled_from([1, 2])), data.draw(st.sampled_from([1, 2, 4]))
    x, w = numbers((2, 4, 9, 8), seed), numbers((6, 4 // groups, 3, 2), seed + 1)
    rows, columns = (9 - 2 * dilation - 1) // strides + 1, (8 - dilation - 1) // strides + 1
    offset = numbers((2, 12 * parts, rows, columns), seed + 2)
    place = offset.reshape(2, parts, 3, 2, 2, rows, columns)
    for axis, size in enumerate(x.shape[2:]):
        steps = np.arange((rows, columns)[axis]) * strides
        at = (steps[:, None], steps)[axis]
        kernel = np.arange(3 - axis).reshape((3, 1, 1, 1) if axis == 0 else (2, 1, 1)) * dilation
        start = at + kernel
        moved = place[:, :, :, :, axis] + start
        place[:, :, :, :, axis] = moved.clip(0, size - 1) - start
    attrs = {"strides": strides, "dilation": dilation, "groups": groups}
    found = run(lambda *a: nn.deformable_conv2d(*a, deformable_groups=parts, **attrs), x, offset, w)
    wanted = run_onnx(
        "DeformConv",
        x,
        w,
        offset,
        strides=[strides] * 2,
        dilations=[dilation] * 2,
        group=groups,
        offset_group=parts,
    )
    close(found, wanted)


@few
@given(seed=seeds, limit=st.integers(1, 6), iou=st.sampled_from([0.1, 0.4, 0.8]))
def test_non_maximum_suppression_of_all_classes(seed, limit, iou) -> None:
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


# Against numbers that TVM 0.16's own definitions give ---------------------------------------------

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
def test_non_maximum_suppression(attrs, chosen) -> None:
    """Boxes 0 and 2 overlap, of one class, and 1 and 3, of two."""
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


def test_suppressed_boxes_leave_holes_unless_the_valid_ones_go_in_front() -> None:
    rows = run(
        lambda *a: vision.non_max_suppression(
            *a, iou_threshold=0.4, return_indices=False, force_suppress=True
        ),
        BOXES,
        np.array([5], "int32"),
        INDICES,
    )
    assert rows[0, :, 1].tolist() == pytest.approx([0.9, 0.8, -1, 0.5, -1])


def test_valid_counts() -> None:
    count, rows, indices = run(lambda x: vision.get_valid_counts(x, 0.45).astuple(), BOXES)
    assert (count.tolist(), indices.tolist()) == ([4], [[0, 1, 3, 4, -1]])
    assert np.array_equal(rows[0], [*BOXES[0, [0, 1, 3, 4]], [-1] * 6])


def test_boxes_of_tflite() -> None:
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


def test_prior_boxes() -> None:
    """One square for each size, then the first size in each further ratio, pixel by pixel."""
    found = run(lambda x: vision.multibox_prior(x, (0.5, 0.25), (1, 4)), numbers((1, 3, 2, 4), 0))
    middle, half = np.array([0.125, 0.25]), [(0.125, 0.25), (0.0625, 0.125), (0.25, 0.125)]
    close(found[0, :3], [[*(middle - h), *(middle + h)] for h in half])
    close(found[0, 9:12] - found[0, :3], [[0.75, 0, 0.75, 0]] * 3)


def test_predicted_boxes() -> None:
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


def test_proposed_regions() -> None:
    """Boxes that reach beyond the image are cut there; small ones are enlarged and come last."""
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


def test_reorg_is_that_of_darknet() -> None:
    x = np.arange(1 * 4 * 2 * 2, dtype="float32").reshape(1, 4, 2, 2)
    found = run(lambda a: vision.yolo_reorg(a, 2), x)
    large = x.reshape(4, 4)  # the same memory as one channel, twice as high and wide
    corners = [large[i::2, j::2] for i in range(2) for j in range(2)]
    assert np.array_equal(found.reshape(4, 2, 2), corners)


# Random numbers ----------------------------------------------------------------------------------


# What TVM types and cannot compute is refused at once ---------------------------------------------

X = relay.var("x", shape=(1, 60, 7, 8))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vision.yolo_reorg(X, 2), "rows of .* multiple of 2"),
        (lambda: vision.yolo_reorg(X, 7), "channels of .* multiple of 49"),
        (lambda: vision.roi_align(X, relay.var("r", shape=(3, 4)), (2, 2), 1.0), r"\(regions, 5\)"),
        (
            lambda: vision.roi_align(X, relay.var("r", shape=(3, 5)), (2, 2), 1.0, mode="x"),
            "one of avg, max, found 'x'",
        ),
        (
            lambda: nn.correlation(
                X, relay.var("y", shape=(1, 60, 8, 8)), 1, 1, 1, 1, 1, True, "NCHW"
            ),
            "data2 must have the shape of data1",
        ),
        (lambda: nn.correlation(X, X, 2, 1, 1, 1, 1, True, "NCHW"), "must be odd, found 2"),
        (lambda: nn.correlation(X, X, 1, 9, 1, 1, 1, True, "NCHW"), "borders of 9 leave no element of"),
    ],
)
def test_is_refused(call, message) -> None:
    with pytest.raises(TypeInferenceError, match=message):
        relay.transform.InferType()(relay.IRModule.from_expr(call()))
