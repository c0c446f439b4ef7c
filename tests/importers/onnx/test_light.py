"""The networks in the onnx package: modules equal to TVM's, imported in linear time."""

from __future__ import annotations

import json
import time

import pytest

from byoc_lab.importers.onnx import from_onnx

from .golden import LIGHT, ask, digest, light_networks, shown, shown_module

NETWORKS = light_networks()
pytestmark = pytest.mark.skipif(not NETWORKS, reason="the data of onnx 1.14.1 is not installed")
LIMIT = 8.0  # seconds of CPU time; on an idle machine 1; TVM takes 38 for DenseNet-121


QUICK = {"squeezenet", "shufflenet", "resnet50"}


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in NETWORKS]
)
def test_digest_of_the_module_equals_tvm(name: str) -> None:
    start = time.process_time()
    mod, _ = from_onnx(NETWORKS[name])
    assert time.process_time() - start < LIMIT
    assert digest(shown_module(mod)) == json.loads(LIGHT.read_text(encoding="utf-8"))[name]


def test_all_nine_networks_are_compared() -> None:
    assert sorted(json.loads(LIGHT.read_text(encoding="utf-8"))) == sorted(NETWORKS)
    assert len(NETWORKS) == 9


@pytest.mark.slow
@pytest.mark.oracle
@pytest.mark.parametrize("name", ["squeezenet"])
def test_text_of_the_module_equals_tvm(name: str) -> None:
    theirs = ask({name: (NETWORKS[name], {})})[name]
    ours = shown_module(from_onnx(NETWORKS[name])[0])
    assert ours == shown(theirs["text"], theirs["constants"])
