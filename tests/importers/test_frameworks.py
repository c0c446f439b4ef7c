"""Imported operators on inputs for which frameworks differ: compared with ONNX Runtime and PyTorch.

The reference and the build of the pipeline for DNNL are compared.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import byoc_lab
from byoc_lab.importers.onnx import from_onnx
from byoc_lab.importers.pooling import windows

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
from onnx import TensorProto as T  # noqa: E402
from onnx import helper as h  # noqa: E402
from onnx import numpy_helper as nh  # noqa: E402

EDGES = np.array(
    [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, -1e-40, 0.5, 1.5, -2.5, 3e38], "float32"
)


def single(op, shape, constants=None, inputs=("v",), outputs=("r",), opset=17, **attributes):
    """A model of one node whose first input is given at run time."""
    tensors = [nh.from_array(np.asarray(a), n) for n, a in (constants or {}).items()]
    graph = h.make_graph(
        [h.make_node(op, list(inputs), list(outputs), **attributes)], "net",
        [h.make_tensor_value_info("v", T.FLOAT, list(shape))],
        [h.make_tensor_value_info(o, T.INT64 if o == "i" else T.FLOAT, None) for o in outputs],
        tensors,
    )  # fmt: skip
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=9)


def check(net, feed, built=True, **close):
    """Asserts that the reference and the build equal ONNX Runtime."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    wanted = ort.InferenceSession(net.SerializeToString(), options).run(None, feed)
    mod, _ = from_onnx(net)
    found = [byoc_lab.evaluate(mod, feed).outputs]
    if built:
        pytest.importorskip("tvm")
        found.append(byoc_lab.build(byoc_lab.trace(mod, "dnnl").result).run(feed))
    for outputs in found:
        for one, by_framework in zip(outputs, wanted, strict=True):
            assert one.shape == by_framework.shape
            np.testing.assert_allclose(one, by_framework, **close)


def pooling(op, rank, size, kernel, stride, pads, dilation=None, include=None):
    more = {} if dilation is None else {"dilations": [dilation] * rank}
    more |= {} if include is None else {"count_include_pad": include}
    return single(
        op, (1, 2, *[size] * rank), kernel_shape=[kernel] * rank, strides=[stride] * rank,
        pads=[pads[0]] * rank + [pads[1]] * rank, ceil_mode=1, opset=19, **more,
    )  # fmt: skip


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_last_window_that_begins_in_the_padding_is_omitted(op, rank):
    data = np.random.default_rng(rank).normal(size=(1, 2, *[5] * rank)).astype("float32")
    net = pooling(op, rank, 5, 3, 3, (1, 1))
    check(net, {"v": data}, rtol=1e-5)
    assert tuple(from_onnx(net)[0]["main"].ret_type.shape[2:]) == (2,) * rank


@given(
    st.sampled_from([("MaxPool", None), ("AveragePool", 0)]),
    st.integers(3, 9), st.integers(1, 4), st.integers(1, 4), st.integers(0, 2), st.integers(0, 2),
)  # fmt: skip
def test_ceil_mode_agrees_with_the_framework_at_any_size(kind, size, kernel, stride, before, after):
    assume(kernel <= size and max(before, after) < kernel)
    op, include = kind
    data = np.random.default_rng(size).normal(size=(1, 2, size, size)).astype("float32")
    net = pooling(op, 2, size, kernel, stride, (before, after), include=include)
    check(net, {"v": data}, built=False, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [5, 6, 7])
def test_ceil_mode_agrees_with_pytorch(size):
    torch = pytest.importorskip("torch")
    from byoc_lab.importers.pytorch import from_pytorch

    pools = {}
    for kernel, stride, pad in itertools.product((2, 3), (2, 3), (0, 1)):
        window = f"kernel {kernel}, stride {stride}, pad {pad}"
        pools[f"max, {window}"] = torch.nn.MaxPool2d(kernel, stride, pad, ceil_mode=True)
        for include in (False, True):
            pools[f"average, {window}, pad counted {include}"] = torch.nn.AvgPool2d(
                kernel, stride, pad, ceil_mode=True, count_include_pad=include
            )

    class All(torch.nn.Module):  # one export of all functions takes as long as one export of each
        def forward(self, x):
            return tuple(pool(x) for pool in pools.values())

    x = torch.randn(1, 2, size, size)
    mod, _ = from_pytorch(All().eval(), (x,))
    outputs = byoc_lab.evaluate(mod, [x.numpy()]).outputs
    for name, found, wanted in zip(pools, outputs, All()(x), strict=True):
        np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-5, atol=1e-6, err_msg=name)


@given(
    st.integers(1, 12), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.integers(0, 2)
)
def test_number_of_windows_equals_pytorch(size, kernel, stride, dilation, pad):
    torch = pytest.importorskip("torch")
    assume(pad <= kernel // 2 and (kernel - 1) * dilation + 1 <= size + 2 * pad)
    x = torch.zeros(1, 1, size)
    made = torch.nn.functional.max_pool1d(x, kernel, stride, pad, dilation, ceil_mode=True)
    assert windows(size, kernel, stride, dilation, pad, pad) == made.shape[-1]


@pytest.mark.parametrize("columns", [0, 1])
@pytest.mark.parametrize("kernel, stride, dilation, pad, ceil", [(3, 3, 1, 1, 1), (2, 1, 2, 0, 0)])
def test_indices_of_maxima_agree_with_the_framework(columns, kernel, stride, dilation, pad, ceil):
    data = np.random.default_rng(3).permutation(70).reshape(1, 2, 5, 7).astype("float32") // 2
    net = single(
        "MaxPool", data.shape, outputs=("r", "i"), kernel_shape=[kernel] * 2, strides=[stride] * 2,
        pads=[pad] * 4, dilations=[dilation] * 2, ceil_mode=ceil, storage_order=columns,
    )  # fmt: skip
    check(net, {"v": data})


@pytest.mark.parametrize("length, scale", [(10, 1.3), (10, 0.7), (20, 1.15), (10, 1.1), (7, 3.0)])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_by_a_scale_that_float32_rounds_agrees_with_the_framework(length, scale, mode):
    data = np.random.default_rng(4).normal(size=(1, 1, length, length)).astype("float32")
    scales = {"s": np.array([1, 1, scale, scale], "float32")}
    net = single("Resize", data.shape, scales, ("v", "", "s"), mode=mode)
    check(net, {"v": data}, rtol=1e-4, atol=1e-5)


BOUNDS = [(1, -1), (-1, 1), (2, 2), (np.inf, 0), (-np.inf, 1)]
NAN_BOUNDS = [(np.nan, 1), (-1, np.nan), (np.nan, np.nan)]


@pytest.mark.parametrize(
    "opset, low, high",
    # ONNX Runtime refuses other dtypes before opset 11
    [(17, *b) for b in BOUNDS + NAN_BOUNDS] + [(10, *b) for b in BOUNDS if b[0] <= b[1]],
)
def test_clip_agrees_with_the_framework_on_any_bounds(opset, low, high):
    bounds = {"lo": np.float32(low), "hi": np.float32(high)}
    if opset == 10:
        net = single("Clip", EDGES.shape, opset=opset, min=float(low), max=float(high))
    else:
        net = single("Clip", EDGES.shape, bounds, ("v", "lo", "hi"))
    check(net, {"v": EDGES}, built=False)


@pytest.mark.parametrize("low, high", NAN_BOUNDS)
@pytest.mark.parametrize("at_run_time", [(), ("lo",), ("hi",), ("lo", "hi")])
def test_nan_bound_of_clip_limits_nothing_on_any_path(low, high, at_run_time):
    data = EDGES[np.isfinite(EDGES)]  # for other bounds, a build may return the bound
    bounds = {"lo": np.array(low, "float32"), "hi": np.array(high, "float32")}
    constants = {n: a for n, a in bounds.items() if n not in at_run_time}
    net = single("Clip", data.shape, constants, ("v", "lo", "hi"))
    for name in at_run_time:
        net.graph.input.append(h.make_tensor_value_info(name, T.FLOAT, []))
    check(net, {"v": data} | {n: bounds[n] for n in at_run_time})


@pytest.mark.parametrize("low, high", NAN_BOUNDS)
def test_nan_bound_of_clamp_makes_each_element_nan_on_any_path(low, high):
    torch = pytest.importorskip("torch")
    from byoc_lab.importers.pytorch import from_pytorch

    class Clamp(torch.nn.Module):
        def forward(self, x):
            return torch.clamp(x, low, high)

    mod, _ = from_pytorch(Clamp().eval(), (torch.tensor(EDGES),))
    assert Clamp()(torch.tensor(EDGES)).isnan().all()
    assert np.isnan(byoc_lab.evaluate(mod, [EDGES]).outputs[0]).all()
    pytest.importorskip("tvm")
    for made in (mod, byoc_lab.trace(mod, "dnnl").result):
        assert np.isnan(byoc_lab.build(made).run([EDGES])[0]).all()


def test_thresholded_relu_agrees_with_the_framework_on_edges():
    check(single("ThresholdedRelu", EDGES.shape, alpha=0.25), {"v": EDGES})


@pytest.mark.parametrize("boolean", [True, False])
def test_fully_masked_row_of_attention_agrees_with_pytorch(boolean):
    torch = pytest.importorskip("torch")
    from byoc_lab.importers.pytorch import from_pytorch

    class Attention(torch.nn.Module):
        def forward(self, x, mask):
            return torch.nn.functional.scaled_dot_product_attention(x, x, x, mask)

    x = torch.randn(1, 2, 3, 4)
    keep = torch.tensor([[True, False, True], [False] * 3, [True] * 3])
    finite = torch.finfo(torch.float32).min  # masks a row of keys without making its softmax nan
    real = torch.where(keep, 0.0, -torch.inf)
    for mask in [keep] if boolean else [real, torch.where(keep, 0.0, finite)]:
        wanted = Attention()(x, mask).numpy()
        mod, _ = from_pytorch(Attention().eval(), (x, mask))
        feed = [x.numpy(), mask.numpy()]
        np.testing.assert_allclose(byoc_lab.evaluate(mod, feed).outputs[0], wanted, atol=1e-5)
        pytest.importorskip("tvm")
        made = byoc_lab.build(byoc_lab.trace(mod, "dnnl").result).run(feed)[0]
        np.testing.assert_allclose(made, wanted, atol=1e-5)


def test_clamp_with_a_minimum_above_the_maximum_agrees_with_pytorch():
    torch = pytest.importorskip("torch")
    from byoc_lab.importers.pytorch import from_pytorch

    class Clamp(torch.nn.Module):
        def forward(self, x):
            return torch.clamp(x, 1.0, -1.0)

    x = torch.tensor(EDGES)
    mod, _ = from_pytorch(Clamp().eval(), (x,))
    np.testing.assert_array_equal(byoc_lab.evaluate(mod, [EDGES]).outputs[0], Clamp()(x).numpy())


def test_rounding_keeps_odd_numbers_too_large_for_halves():
    torch = pytest.importorskip("torch")
    from byoc_lab.importers.pytorch import from_pytorch

    class Round(torch.nn.Module):
        def forward(self, x):
            return x.round()

    numbers = [8388609, 16777215, -8388611, 4194305.5, 4194304.5, 0.49999997, -0.49999997, 2.5, 3.5]
    data = np.array(numbers, "float32")
    net = single("Round", data.shape)
    (wanted,) = ort.InferenceSession(net.SerializeToString()).run(None, {"v": data})
    imported = from_pytorch(Round().eval(), (torch.tensor(data),))[0]
    for mod in (from_onnx(net)[0], imported):
        np.testing.assert_array_equal(byoc_lab.evaluate(mod, [data]).outputs[0], wanted)
