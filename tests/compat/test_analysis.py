"""Functions of TVM's `relay.analysis` that the core lacks."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab.compat import relay, transform, tvm
from byoc_lab.errors import PassError


def _partitioned():
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    begin, end = relay.annotation.compiler_begin, relay.annotation.compiler_end
    first, second = begin(x, "npu"), begin(y, "npu")
    out = end(relay.Tuple([first + second, first - second]), "npu")
    last = relay.TupleGetItem(out, 0) * relay.TupleGetItem(out, 1)
    return transform.PartitionGraph()(tvm.IRModule.from_expr(relay.Function([x, y], last)))


def test_calibration_data_has_inputs_and_outputs_of_each_region() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 2, 3), np.float32)
    mod = _partitioned()
    data = relay.analysis.get_calibration_data(mod, {"x": x, "y": tvm.nd.array(y)})
    (function,) = data
    assert mod[function].attrs["Compiler"] == "npu"
    inputs, outputs = data[function]["inputs"], data[function]["outputs"]
    for found, expected in zip([*inputs, *outputs], [x, y, x + y, x - y], strict=True):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_annotated_region_set_returns_the_region_of_a_call() -> None:
    begin_op, end_op = (relay.op.get(f"annotation.compiler_{n}") for n in ("begin", "end"))
    x = relay.var("x", shape=(2,))
    begin = relay.annotation.compiler_begin(x, "npu")
    relu = relay.nn.relu(begin)
    end = relay.annotation.compiler_end(relu, "npu")
    regions = relay.analysis.AnnotatedRegionSet(relay.exp(end), begin_op, end_op)
    (region,) = regions
    assert (len(regions), region.target) == (1, "npu")
    assert region == regions.get_region(relu)
    assert (region.nodes, region.args, region.rets) == ({begin, relu, end}, [begin], [end])
    assert regions.get_region(x) is None


def test_operator_counts_equal_tvm() -> None:
    x, w = relay.var("x", shape=(1, 3, 4, 4)), relay.var("w", shape=(2, 3, 3, 3))
    conv = relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=2)
    branch = relay.nn.relu(conv) + relay.cast(relay.cast(conv, "int8"), "float32")
    net = relay.testing.run_infer_type(relay.nn.conv2d(branch, relay.var("v", shape=(1, 2, 1, 1))))
    assert relay.analysis.get_total_mac_number(net) == 2 * 2 * 2 * 27 + 2 * 2 * 2
    data, weight = relay.var("d", shape=(2, 6, 11, 13)), relay.var("w", shape=(6, 4, 3, 3))
    wide = relay.nn.conv2d_transpose(
        data, weight, channels=12, groups=3, kernel_size=(3, 3), strides=(2, 2)
    )
    wide = relay.testing.run_infer_type(wide)
    outputs = 2 * 12 * (2 * 10 + 3) * (2 * 12 + 3)
    assert relay.analysis.get_total_mac_number(wide) == outputs * 2 * 3 * 3
    assert relay.analysis.count_layers(net, ["nn.conv2d"]) == 2
    assert relay.analysis.count_layers(net, ["cast", "nn.relu"]) == 2
    assert relay.analysis.all_dtypes(net) == {"float32", "int8"}
    one = relay.const(1.0)
    assert relay.analysis.check_constant(relay.Tuple([one, relay.Tuple([one])]))
    assert not relay.analysis.check_constant(relay.Tuple([one, x]))


def test_check_basic_block_normal_form_refuses_shared_values() -> None:
    shared = relay.abs(relay.var("x", shape=(2,)))
    test = relay.var("c", relay.scalar_type("bool"))
    inside = relay.If(test, relay.exp(shared), relay.tanh(shared))
    for expr in (inside, relay.Function([test], inside)):
        with pytest.raises(PassError, match=r"violates .* abs.* is used in several scopes"):
            relay.analysis.check_basic_block_normal_form(expr)
    name = relay.var("v")
    lifted = relay.If(test, relay.exp(name), relay.tanh(name))
    assert relay.analysis.check_basic_block_normal_form(relay.Let(name, shared, lifted))
    assert relay.analysis.check_basic_block_normal_form(relay.Function([test, name], lifted))
    own = relay.If(test, relay.exp(relay.var("y")), relay.exp(relay.var("z")))
    assert relay.analysis.check_basic_block_normal_form(own)
    with pytest.raises(PassError, match="%v is used in several scopes"):
        relay.analysis.check_basic_block_normal_form(lifted)  # which function owns %v is undefined
