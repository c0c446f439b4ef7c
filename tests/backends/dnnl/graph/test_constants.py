"""Constants of a region in memory: copied or referenced, at any alignment."""

from __future__ import annotations

import json

import numpy as np
import pytest

from byoc_lab.backends.dnnl import native
from byoc_lab.backends.dnnl.graph import DnnlGraphWriter
from byoc_lab.backends.dnnl.native import DnnlRegion, is_immutable
from tests.backends.dnnl.graph.net import residual_net
from tests.backends.dnnl.instructions import HAS_AVX2

pytestmark = pytest.mark.native


def fixed(array: np.ndarray, offset: int = 0) -> np.ndarray:
    """A read-only copy, `offset` bytes after a boundary of 64."""
    raw = native.aligned_empty((array.nbytes + offset,), "uint8")
    view = raw[offset:].view(array.dtype).reshape(array.shape)
    view[...] = array
    while isinstance(raw, np.ndarray):
        raw.flags.writeable = False
        raw = raw.base
    view.flags.writeable = False
    return view


def test_arrays_without_a_writable_view_are_immutable() -> None:
    array = np.zeros((2, 3), np.float32)
    view = array[1:]
    view.flags.writeable = False
    assert not is_immutable(array)
    assert not is_immutable(view)  # the array that it views is writable
    array.flags.writeable = False
    assert is_immutable(array) and is_immutable(view)
    assert is_immutable(np.frombuffer(bytes(8), np.float32))
    assert not is_immutable(np.frombuffer(bytearray(8), np.float32))
    assert not is_immutable([1.0])


def test_writable_constants_are_copied() -> None:
    net, output = residual_net()
    net.check(output)
    arrays = [array.copy() for array in net.arrays["constants"]]
    views = [array.view() for array in arrays]
    for view in views:
        view.flags.writeable = False
    regions = [DnnlRegion(net.graph, arrays), DnnlRegion(net.graph, views)]
    before = [region(*net.arrays["inputs"])[0] for region in regions]
    for array in arrays:
        array.fill(7)
    for region, result in zip(regions, before, strict=True):
        np.testing.assert_array_equal(region(*net.arrays["inputs"])[0], result)
    assert regions[0].module.save_to_bytes() == regions[1].module.save_to_bytes()


@pytest.mark.parametrize("offset", [0, 4, 16, 60])
def test_kept_constants_work_at_any_alignment(offset: int) -> None:
    net, output = residual_net()
    copied = net.check(output)
    kept = DnnlRegion(net.graph, [fixed(array, offset) for array in net.arrays["constants"]])
    for batch in (1, 3):  # plans for other batches read the same memory
        inputs = [np.repeat(array[:1], batch, axis=0) for array in net.arrays["inputs"]]
        np.testing.assert_array_equal(kept(*inputs)[0], copied(*inputs)[0])
    assert kept.stats()["constant_bytes"] == copied.stats()["constant_bytes"]
    assert kept.module.save_to_bytes() == copied.module.save_to_bytes()


def test_constants_live_as_long_as_the_module_that_keeps_them() -> None:
    net, output = residual_net()
    expected = net.check(output)(*net.arrays["inputs"])[0]
    constants = [fixed(array) for array in net.arrays["constants"]]
    delivered = native.function("create_graph")(json.dumps(net.graph), [], False, "fixed")
    tensors = [native.as_input("here", "constant", array) for array in constants]
    assert [t.ctypes.data for t in tensors] == [a.ctypes.data for a in constants]
    delivered[f"__init_{net.graph['symbol']}"](tensors)
    del constants, tensors
    out = np.empty_like(expected)
    delivered[net.graph["symbol"]](*net.arrays["inputs"], out)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("offset", [0, 4])
def test_modules_with_the_same_constants_share_one_copy_in_another_layout(offset: int) -> None:
    net, output = residual_net()
    expected = net.check(output)(*net.arrays["inputs"])[0]
    constants = [fixed(array, offset) for array in net.arrays["constants"]]
    regions = [DnnlRegion(net.graph, constants, layouts="fixed") for _ in range(3)]
    made = [region.stats()["made_constant_bytes"] for region in regions]
    assert made[0] > 0 or not HAS_AVX2, "without AVX2 the layout may be the given one"
    assert made[1:] == [0, 0]
    others = DnnlRegion(net.graph, [fixed(a, offset) for a in constants], layouts="fixed")
    assert others.stats()["made_constant_bytes"] == made[0]
    del regions[0]  # the other modules read the first one's copy
    for region in (*regions, others):
        np.testing.assert_array_equal(region(*net.arrays["inputs"])[0], expected)


def test_constant_at_the_address_of_an_earlier_one_is_read_anew() -> None:
    net, output = residual_net()
    net.check(output)
    for turn in range(4):
        arrays = [array + turn for array in net.arrays["constants"]]
        kept = DnnlRegion(net.graph, [fixed(array) for array in arrays], layouts="fixed")
        copied = DnnlRegion(net.graph, arrays, layouts="fixed")
        results = (region(*net.arrays["inputs"])[0] for region in (kept, copied))
        np.testing.assert_array_equal(*results)


def in_reverse(array: np.ndarray) -> np.ndarray:
    """The same elements, with the axes in reverse order in memory; read-only."""
    return fixed(array.T.copy(order="C")).T


def test_constants_with_permuted_axes_are_read_without_a_copy() -> None:
    net, output = residual_net()
    copied = net.check(output)
    arrays = [in_reverse(array) for array in net.arrays["constants"]]
    assert not all(array.flags.c_contiguous for array in arrays)
    tensors = [native._constant("c", "here", array, {}) for array in arrays]
    assert [t.ctypes.data for t in tensors] == [a.ctypes.data for a in arrays]
    kept = DnnlRegion(net.graph, arrays)
    for batch in (1, 3):
        inputs = [np.repeat(array[:1], batch, axis=0) for array in net.arrays["inputs"]]
        np.testing.assert_array_equal(kept(*inputs)[0], copied(*inputs)[0])
    assert kept.module.save_to_bytes() == copied.module.save_to_bytes()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "int32"])
@pytest.mark.parametrize("shape", [(3, 5), (1, 4, 2), (2, 1, 3, 1), (6,), ()])
def test_constant_with_permuted_axes_is_saved_row_major(dtype: str, shape: tuple[int, ...]) -> None:
    numbers = np.random.default_rng(0).integers(-9, 9, shape)
    values = np.asarray(numbers, native.numpy_dtype(dtype))
    writer = DnnlGraphWriter("copied")
    constant = writer.constant(values)
    copy = writer.op("reshape", "copy", [constant], shape, dtype=dtype)
    graph = writer.graph([copy]).graph
    plain, turned = DnnlRegion(graph, [values]), DnnlRegion(graph, [in_reverse(values)])
    assert plain.module.save_to_bytes() == turned.module.save_to_bytes()
    for region in (plain, turned):
        np.testing.assert_array_equal(region()[0], values)


def test_constant_with_gaps_is_copied_by_python_and_refused_by_the_extension() -> None:
    net, output = residual_net()
    expected = net.check(output)(*net.arrays["inputs"])[0]
    gaps = [np.repeat(array, 2, axis=-1)[..., ::2] for array in net.arrays["constants"]]
    region = DnnlRegion(net.graph, gaps)
    np.testing.assert_array_equal(region(*net.arrays["inputs"])[0], expected)
    with pytest.raises(ValueError, match=r"expected a tensor without gaps, found strides \("):
        native.function("create_graph")(json.dumps(net.graph), gaps, False, "fixed")
