"""Initial parameters: TVM's values, seeds, and initializers."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.relay.testing import Constant, Initializer, Xavier, create_workload, layers, mobilenet

NHWC = {"batch_size": 2, "num_classes": 10, "image_shape": (32, 32, 3), "layout": "NHWC"}


def digest_of_parameters(params: dict) -> str:
    digest = hashlib.sha256()
    for name, value in params.items():
        digest.update(name.encode())
        digest.update(value.numpy().tobytes())
    return digest.hexdigest()


# Digests of names and bytes of TVM 0.16's parameters, in order.
PARAMETERS = [
    ({}, "b7bce70c1ab0f7da16b2964e9c77d63b4e4bf445825cf4c8c7d74626e3ce4cf0"),
    (NHWC, "74b741be3f6fefd45fb9378e1ec2fed89638873a046ceaa14a737cb2df6d5ac0"),
]


@pytest.mark.parametrize(("arguments", "tvm"), PARAMETERS, ids=["NCHW", "NHWC"])
def test_parameters_equal_tvm_s_bit_for_bit(arguments, tvm) -> None:
    _, params = mobilenet.get_workload(**arguments)
    assert len(params) == 137
    assert digest_of_parameters(params) == tvm


def small_net() -> relay.Function:
    body = layers.dense_add_bias(relay.var("data", shape=(1, 4)), name="fc", units=6)
    return relay.Function(relay.analysis.free_vars(body), body)


def test_workload_depends_only_on_its_seed() -> None:
    _, first = create_workload(small_net(), seed=3)
    np.random.random(5)  # the global generator is neither used nor changed
    state = np.random.get_state()[1].copy()
    _, again = create_workload(small_net(), seed=3)
    assert (np.random.get_state()[1] == state).all()
    _, other = create_workload(small_net(), seed=4)
    assert list(first) == ["fc_weight", "fc_bias"]
    np.testing.assert_array_equal(first["fc_weight"].numpy(), again["fc_weight"].numpy())
    assert not np.array_equal(first["fc_weight"].numpy(), other["fc_weight"].numpy())
    assert not first["fc_bias"].numpy().any()


def test_xavier_bounds_follow_the_factor() -> None:
    shape = (8, 2, 3, 3)
    bounds = {"avg": 3 / 45, "in": 3 / 18, "out": 3 / 72}
    for factor, square in bounds.items():
        weight = np.zeros(shape, np.float32)
        Xavier(factor_type=factor)("weight", weight)
        largest = np.abs(weight).max()
        assert 0.9 * np.sqrt(square) < largest <= np.sqrt(square)
    depthwise = np.zeros(shape, np.float32)
    Xavier()("a_depthwise_weight", depthwise)
    assert np.sqrt(3 / 45) < np.abs(depthwise).max() <= np.sqrt(3 / 9)


def test_constant_weights_sum_to_one() -> None:
    _, params = create_workload(small_net(), Constant())
    np.testing.assert_allclose(params["fc_weight"].numpy().sum(), 1, rtol=1e-6)


def test_initializers_refuse_unknown_names_and_shapes() -> None:
    with pytest.raises(ValueError, match=r"'alpha'.*must end in weight"):
        Xavier()("alpha", np.zeros(3))
    with pytest.raises(ValueError, match="2 dimensions or more, a_weight has 1"):
        Xavier()("a_weight", np.zeros(3))
    with pytest.raises(ValueError, match="found 'gaussian'"):
        Xavier(rnd_type="gaussian")
    with pytest.raises(ValueError, match="found 'both'"):
        Xavier(factor_type="both")
    with pytest.raises(NotImplementedError, match="Initializer"):
        Initializer()("weight", np.zeros((2, 2)))
