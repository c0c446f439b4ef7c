"""The networks of `relay.testing`: text and parameters equal TVM's; variants."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from byoc_lab import compat, relay
from byoc_lab.relay.testing import (
    create_workload,
    dcgan,
    densenet,
    lenet,
    mobilenet,
    resnet,
    squeezenet,
    vgg,
)
from byoc_lab.run.reference import evaluate
from tests.parity.facts import networks as network_digests
from tests.parity.goldens.files import golden_path

GOLDEN = golden_path("print/networks_mobilenet.relay")
NHWC = {"batch_size": 2, "num_classes": 10, "image_shape": (32, 32, 3), "layout": "NHWC"}


def digest_of_text(mod: relay.IRModule) -> str:
    return hashlib.sha256(mod.astext(show_meta_data=False).encode()).hexdigest()


def test_mobilenet_prints_as_in_tvm() -> None:
    golden = GOLDEN.read_text()
    mod, _ = mobilenet.get_workload()
    wanted = golden[golden.index("#[version") :]
    assert mod.astext(show_meta_data=False).split() == wanted.split()


def test_mobilenet_nhwc_prints_as_in_tvm() -> None:
    """The digest is that of TVM 0.16's text for the same arguments."""
    mod, _ = mobilenet.get_workload(**NHWC)
    tvm = "2a7e8fc46d0047a3ef666174538b3ee4a1618f7cb05cc21ce0dad4d224cafc19"
    assert digest_of_text(mod) == tvm


@pytest.mark.slow
@pytest.mark.parametrize("label", network_digests.NETWORKS)
def test_network_has_the_text_and_parameters_of_tvm(label: str) -> None:
    """Compares digests of TVM 0.16's text and parameters."""
    golden = json.loads(golden_path(network_digests.FILE).read_text(encoding="utf-8"))
    assert network_digests.digests(compat.relay, label) == golden[label]


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
def test_unknown_variant_is_refused(make, message) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_dcgan_takes_the_code_as_an_expression() -> None:
    code = relay.var("noise", shape=(2, 100))
    function = dcgan.get_net(2, code=relay.nn.relu(code), ngf=8)
    assert function.params[0].name_hint == "noise"
    typed = relay.transform.InferType()(relay.IRModule.from_expr(function))
    assert str(typed["main"].ret_type) == "Tensor[(2, 3, 64, 64), float32]"


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
    # As in the paper, except that its second convolution omits 900 of the 2416 weights.
    assert sum(value.numpy().size for value in params.values()) == 156 + 2416 + 48120 + 10164 + 850
    image = np.random.default_rng(0).uniform(-1, 1, (2, 1, 28, 28)).astype("float32")
    scores = evaluate(mod, {"data": image, **{n: v.numpy() for n, v in params.items()}}).value
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-5)


def test_shallow_and_narrow_variants_are_smaller() -> None:
    deep = mobilenet.mobile_net(data_shape=(1, 3, 32, 32))
    shallow = mobilenet.mobile_net(data_shape=(1, 3, 32, 32), is_shallow=True, alpha=0.25)
    assert len(deep.params) - len(shallow.params) == 5 * 10
    mod, params = create_workload(shallow)
    assert params["conv_block_1_conv_weight"].shape == (8, 3, 3, 3)
    assert str(mod["main"].ret_type) == "Tensor[(1, 1000), float32]"


def test_unknown_layout_is_refused() -> None:
    with pytest.raises(ValueError, match="NCHW, NHWC, found 'CHWN'"):
        mobilenet.get_workload(layout="CHWN")
