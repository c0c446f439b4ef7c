"""Kernels compared with ONNX Runtime's, on any shapes and attributes that both support.

Cases are drawn from `KERNELS` (kernel_cases.py), which also bounds the rounding error of each
result; two libraries may differ by twice this bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from byoc_lab.backends.dnnl import kernels
from tests.backends.dnnl.kernels.draws import Case, Draw, each_array
from tests.backends.dnnl.kernels.kernel_cases import KERNELS
from tests.backends.dnnl.reference import exact
from tests.relay.op.onnx_runs import run_onnx
from tests.sweeps import some

pytest.importorskip("onnx", reason="the test extras have it")
pytest.importorskip("onnxruntime", reason="the test extras have it")
pytestmark = pytest.mark.native

Call = Callable[[Case], np.ndarray]


def windows(attrs: dict[str, Any]) -> dict[str, Any]:
    names = {"padding": "pads", "dilation": "dilations", "groups": "group"}
    return {names.get(name, name): value for name, value in attrs.items()}


def conv(op: str) -> Call:
    def run(case: Case) -> np.ndarray:
        data, weight, *bias = case.args
        return run_onnx(op, data, weight, *(b.reshape(-1) for b in bias), **windows(case.attrs))

    return run


def pool(op: str) -> Call:
    def run(case: Case) -> np.ndarray:
        data, taps = case.args
        attrs = windows(case.attrs)
        # ONNX Runtime requires less padding than taps, dilated or not.
        assume(all(pad < taps[n % len(taps)] for n, pad in enumerate(attrs["pads"])))
        if "count_include_pad" in attrs:
            attrs["count_include_pad"] = int(attrs["count_include_pad"])
        return run_onnx(op, data, kernel_shape=taps, **attrs)

    return run


def plain(op: str) -> Call:
    """Operands and attributes need no change for ONNX."""
    return lambda case: run_onnx(op, *case.args, **case.attrs)


def resize(case: Case) -> np.ndarray:
    data, size = case.args
    alg = case.attrs["alg"]
    for had, wanted in zip(data.shape[2:], size, strict=True):
        # In the middle between two elements, rounding decides which element is nearest.
        between = any((2 * n + 1) * had % (2 * wanted) == 0 for n in range(wanted))
        assume(alg == "linear" or not between or had == wanted)
    sizes = np.array([*data.shape[:2], *size], np.int64)
    return run_onnx("Resize", data, None, None, sizes, mode=alg)


def gemm(case: Case) -> np.ndarray:
    data, weight, *bias = case.args
    return run_onnx("Gemm", data, weight, *bias, transB=1)


def matmul(case: Case) -> np.ndarray:
    pairs = zip(case.args[:2], ("transpose_a", "transpose_b"), strict=True)
    sides = [x.swapaxes(-1, -2) if case.attrs[turn] else x for x, turn in pairs]
    product = run_onnx("MatMul", *map(np.ascontiguousarray, sides))
    return run_onnx("Add", product, *case.args[2:]) if case.args[2:] else product


def reduce(case: Case) -> np.ndarray:
    alg, data = case.args
    return run_onnx(f"Reduce{alg.title()}", data, np.array([case.attrs["axis"]], np.int64))


def concat(case: Case) -> np.ndarray:
    return run_onnx("Concat", *case.args[0], **case.attrs)


THEIRS: dict[str, Call] = {
    **{f"conv{n}d": conv("Conv") for n in (1, 2, 3)},
    **{f"conv{n}d_transpose": conv("ConvTranspose") for n in (1, 2, 3)},
    **{f"max_pool{n}d": pool("MaxPool") for n in (1, 2, 3)},
    **{f"avg_pool{n}d": pool("AveragePool") for n in (1, 2, 3)},
    **{f"global_max_pool{n}d": plain("GlobalMaxPool") for n in (1, 2, 3)},
    **{f"global_avg_pool{n}d": plain("GlobalAveragePool") for n in (1, 2, 3)},
    "resample": resize,
    "dense": gemm,
    "matmul": matmul,
    "batch_matmul": matmul,
    "batch_norm": plain("BatchNormalization"),
    "layer_norm": plain("LayerNormalization"),
    "softmax": plain("Softmax"),
    "log_softmax": plain("LogSoftmax"),
    "reduce": reduce,
    "concatenate": concat,
}


def check(name: str, drawn: st.DataObject) -> None:
    kernel, d = KERNELS[name], Draw(drawn, "float32")
    case = kernel.cases(d)
    theirs = THEIRS[name](case)
    ours = getattr(kernels, name)(*case.args, **case.attrs)
    error = kernel.formula(*(each_array(exact, a) for a in case.args), **case.attrs).error
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    off = np.abs(ours.astype(np.float64) - theirs)
    assert np.all(off <= 2 * error + 2.0**-126), (case.attrs, (off - 2 * error).max())


@pytest.mark.parametrize("name", THEIRS)
@given(st.data())
@settings(max_examples=some(3))
def test_kernel_agrees_with_onnxruntime(name: str, drawn: st.DataObject) -> None:
    check(name, drawn)


@pytest.mark.slow
@pytest.mark.parametrize("name", THEIRS)
@given(st.data())
@settings(max_examples=some(60))
def test_kernel_agrees_with_onnxruntime_widely(name: str, drawn: st.DataObject) -> None:
    check(name, drawn)


# ---- integers of 8 bits: a product and its requantize are one operator of ONNX


def check_quantized(name: str, drawn: st.DataObject) -> None:
    """Both compute the exact sum times the ratio of the scales, to the nearest integer.

    ONNX Runtime multiplies by a float32 and rounds halves to even; DNNL multiplies by an integer
    and rounds halves up.
    """
    d = Draw(drawn, drawn.draw(st.sampled_from(["uint8", "int8"])))
    case = KERNELS[name].cases(d)
    data, weight = case.args
    weight = weight // 2  # 7 bits: without VNNI, ONNX Runtime saturates for larger numbers
    attrs = dict(case.attrs)
    limits = np.iinfo(d.dtype)
    zero = attrs["data_zero_point"] = min(max(attrs["data_zero_point"], limits.min), limits.max)
    to_zero = d.int(limits.min, limits.max)
    sums = getattr(kernels, name)(data, weight, **attrs)
    ratio = np.float32(d.int(1, 90) / (1 + np.abs(sums).max()))
    wanted = np.clip(sums * np.float64(ratio) + to_zero, limits.min, limits.max)
    one, scale = np.array(1, np.float32), np.array(ratio)
    sides = [(data, one, np.array(zero, d.dtype)), (weight, scale, np.array(0, np.int8))]
    ends = (one, np.array(to_zero, d.dtype))
    if name == "dense":
        (a, *of_a), (b, *of_b) = sides
        theirs = run_onnx("QLinearMatMul", a, *of_a, np.ascontiguousarray(b.T), *of_b, *ends)
    else:
        del attrs["data_zero_point"]
        theirs = run_onnx("QLinearConv", *sides[0], *sides[1], *ends, **windows(attrs))
    ours = kernels.requantize(sums, ratio, 0, one, to_zero, dtype=d.dtype)
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    for found in (ours, theirs):
        assert np.abs(found - wanted).max() <= 0.5 + 1e-4


QUANTIZED = ("conv1d", "conv2d", "conv3d", "dense")


@pytest.mark.parametrize("name", QUANTIZED)
@given(st.data())
@settings(max_examples=some(5))
def test_quantized_kernel_agrees_with_onnxruntime(name: str, drawn: st.DataObject) -> None:
    check_quantized(name, drawn)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUANTIZED)
@given(st.data())
@settings(max_examples=some(80))
def test_quantized_kernel_agrees_with_onnxruntime_widely(name: str, drawn: st.DataObject) -> None:
    check_quantized(name, drawn)
