"""Signal operators, Det, Col2Im, MaxUnpool and TfIdfVectorizer, compared with NumPy and ONNX
Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import InferenceSession

import byoc_lab
from byoc_lab.errors import UnsupportedOperatorError
from byoc_lab.importers.onnx import from_onnx
from tests.sweeps import some

Array = np.ndarray[Any, Any]
KINDS = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "int32": TensorProto.INT32}


def node(op: str, arguments: list[Any], opset: int = 18, **attributes: Any) -> tuple[Any, Any]:
    """A model of one node, and its input: the first argument; the others are constants, or None."""
    arrays = {f"a{i}": np.asarray(a) for i, a in enumerate(arguments) if a is not None}
    names = [f"a{i}" if a is not None else "" for i, a in enumerate(arguments)]
    first = arrays["a0"]
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], "node", **attributes)],
        "net",
        [helper.make_tensor_value_info("a0", KINDS[first.dtype.name], first.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(a, n) for n, a in arrays.items() if n != "a0"],
    )
    sets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=sets, ir_version=9), first


def ours(net: Any, x: Array, built: bool = False) -> Array:
    mod, _ = from_onnx(net)
    found: Array = byoc_lab.evaluate(mod, [x]).outputs[0]
    if built:
        run = byoc_lab.build(mod).run([x])[0]
        np.testing.assert_allclose(run, found, rtol=1e-4, atol=1e-4)
    return found


def check(net: Any, x: Array, wanted: Array | None = None, built: bool = True) -> None:
    if wanted is None:
        wanted = InferenceSession(net.SerializeToString()).run(None, {"a0": x})[0]
    found = ours(net, x, built)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-4)


def drawn(*shape: int) -> Array:
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def parts(z: Array) -> Array:
    return np.stack([z.real, z.imag], axis=-1).astype("float32")


@settings(max_examples=some(30))
@given(
    length=st.integers(1, 40),
    wanted=st.integers(1, 50),
    parted=st.booleans(),
    onesided=st.booleans(),
)
def test_dft_equals_numpy(length: int, wanted: int, parted: bool, onesided: bool) -> None:
    x = drawn(2, length, 2 if parted else 1)
    signal = x[..., 0] + 1j * x[..., 1] if parted else x[..., 0]
    frequencies = np.fft.fft(signal, wanted, axis=1)
    frequencies = frequencies[:, : wanted // 2 + 1] if onesided else frequencies
    net, _ = node("DFT", [x, np.array(wanted)], axis=1, onesided=int(onesided))
    check(net, x, parts(frequencies), built=False)
    if not onesided:
        net, _ = node("DFT", [x], inverse=1)
        check(net, x, parts(np.fft.ifft(signal, axis=1)), built=False)


def test_dft_axis_is_an_input_since_opset_20() -> None:
    x = drawn(2, 5, 3, 1)
    net, _ = node("DFT", [x, None, np.array(1)], opset=20)
    check(net, x, parts(np.fft.fft(x[..., 0], axis=1)))


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("window", [None, np.hanning(16).astype("float32")])
def test_stft_equals_onnxruntime(onesided: int, window: Array | None) -> None:
    x = drawn(2, 100, 1)
    check(*node("STFT", [x, np.array(7), window, np.array(16)], onesided=onesided))


def test_frames_longer_than_the_signal_are_refused() -> None:
    net, _ = node("STFT", [drawn(1, 10, 1), np.array(2), None, np.array(11)])
    with pytest.raises(UnsupportedOperatorError, match="frames of 11 with a step of 2"):
        from_onnx(net)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_determinants_equal_numpy(size: int) -> None:
    x = drawn(3, size, size)
    net, _ = node("Det", [x])
    check(net, x, np.linalg.det(x.astype("float64")).astype("float32"))


def test_determinants_of_large_matrices_are_refused() -> None:
    with pytest.raises(UnsupportedOperatorError, match="1 to 4 rows and columns"):
        from_onnx(node("Det", [drawn(5, 5)])[0])


@settings(max_examples=some(30))
@given(st.data())
def test_col2im_adds_columns_at_their_windows(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 2))
    some = st.lists(st.integers(1, 3), min_size=rank, max_size=rank)
    block, strides, dilations = (data.draw(some) for _ in range(3))
    pads = data.draw(st.lists(st.integers(0, 1), min_size=2 * rank, max_size=2 * rank))
    image = [
        max((k - 1) * d + 1 + data.draw(st.integers(0, 4)) - pads[i] - pads[i + rank], 1)
        for i, (k, d) in enumerate(zip(block, dilations, strict=True))
    ]
    blocks = 1
    for i, (n, k, s, d) in enumerate(zip(image, block, strides, dilations, strict=True)):
        blocks *= (n + pads[i] + pads[i + rank] - (k - 1) * d - 1) // s + 1
    x = drawn(2, 3 * int(np.prod(block)), blocks)
    whole = [n + pads[i] + pads[i + rank] for i, n in enumerate(image)]
    wanted = np.zeros((2, 3, *whole), "float32")
    columns = x.reshape(2, 3, *block, *(
        (n - (k - 1) * d - 1) // s + 1
        for n, k, s, d in zip(whole, block, strides, dilations, strict=True)
    ))  # fmt: skip
    for at in np.ndindex(columns.shape[2:]):
        kernel, step = at[:rank], at[rank:]
        pixel = (k * d + i * s for k, i, d, s in zip(kernel, step, dilations, strides, strict=True))
        wanted[(slice(None), slice(None), *pixel)] += columns[(slice(None), slice(None), *at)]
    inside = (slice(pads[i], pads[i] + n) for i, n in enumerate(image))
    attributes = {"strides": strides, "dilations": dilations, "pads": pads}
    net, _ = node("Col2Im", [x, np.array(image), np.array(block)], **attributes)
    check(net, x, wanted[(slice(None), slice(None), *inside)], built=False)


def test_col2im_of_an_image_is_built() -> None:

    x = drawn(1, 2 * 9, 36)
    net, _ = node("Col2Im", [x, np.array([8, 8]), np.array([3, 3])])
    check(net, x)


def test_max_unpool_equals_onnxruntime() -> None:
    x = drawn(1, 2, 3, 3)
    places = np.array([[0, 3, 4, 12, 15, 16, 24, 27, 28], [36, 38, 41, 55, 57, 58, 60, 68, 71]])
    check(*node("MaxUnpool", [x, places.reshape(x.shape)], kernel_shape=[2, 2], strides=[2, 2]))


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("skips", [0, 1, 5])
@pytest.mark.parametrize("shape", [(12,), (2, 6), (1, 1)])
def test_tfidf_counts_words_as_onnxruntime_does(mode: str, skips: int, shape: Any) -> None:
    x = np.resize(np.array([1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8], "int32"), shape)
    net, x = node(
        "TfIdfVectorizer", [x], mode=mode, min_gram_length=1, max_gram_length=2,
        max_skip_count=skips, ngram_counts=[0, 4], ngram_indexes=[0, 1, 2, 6, 4, 5, 3],
        pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7], weights=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
    )  # fmt: skip
    check(net, x, built=(mode, skips) == ("TFIDF", 1))


def test_mel_weights_are_triangles() -> None:
    """The weights of each frequency between the first and the last centre sum to 1."""
    numbers = [np.array(8), np.array(256), np.array(16000), np.array(0.0, "float32")]
    net, _ = node("MelWeightMatrix", [*numbers, np.array(8000.0, "float32")])
    mod, _ = from_onnx(net, freeze={"a0": 8})
    (found,) = byoc_lab.evaluate(mod, []).outputs
    (wanted,) = InferenceSession(net.SerializeToString()).run(None, {"a0": np.array(8)})
    np.testing.assert_allclose(found, wanted, atol=1e-6)
