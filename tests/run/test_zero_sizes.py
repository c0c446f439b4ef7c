"""Data without elements: an empty batch, or no channels.

The reference and both builds give a result with the inferred shape. `test_empty.py` draws such
sample calls of every operator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.typing.infer import infer_module


def ones(*shape: int) -> Any:
    return relay.const(np.ones(shape, np.float32))


ZERO, ONE = relay.const(0), relay.const(1.0)
IMAGE, ROWS = (0, 3, 8, 8), (0, 3)
CASES: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "nn.conv1d": ((0, 3, 8), lambda x: nn.conv1d(x, ones(4, 3, 3))),
    "nn.conv2d": (IMAGE, lambda x: nn.conv2d(x, ones(4, 3, 3, 3))),
    "nn.conv2d, few outputs": (IMAGE, lambda x: nn.conv2d(x, ones(1, 3, 3, 3))),
    "nn.conv2d, 1x1": (IMAGE, lambda x: nn.conv2d(x, ones(4, 3, 1, 1))),
    "nn.conv2d, depthwise": (IMAGE, lambda x: nn.conv2d(x, ones(3, 1, 3, 3), groups=3)),
    "nn.conv2d, no channels": ((1, 0, 8, 8), lambda x: nn.conv2d(x, ones(4, 0, 3, 3))),
    "nn.conv3d": ((0, 3, 8, 8, 8), lambda x: nn.conv3d(x, ones(4, 3, 3, 3, 3))),
    "nn.conv2d_transpose": (
        IMAGE, lambda x: nn.conv2d_transpose(x, ones(3, 4, 3, 3), channels=4, kernel_size=(3, 3))
    ),
    "nn.conv2d_transpose, no channels": (
        (1, 0, 8, 8),
        lambda x: nn.conv2d_transpose(x, ones(0, 4, 3, 3), channels=4, kernel_size=(3, 3)),
    ),
    "nn.dense": (ROWS, lambda x: nn.dense(x, ones(4, 3))),
    "nn.dense, no inputs": ((2, 0), lambda x: nn.dense(x, ones(4, 0))),
    "nn.batch_matmul": ((0, 2, 3), lambda x: nn.batch_matmul(x, ones(0, 4, 3))),
    "nn.max_pool2d": (IMAGE, lambda x: nn.max_pool2d(x, pool_size=(2, 2))),
    "nn.avg_pool2d": (IMAGE, lambda x: nn.avg_pool2d(x, pool_size=(2, 2))),
    "nn.global_avg_pool2d": (IMAGE, nn.global_avg_pool2d),
    "nn.batch_norm": (IMAGE, lambda x: nn.batch_norm(x, *(ones(3) for _ in range(4)))[0]),
    "nn.layer_norm": (ROWS, lambda x: nn.layer_norm(x, ones(3), ones(3))),
    "nn.softmax": (ROWS, nn.softmax),
    "nn.lrn": (IMAGE, nn.lrn),
    "nn.batch_flatten": ((0, 3, 2), nn.batch_flatten),
    "image.resize2d": (IMAGE, lambda x: relay.image.resize2d(x, (4, 4))),
    "nn.pad": (ROWS, lambda x: nn.pad(x, ((0, 0), (1, 1)))),
    "sum": (ROWS, lambda x: relay.sum(x, axis=1)),
    "sum, over nothing": (ROWS, lambda x: relay.sum(x, axis=0)),
    "max": (ROWS, lambda x: relay.max(x, axis=1)),
    "argmax": (ROWS, lambda x: relay.argmax(x, axis=1)),
    "concatenate": (ROWS, lambda x: relay.concatenate([x, x], 1)),
    "transpose": (ROWS, relay.transpose),
    "topk": (ROWS, lambda x: relay.topk(x, 2)[0]),
    "nn.depth_to_space": ((0, 4, 2, 2), lambda x: nn.depth_to_space(x, 2)),
    "qnn.quantize": (ROWS, lambda x: relay.qnn.op.quantize(x, ONE, ZERO)),
}  # fmt: skip


def network(name: str) -> tuple[IRModule, list[np.ndarray]]:
    shape, build = CASES[name]
    x = relay.var("x", shape=shape)
    mod = infer_module(IRModule.from_expr(relay.Function([x], build(x))))
    return mod, [np.zeros(shape, np.float32)]


@pytest.mark.parametrize("name", CASES)
def test_reference_has_the_inferred_shape(name: str) -> None:
    mod, data = network(name)
    (found,) = byoc_lab.evaluate(mod, data).outputs
    assert np.asarray(found).shape == mod["main"].ret_type.concrete_shape


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("offload", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_build_with_empty_arrays_equals_the_reference(name: str, offload: bool) -> None:
    pytest.importorskip("tvm")
    mod, data = network(name)
    (wanted,) = byoc_lab.evaluate(mod, data).outputs
    cut = byoc_lab.trace(mod, "dnnl").result if offload else mod
    (found,) = byoc_lab.build(cut, offload=offload).run(data)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))
