"""One pattern table and one codegen for Relay and Relax form equal regions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

import byoc_lab
from byoc_lab import backends, relay
from byoc_lab import relax as lab
from byoc_lab.backends import PythonRegion, inlined
from byoc_lab.relax.ir.calls import region_functions
from byoc_lab.relax.reference import region_in_relay
from byoc_lab.relay import nn
from byoc_lab.relay.dataflow_pattern import (
    is_op,
    is_tuple,
    wildcard,
)
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run import evaluate
from tests.compilers import needs_cc
from tests.relax.patterns.both_languages import (
    BIAS,
    CONV,
    DENSE,
    Network,
    in_both_languages,
)

from ..tracing.networks import relax, tvm

TABLE = [
    ("npu.conv_pool", is_op("nn.max_pool2d")(CONV)),
    ("npu.conv_relu", is_op("nn.relu")(CONV.optional(lambda p: is_op("add")(p, BIAS)))),
    ("npu.dense_add_relu", is_op("nn.relu")(is_op("add")(DENSE, BIAS))),
    ("npu.concat", is_op("concatenate")(is_tuple([wildcard(), wildcard()]))),
]


def exactly(function: Any, symbol: str) -> PythonRegion:
    """Computes a region as the reference does."""
    return PythonRegion(lambda *xs: list(evaluate(function, xs).outputs))


def conv_relu(net: Network) -> Any:
    data = nn.conv2d(net.var("x", 1, 3, 8, 8), net.const(4, 3, 3, 3), padding=(1, 1))
    return relay.exp(nn.relu(data + net.const(4, 1, 1)))


def without_bias(net: Network) -> Any:
    return nn.relu(nn.conv2d(net.var("x", 1, 3, 8, 8), net.const(4, 3, 3, 3)))


def dense_add_relu(net: Network) -> Any:
    data = nn.relu(nn.dense(net.var("x", 2, 8), net.const(4, 8)) + net.const(4))
    return nn.relu(nn.dense(relay.exp(data), net.const(3, 4)) + net.const(3))


def dense_of_stacks(net: Network) -> Any:
    return nn.relu(nn.dense(net.var("x", 2, 3, 8), net.const(4, 8)) + net.const(4))


def conv_pool(net: Network) -> Any:
    data = nn.conv2d(net.var("x", 1, 3, 8, 8), net.const(4, 3, 3, 3), padding=(1, 1))
    return nn.max_pool2d(data, pool_size=(2, 2), strides=(2, 2))


def concat(net: Network) -> Any:
    x = net.var("x", 1, 3, 8, 8)
    left = nn.relu(nn.conv2d(x, net.const(4, 3, 3, 3)))
    return relay.concatenate([left, relay.exp(nn.relu(nn.conv2d(x, net.const(4, 3, 3, 3))))], 1)


def used_outside(net: Network) -> Any:
    data = nn.conv2d(net.var("x", 1, 3, 8, 8), net.const(4, 3, 3, 3))
    return nn.relu(data) + relay.exp(data)


def weights_as_parameters(net: Network) -> Any:
    data = nn.conv2d(net.var("x", 1, 3, 8, 8), net.var("w", 4, 3, 3, 3))
    return nn.relu(data)


NETWORKS = [
    conv_relu, without_bias, dense_add_relu, dense_of_stacks, conv_pool, concat, used_outside,
    weights_as_parameters,
]  # fmt: skip


def operators(function: Any) -> tuple[str, ...]:
    nodes = post_order(inlined(function).body)
    return tuple(sorted(n.op_name for n in nodes if isinstance(n, relay.Call) and n.op_name))


def relay_regions(mod: Any) -> Counter[tuple[str, ...]]:
    externals = [f for f in mod.functions.values() if "Compiler" in f.attrs]
    return Counter(map(operators, externals))


def relax_regions(mod: Any) -> Counter[tuple[str, ...]]:
    functions = region_functions(mod).values()
    return Counter(operators(region_in_relay(f, composites=True)) for f in functions)


def on_llvm(mod: Any, inputs: list[np.ndarray]) -> np.ndarray:
    """LLVM's results for an unpartitioned Relax module."""
    machine = relax.VirtualMachine(tvm.compile(mod, tvm.target.Target("llvm")).mod, tvm.cpu())
    return machine["main"](*map(tvm.runtime.tensor, inputs)).numpy()


@needs_cc
@pytest.mark.parametrize(
    ("network", "dtype"), [(conv_relu, "float64"), *((each, "float32") for each in NETWORKS)]
)
def test_regions_equal_those_of_relay_and_results_those_of_llvm(
    network: Callable[[Network], Any], dtype: str
) -> None:
    lab.register("npu", patterns=TABLE, codegen=exactly)
    backends.register("npu", patterns=TABLE, codegen=exactly)
    net = Network(dtype)
    relay_mod, relax_mod = in_both_languages(network(net))
    relay_cut = backends.partition(relay_mod, "npu")
    relax_cut = lab.backends.get("npu").partition(relax_mod)
    assert relax_regions(relax_cut) == relay_regions(relay_cut)

    inputs = [net.array(*p.checked_type.concrete_shape) for p in relay_mod["main"].params]
    wanted = on_llvm(relax_mod, inputs)
    exe = lab.build(relax_cut)
    np.testing.assert_allclose(exe(*inputs)[0], wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(byoc_lab.build(relay_cut)(*inputs)[0], wanted, rtol=1e-4, atol=1e-5)
    assert exe(*inputs)[0].dtype == dtype
    if relax_regions(relax_cut):
        exe.assert_offloaded()
