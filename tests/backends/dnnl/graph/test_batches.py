"""Regions that run with a batch size other than the graph's: cached plans, right results,
errors."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab.backends.dnnl import native
from byoc_lab.backends.dnnl.native import DnnlRegion
from tests.backends.dnnl.graph.net import RELU, Net, residual_net
from tests.backends.dnnl.reference import assert_close
from tests.sweeps import some

pytestmark = pytest.mark.native


def network(batch: int = 1) -> tuple[Net, int]:
    """A network with every kind of operation that treats each sample separately."""
    net = Net()
    data = net.input(batch, 16, 8, 8)
    net.rng = np.random.default_rng(7)  # the same constants for every batch
    conv = net.op("conv2d", [data, net.const(16, 16, 3, 3)], [RELU], padding=[1, 1, 1, 1])
    scaled = net.op("binary", [conv, net.const(16, 1, 1)], alg="mul")
    summed = net.op("sum", [scaled, conv])
    joined = net.op("concat", [summed, conv], axis=1)
    pooled = net.op("max_pool2d", [joined], pool_size=[2, 2], strides=[2, 2])
    turned = net.op("transpose", [pooled], axes=(0, 2, 3, 1))
    rows = net.op("reshape", [turned], shape=(batch * 16, 32))
    mixed = net.op(
        "dense",
        [rows, net.const(32, 32), net.const(32)],
        [{"kind": "binary", "alg": "add", "input": rows}],
    )
    normal = net.op("layer_norm", [mixed, net.const(32), net.const(32)], epsilon=1e-3)
    back = net.op("reshape", [normal], shape=(batch, 16, 32))
    product = net.op("matmul", [back, net.const(32, 4)])
    mean = net.op("reduce", [product], alg="mean", axis=1)
    return net, net.op("softmax", [mean], axis=-1)


@pytest.mark.parametrize("stated", [1, 2, 3])
def test_region_run_with_another_batch_equals_region_compiled_for_it(stated: int) -> None:
    net, output = network(stated)
    region = net.check(output)
    for batch in (4, 1, 2, 4):
        other, result = network(batch)
        expected = other.check(result)(*other.arrays["inputs"])[0]
        got = region(*other.arrays["inputs"])[0]
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)
        assert got.shape == (batch, 1, 4)
    np.testing.assert_array_equal(region(*net.arrays["inputs"])[0].shape, (stated, 1, 4))


@given(st.lists(st.integers(1, 12), min_size=1, max_size=12))
@settings(max_examples=some(5))
def test_samples_do_not_depend_on_their_batch(batches: list[int]) -> None:
    net, output = residual_net()
    region = net.check(output)
    rng = np.random.default_rng(0)
    data = rng.standard_normal((12, 3, 16, 16)).astype(np.float32)
    alone = [region(data[n : n + 1])[0] for n in range(12)]
    for batch in batches:
        got = region(data[:batch])[0]
        np.testing.assert_allclose(got, np.concatenate(alone[:batch]), rtol=1e-4, atol=1e-6)


def test_plans_for_several_batches_are_cached_and_share_weights() -> None:
    net, output = residual_net()
    region = net.check(output)
    before = region.stats()
    assert [p["inputs"] for p in before["prepared"]] == [[[1, 3, 16, 16]]]
    assert (before["prepared_ever"], before["calls"]) == (1, 2)

    def run(batch: int) -> None:
        region(np.zeros((batch, 3, 16, 16), np.float32))

    for batch in (2, 3, 2, 1):
        run(batch)
    stats = region.stats()
    assert [(p["inputs"][0][0], p["calls"]) for p in stats["prepared"]] == [(1, 3), (2, 2), (3, 1)]
    assert stats["prepared_ever"] == 3
    assert stats["calls"] == 6
    # The layouts agree here, so there is one copy of the weights. (Another batch may choose
    # another kernel.)
    assert stats["constant_bytes"] <= 1.5 * before["constant_bytes"]
    for batch in range(2, 12):
        run(batch)
    kept = [p["inputs"][0][0] for p in region.stats()["prepared"]]
    assert kept == [1, *range(11, 4, -1)]
    assert region.stats()["prepared_ever"] == 11


def test_weight_that_kernel_reads_row_major_is_stored_once() -> None:
    """A weight read in row-major order uses the copy kept for saving; plans share the other
    copies."""
    net = Net()
    weight = net.const(64, 64)
    region = net.check(net.op("matmul", [net.input(2, 8, 64), weight]))
    region(np.zeros((5, 8, 64), np.float32))
    assert region.stats()["constant_bytes"] == 64 * 64 * 4


def test_batch_change_leaves_the_shape_of_weight_inputs_fixed() -> None:
    net = Net()
    data, weight, bias = net.input(2, 6), net.input(4, 6), net.input(4)
    region = net.check(net.op("dense", [data, weight, bias], [RELU]))
    x, w, b = net.arrays["inputs"]
    doubled = np.concatenate([x, x])
    assert_close(region(doubled, w, b)[0][:2], net.values[-1])
    with pytest.raises(ValueError, match=r"dense_0.*weight .* has no batch"):
        region(x, np.concatenate([w, w]), b)


def test_batch_of_several_inputs_and_outputs_changes_together() -> None:
    net = Net()
    a, b = net.input(2, 6), net.input(2, 6)
    total = net.op("binary", [a, b], alg="add")
    region = net.check(total, net.op("eltwise", [total], alg="tanh"), a)
    x, y = (np.concatenate([v, v, v]) for v in net.arrays["inputs"])
    added, bent, same = region(x, y)
    np.testing.assert_array_equal(added, x + y)
    np.testing.assert_allclose(bent, np.tanh(x + y), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(same, x)
    with pytest.raises(ValueError, match=r"input 'input_2': expected shape .* \(6 instead of 2\)"):
        region(x, y[:4])


def refused(net: Net, output: int, *inputs: np.ndarray) -> str:
    region = net.check(output)
    with pytest.raises(ValueError, match="cannot run with batch 6 instead of 2") as caught:
        region(*inputs)
    # A refused call leaves the region unchanged.
    assert_close(region(*net.arrays["inputs"])[0], net.values[output])
    assert region.stats()["prepared_ever"] == 1
    return str(caught.value)


MIXING = {
    "softmax": (lambda n, x: n.op("softmax", [x], axis=0), "softmax_0.* works along the batch"),
    "reduce": (lambda n, x: n.op("reduce", [x], alg="sum", axis=-2), "works along the batch"),
    "concat": (lambda n, x: n.op("concat", [x, x], axis=0), "works along the batch"),
    "slice": (
        lambda n, x: n.op("slice", [x], axis=0, begin=1, length=1, step=1),
        "works along the batch",
    ),
    "transpose": (lambda n, x: n.op("transpose", [x], axes=(1, 0)), "transpose_0"),
    "reshape": (lambda n, x: n.op("reshape", [x], shape=(5, 2)), "its result has no batch"),
    "flat": (lambda n, x: n.op("reshape", [x], shape=(1, 10)), "its result has no batch"),
    "constant": (lambda n, x: n.op("binary", [x, n.const(2, 5)], alg="add"), "broadcast"),
    "post-op": (
        lambda n, x: n.op("eltwise", [x], [{"kind": "sum", "input": n.const(2, 5)}], alg="relu"),
        r"post-op 0: expected shape \(6, 5\)",
    ),
    "gram": (lambda n, x: n.op("matmul", [x, n.op("transpose", [x], axes=(1, 0))]), "transpose"),
    "more axes": (
        lambda n, x: n.op("binary", [n.const(3, 1, 1), x], alg="mul"),
        "is not the result's",
    ),
    "weight": (
        lambda n, x: n.op("dense", [n.const(3, 5), x]),
        "weight .* has no batch",
    ),
}


@pytest.mark.parametrize("case", MIXING)
def test_batch_change_is_refused_with_the_name_of_the_operation_across_samples(case: str) -> None:
    make, message = MIXING[case]
    net = Net()
    output = make(net, net.input(2, 5))
    text = refused(net, output, np.zeros((6, 5), np.float32))
    assert re.search(message, text), text


def test_batch_change_is_refused_for_inputs_that_broadcast_a_batch_of_one() -> None:
    """(1,) with (1, 5): with batch 5 the shapes broadcast, but the result has another meaning."""
    net = Net()
    region = net.check(net.op("binary", [net.input(1, 5), net.input(1)], alg="add"))
    with pytest.raises(ValueError, match="is not the result's"):
        region(np.zeros((5, 5), np.float32), np.zeros(5, np.float32))


def test_input_with_another_shape_or_an_overflowing_batch_is_refused() -> None:
    net, output = residual_net()
    region = net.check(output)
    with pytest.raises(ValueError, match=r"input_1.*expected shape \(4, 3, 16, 16\)"):
        region(np.zeros((4, 3, 16, 15), np.float32))
    with pytest.raises(ValueError, match=r"input_1.*every dimension in"):
        region(np.zeros((0, 3, 16, 16), np.float32))
    with pytest.raises(ValueError, match=r"input_1"):
        region(np.array(1, np.float32))
    with pytest.raises(ValueError, match=r"input_1.*every dimension in"):
        region.module["output_shapes"]([[2**63 - 1, 3, 16, 16]])
    net, output = network()
    with pytest.raises(ValueError, match=r"reshape_6.*result: .*every dimension in"):
        net.check(output).module["output_shapes"]([[2**31 - 1, 16, 8, 8]])
    with pytest.raises(ValueError, match="expected 1 shapes, found 0"):
        region.module["output_shapes"]([])


def test_output_with_the_graph_s_batch_is_refused_for_another_input_batch() -> None:
    net, output = residual_net()
    region = net.check(output)
    with pytest.raises(ValueError, match=r"output 'softmax_6': expected shape \(2, 10\)"):
        region.module["dnnl_0"](np.zeros((2, 3, 16, 16), np.float32), np.empty((1, 10), np.float32))


def test_delivered_or_loaded_constants_serve_every_batch() -> None:
    import tvm_ffi

    net, output = residual_net()
    net.graph["outputs"] = [output]
    region = DnnlRegion(net.graph, net.arrays["constants"])
    data = np.repeat(net.arrays["inputs"][0], 3, axis=0)
    expected = region(data)[0]
    delivered = native.function("create_graph")(json.dumps(net.graph), [], False, "fixed")
    delivered["__init_dnnl_0"](net.arrays["constants"])
    load = tvm_ffi.get_global_func("ffi.Module.load_from_bytes.byoc_lab_dnnl")
    for module in (delivered, load(bytes(region.module["save_to_bytes"]()))):
        out = np.empty_like(expected)
        module["dnnl_0"](data, out)
        np.testing.assert_array_equal(out, expected)


def test_region_keeps_its_thread_count_for_other_batches() -> None:
    net, output = residual_net()
    net.graph["outputs"] = [output]
    before = native.get_num_threads()
    region = DnnlRegion(net.graph, net.arrays["constants"], threads=1)
    assert native.get_num_threads() == before
    region(np.zeros((2, 3, 16, 16), np.float32))
    assert region.stats()["threads"] == 1
    assert native.get_num_threads() == before
    with pytest.raises(ValueError, match="threads: expected a value in"):
        DnnlRegion(net.graph, net.arrays["constants"], threads=0)
