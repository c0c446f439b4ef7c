"""relay.testing: the networks and parameters of TVM's testing package."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.relay.testing import (
    Constant,
    Initializer,
    Xavier,
    create_workload,
    dcgan,
    densenet,
    layers,
    lenet,
    mobilenet,
    resnet,
    squeezenet,
    vgg,
)
from byoc_lab.run.reference import evaluate
from tests.parity import client, network_digests
from tests.parity.golden_files import golden_path

GOLDEN = golden_path("print/networks_mobilenet.relay")
NHWC = {"batch_size": 2, "num_classes": 10, "image_shape": (32, 32, 3), "layout": "NHWC"}


def digest_of_parameters(params: dict) -> str:
    digest = hashlib.sha256()
    for name, value in params.items():
        digest.update(name.encode())
        digest.update(value.numpy().tobytes())
    return digest.hexdigest()


def digest_of_text(mod: relay.IRModule) -> str:
    return hashlib.sha256(mod.astext(show_meta_data=False).encode()).hexdigest()


def test_mobilenet_prints_as_in_tvm() -> None:
    golden = GOLDEN.read_text()
    mod, _ = mobilenet.get_workload()
    wanted = golden[golden.index("#[version") :]
    assert mod.astext(show_meta_data=False).split() == wanted.split()


def test_mobilenet_nhwc_prints_as_in_tvm() -> None:
    """The digest is that of the text that TVM 0.16 prints for the same arguments."""
    mod, _ = mobilenet.get_workload(**NHWC)
    tvm = "2a7e8fc46d0047a3ef666174538b3ee4a1618f7cb05cc21ce0dad4d224cafc19"
    assert digest_of_text(mod) == tvm


@pytest.mark.parametrize("label", network_digests.NETWORKS)
def test_network_prints_and_weighs_as_in_tvm(label: str) -> None:
    """Digests of the text that TVM 0.16 prints, and of the parameters that it draws."""
    golden = json.loads(network_digests.GOLDEN.read_text(encoding="utf-8"))
    assert network_digests.digests(relay, label) == golden[label]


@pytest.mark.oracle
def test_network_digests_are_those_of_the_oracle(capsys: pytest.CaptureFixture[str]) -> None:
    reason = client.skip_reason()
    if reason is not None:
        pytest.skip(reason)
    assert network_digests.main(["--check"]) == 0, capsys.readouterr().out


UNKNOWN_VARIANTS = [
    (lambda: resnet.get_net(1, 10, 19), "num_layers=19"),
    (lambda: resnet.get_net(1, 10, 166, image_shape=(3, 28, 28)), "num_layers=166"),
    (
        lambda: resnet.resnet((2, 2), 3, (64, 64, 64), 10, (1, 3, 32, 32)),
        r"num_stages=3 numbers, found \[2, 2\]",
    ),
    (lambda: vgg.get_workload(1, num_layers=12), "11, 13, 16, 19: 12"),
    (lambda: squeezenet.get_workload(version="1.2"), "1.0, 1.1, found '1.2'"),
    (lambda: densenet.get_workload(122), "121, 161, 169, 201: 122"),
    (lambda: dcgan.get_workload(1, oshape=(3, 32, 32)), r"64x64 .* oshape=\(3, 32, 32\)"),
    (lambda: dcgan.get_workload(1, layout="CHWN"), "NCHW, NHWC, found 'CHWN'"),
]


@pytest.mark.parametrize(
    ("make", "message"), UNKNOWN_VARIANTS, ids=[v[1] for v in UNKNOWN_VARIANTS]
)
def test_variant_that_does_not_exist_is_refused(make, message) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_dcgan_takes_the_code_as_an_expression() -> None:
    code = relay.var("noise", shape=(2, 100))
    function = dcgan.get_net(2, code=relay.nn.relu(code), ngf=8)
    assert function.params[0].name_hint == "noise"
    typed = relay.transform.InferType()(relay.IRModule.from_expr(function))
    assert str(typed["main"].ret_type) == "Tensor[(2, 3, 64, 64), float32]"


# Digests of names and bytes of the parameters that TVM 0.16 makes, in their order.
PARAMETERS = [
    ({}, "b7bce70c1ab0f7da16b2964e9c77d63b4e4bf445825cf4c8c7d74626e3ce4cf0"),
    (NHWC, "74b741be3f6fefd45fb9378e1ec2fed89638873a046ceaa14a737cb2df6d5ac0"),
]


@pytest.mark.parametrize(("arguments", "tvm"), PARAMETERS, ids=["NCHW", "NHWC"])
def test_parameters_are_those_of_tvm_bit_for_bit(arguments, tvm) -> None:
    _, params = mobilenet.get_workload(**arguments)
    assert len(params) == 137
    assert digest_of_parameters(params) == tvm


def test_lenet_has_the_sizes_of_the_paper() -> None:
    mod, params = lenet.get_workload(batch_size=2)
    shapes = {name: value.shape for name, value in params.items() if name.endswith("weight")}
    assert shapes == {
        "conv1_weight": (6, 1, 5, 5),
        "conv2_weight": (16, 6, 5, 5),
        "fc1_weight": (120, 16 * 5 * 5),
        "fc2_weight": (84, 120),
        "fc3_weight": (10, 84),
    }
    # As in the paper, but that its second convolution leaves out 900 weights of the 2416.
    assert sum(value.numpy().size for value in params.values()) == 156 + 2416 + 48120 + 10164 + 850
    image = np.random.default_rng(0).uniform(-1, 1, (2, 1, 28, 28)).astype("float32")
    scores = evaluate(mod, {"data": image, **{n: v.numpy() for n, v in params.items()}}).value
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-5)


def test_a_pass_runs_on_an_expression() -> None:
    x = relay.var("x", shape=(2, 3))
    typed = relay.testing.run_infer_type(relay.abs(x))
    assert str(typed.checked_type) == "Tensor[(2, 3), float32]"
    func = relay.Function([x], relay.add(x, relay.add(relay.const(1.0), relay.const(2.0))))
    folded = relay.testing.run_opt_pass(func, relay.transform.FoldConstant())
    assert isinstance(folded, relay.Function)
    assert float(folded.body.args[1].data.numpy()) == 3
    names = []

    def look(mod: relay.IRModule) -> relay.IRModule:
        names.append({gv.name_hint for gv in mod.functions})
        return mod

    assert relay.testing.run_opt_pass(x, look, import_prelude=True).name_hint == "x"
    assert {"main", "map", "foldl"} <= names[0]


def test_shallow_and_narrow_variants() -> None:
    deep = mobilenet.mobile_net(data_shape=(1, 3, 32, 32))
    shallow = mobilenet.mobile_net(data_shape=(1, 3, 32, 32), is_shallow=True, alpha=0.25)
    assert len(deep.params) - len(shallow.params) == 5 * 10
    mod, params = create_workload(shallow)
    assert params["conv_block_1_conv_weight"].shape == (8, 3, 3, 3)
    assert str(mod["main"].ret_type) == "Tensor[(1, 1000), float32]"


def test_unknown_layout_is_refused() -> None:
    with pytest.raises(ValueError, match="NCHW, NHWC, found 'CHWN'"):
        mobilenet.get_workload(layout="CHWN")


def small_net() -> relay.Function:
    body = layers.dense_add_bias(relay.var("data", shape=(1, 4)), name="fc", units=6)
    return relay.Function(relay.analysis.free_vars(body), body)


def test_workload_depends_on_its_seed_alone() -> None:
    _, first = create_workload(small_net(), seed=3)
    np.random.random(5)  # the global generator has no say, and is left alone
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


def test_initializers_refuse_what_they_do_not_know() -> None:
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
