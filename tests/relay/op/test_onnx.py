"""Windows of one and three axes, picking, sorting and resizing against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.relay import nn
from byoc_lab.relay.image import resize2d
from tests.relay.op.onnx_runs import numbers, run, run_onnx

few = settings(max_examples=12)
LENGTHS = (9, 8, 7)


def each(rank: int, low: int, high: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*[st.integers(low, high)] * rank)


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rank", [1, 3])
@few
@given(data=st.data())
def test_convolution(rank, data) -> None:
    groups, inputs, outputs = (data.draw(st.integers(1, 2)) for _ in range(3))
    kernel, strides, dilation = (data.draw(each(rank, 1, 3)) for _ in range(3))
    pads = data.draw(each(2 * rank, 0, 2))
    x = numbers((2, groups * inputs, *LENGTHS[:rank]), 0)
    w = numbers((groups * outputs, inputs, *kernel), 1)
    attrs = {"strides": strides, "dilation": dilation, "groups": groups, "padding": pads}
    found = run(lambda a, b: getattr(nn, f"conv{rank}d")(a, b, **attrs), x, w)
    options = {"strides": strides, "dilations": dilation, "group": groups, "pads": pads}
    close(found, run_onnx("Conv", x, w, **options))


@pytest.mark.parametrize("rank", [1, 2, 3])
@few
@given(data=st.data())
def test_transposed_convolution(rank, data) -> None:
    groups, inputs, outputs = (data.draw(st.integers(1, 2)) for _ in range(3))
    kernel, strides, dilation = (data.draw(each(rank, 1, 3)) for _ in range(3))
    pads = data.draw(each(2 * rank, 0, 1))
    more = tuple(data.draw(st.integers(0, s - 1)) for s in strides)
    x = numbers((2, groups * inputs, *LENGTHS[:rank]), 0)
    w = numbers((groups * inputs, outputs, *kernel), 1)
    attrs = {
        "strides": strides,
        "dilation": dilation,
        "groups": groups,
        "padding": pads,
        "output_padding": more,
    }
    found = run(lambda a, b: getattr(nn, f"conv{rank}d_transpose")(a, b, **attrs), x, w)
    wanted = run_onnx(
        "ConvTranspose",
        x,
        w,
        strides=strides,
        dilations=dilation,
        group=groups,
        pads=pads,
        output_padding=more,
    )
    close(found, wanted)


@few
@given(
    data_layout=st.permutations("NCHW").map("".join),
    kernel_layout=st.permutations("IOHW").map("".join),
    out_layout=st.permutations("NCHW").map("".join),
    groups=st.sampled_from([1, 2]),
)
def test_layouts_of_a_transposed_convolution_only_move_axes(
    data_layout, kernel_layout, out_layout, groups
) -> None:
    x, w = numbers((2, 4, 5, 6), 0), numbers((4, 3, 3, 2), 1)
    plain = run(lambda a, b: nn.conv2d_transpose(a, b, groups=groups), x, w)
    moved = run(
        lambda a, b: nn.conv2d_transpose(
            a,
            b,
            groups=groups,
            data_layout=data_layout,
            kernel_layout=kernel_layout,
            out_layout=out_layout,
        ),
        x.transpose(["NCHW".index(c) for c in data_layout]),
        w.transpose(["IOHW".index(c) for c in kernel_layout]),
    )
    close(moved, plain.transpose(["NCHW".index(c) for c in out_layout]))


@pytest.mark.parametrize("rank", [1, 3])
@few
@given(data=st.data(), count=st.booleans())
def test_pooling(rank, data, count) -> None:
    pads = data.draw(each(2 * rank, 0, 1))
    kernel, strides = data.draw(each(rank, 2, 3)), data.draw(each(rank, 1, 3))
    x = numbers((1, 2, *LENGTHS[:rank]), 0)
    options = {"kernel_shape": kernel, "strides": strides, "pads": pads}
    greatest = run(lambda a: getattr(nn, f"max_pool{rank}d")(a, kernel, strides, padding=pads), x)
    np.testing.assert_array_equal(greatest, run_onnx("MaxPool", x, **options))
    average = run(
        lambda a: getattr(nn, f"avg_pool{rank}d")(
            a, kernel, strides, padding=pads, count_include_pad=count
        ),
        x,
    )
    close(average, window_means(x, kernel, strides, pads, count))


def window_means(x: np.ndarray, kernel, strides, pads, count: bool) -> np.ndarray:
    """Average pooling in float64. ONNX Runtime up to 1.23 miscounts padding at the far ends."""
    rank = len(kernel)
    axes = tuple(range(2, 2 + rank))
    widths = [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)]

    def sums(values: np.ndarray) -> np.ndarray:
        padded = np.pad(values.astype("float64"), widths)
        windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, axes)
        steps = tuple(slice(None, None, s) for s in strides)
        return windows[(slice(None), slice(None), *steps)].sum(tuple(range(-rank, 0)))

    return sums(x) / (np.prod(kernel) if count else sums(np.ones_like(x)))


@pytest.mark.parametrize("rank", [1, 3])
def test_global_pooling(rank) -> None:
    x = numbers((2, 3, *LENGTHS[:rank]), 0)
    close(run(getattr(nn, f"global_avg_pool{rank}d"), x), run_onnx("GlobalAveragePool", x))
    close(run(getattr(nn, f"global_max_pool{rank}d"), x), run_onnx("GlobalMaxPool", x))


def test_adaptive_pooling_of_parts_that_overlap() -> None:
    """5 elements in 3 parts: 0 to 1, 1 to 3, 3 to 4."""
    x = numbers((1, 2, 5), 0)
    parts = [x[:, :, 0:2], x[:, :, 1:4], x[:, :, 3:5]]
    average = run(lambda a: nn.adaptive_avg_pool1d(a, 3), x)
    close(average, np.stack([p.mean(-1) for p in parts], -1))
    greatest = run(lambda a: nn.adaptive_max_pool1d(a, 3), x)
    close(greatest, np.stack([p.max(-1) for p in parts], -1))


RESIZES = [  # ONNX coordinates, mode, more options of ONNX, our options
    ("half_pixel", "linear", {}, {}),
    ("align_corners", "linear", {}, {"coordinate_transformation_mode": "align_corners"}),
    ("asymmetric", "linear", {}, {"coordinate_transformation_mode": "asymmetric"}),
    ("pytorch_half_pixel", "linear", {}, {"coordinate_transformation_mode": "pytorch_half_pixel"}),
    (
        "asymmetric",
        "nearest",
        {"nearest_mode": "floor"},
        {"coordinate_transformation_mode": "asymmetric", "method": "nearest_neighbor"},
    ),
    (
        "half_pixel",
        "nearest",
        {"nearest_mode": "round_prefer_floor"},
        {"method": "nearest_neighbor", "rounding_method": "round_prefer_floor"},
    ),
    ("half_pixel", "cubic", {"cubic_coeff_a": -0.75}, {"method": "cubic", "cubic_alpha": -0.75}),
    (
        "half_pixel",
        "cubic",
        {"cubic_coeff_a": -0.5, "exclude_outside": 1},
        {"method": "cubic", "cubic_exclude": 1},
    ),
]


@pytest.mark.parametrize(("coordinates", "mode", "theirs", "ours"), RESIZES)
@pytest.mark.parametrize("size", [(7, 9), (3, 4)])
def test_resize(coordinates, mode, theirs, ours, size) -> None:
    x = numbers((1, 2, 4, 6), 0)
    wanted = run_onnx(
        "Resize",
        x,
        None,
        None,
        np.array([1, 2, *size]),
        coordinate_transformation_mode=coordinates,
        mode=mode,
        **theirs,
    )
    close(run(lambda a: resize2d(a, size, **ours), x), wanted)


x34, where34 = numbers((3, 4), 0), np.array([[0, 3], [1, 1], [2, 0]])
CALLS = [  # our call, ONNX operator, its inputs, its attributes; our inputs are the float ones
    (lambda a: relay.reverse(a, 1), "Slice", [x34, [-1], [-9], [1], [-1]], {}),
    (
        lambda a: relay.strided_slice(a, [2, -3], [0, 4], [-1, 2]),
        "Slice",
        [x34, [2, -3], [0, 4], [0, 1], [-1, 2]],
        {},
    ),
    (lambda a: relay.tile(a, (2, 3)), "Tile", [x34, [2, 3]], {}),
    (lambda a: relay.cumsum(a, 1), "CumSum", [x34, 1], {}),
    (lambda a: relay.cumsum(a, 0, exclusive=True), "CumSum", [x34, 0], {"exclusive": 1}),
    (lambda a: relay.take(a, relay.const(where34), 1), "Gather", [x34, where34], {"axis": 1}),
    (
        lambda a: relay.gather(a, 1, relay.const(where34)),
        "GatherElements",
        [x34, where34],
        {"axis": 1},
    ),
    (
        lambda a: relay.gather_nd(a, relay.const(where34.T)),
        "GatherND",
        [x34, where34],
        {},
    ),
    (lambda a: relay.topk(a, 2, 1, "values"), "TopK", [x34, [2]], {"results": 2}),
    (lambda a: relay.broadcast_to(a, (2, 3, 4)), "Expand", [x34, [2, 3, 4]], {}),
    (
        lambda a: relay.cast(relay.argmax(a, 1), "int64"),
        "ArgMax",
        [x34],
        {"axis": 1, "keepdims": 0},
    ),
    (
        lambda a: relay.cast(relay.argmin(a, 0, True), "int64"),
        "ArgMin",
        [x34],
        {"axis": 0, "keepdims": 1},
    ),
]


@pytest.mark.parametrize(("call", "op", "inputs", "attributes"), CALLS, ids=[c[1] for c in CALLS])
def test_picking_and_sorting(call, op, inputs, attributes) -> None:
    arrays = [np.asarray(i) for i in inputs]
    close(run(call, arrays[0]), run_onnx(op, *arrays, **attributes))


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space(mode) -> None:
    x = numbers((1, 8, 2, 3), 0)
    wanted = run_onnx("DepthToSpace", x, blocksize=2, mode=mode)
    close(run(lambda a: nn.depth_to_space(a, 2, mode=mode), x), wanted)
    deep = run(lambda a: nn.space_to_depth(a, 2), wanted)
    close(deep, run_onnx("SpaceToDepth", wanted, blocksize=2))


def test_matmul_transposes() -> None:
    a, b = numbers((4, 3), 0), numbers((5, 4), 1)
    found = run(lambda x, y: nn.matmul(x, y, transpose_a=True, transpose_b=True), a, b)
    close(found, run_onnx("Gemm", a, b, transA=1, transB=1))


@given(st.sampled_from(["NCHW", "NHWC", "NCHW2c", "NHWC4c", "CHWN8c"]), st.data())
@few
def test_layout_transform_there_and_back(other, data) -> None:
    x = numbers((2, 8, 3, 4), data.draw(st.integers(0, 9)))
    there = run(lambda a: relay.layout_transform(a, "NCHW", other), x)
    np.testing.assert_array_equal(run(lambda a: relay.layout_transform(a, other, "NCHW"), there), x)
    through = run(lambda a: relay.layout_transform(a, other, "NCHW4c"), there)
    blocks = x.reshape(2, 2, 4, 3, 4).transpose(0, 1, 3, 4, 2)
    np.testing.assert_array_equal(through, blocks)


@given(st.integers(1, 9), st.integers(1, 5), st.integers(1, 5))
@few
def test_layout_transform_fills_the_last_block_with_zeros(channels, one, other) -> None:
    """There and on to other blocks: the same as if the zeros had been there before."""
    x = numbers((2, channels, 3), 0)
    first = run(lambda a: relay.layout_transform(a, "NCW", f"NCW{one}c"), x)
    second = run(lambda a: relay.layout_transform(a, f"NCW{one}c", f"NCW{other}c"), first)
    found = run(lambda a: relay.layout_transform(a, f"NCW{other}c", "NCW"), second)
    more = -(-(-(-channels // one) * one) // other) * other - channels
    np.testing.assert_array_equal(found, np.pad(x, [(0, 0), (0, more), (0, 0)]))
