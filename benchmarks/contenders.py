"""The runtimes that `inference.py` compares: each function prepares one and returns what is timed.

All run the same weights on the same image, one image at a time, from a NumPy array (torch: from a
tensor) to new memory. What a library needs is imported here, in the contender's own process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.lessons import mobilenet
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.testing.init import create_workload

Run = Callable[[], np.ndarray]
SEED = 2020
SGEMM_SIZE = 2048
NETWORKS = ("mobilenet", "resnet-18", "resnet-50")


class Weights(mobilenet.RandomStatistics):
    """Batch norms that are not the identity; a last layer with distinct, finite scores."""

    def init_weight(self, name: str, array: np.ndarray) -> None:
        super().init_weight(name, array)
        if name == "fc1_weight":  # a ResNet's sums grow from unit to unit
            array *= 0.01


def workload(network: str) -> tuple[relay.IRModule, dict[str, Any]]:
    """(module, parameters) of a network of `relay.testing` for one image of 3 x 224 x 224."""
    if network == "mobilenet":
        return mobilenet.workload()
    layers = int(network.rpartition("-")[2])
    return create_workload(relay.testing.resnet.get_net(1, 1000, layers), Weights(), SEED)


def flop(network: str) -> int:
    """Operations of one inference in convolutions and dense layers, by their shapes: a product and
    its addition are two, and a product with a padded zero is one too."""
    mod, _ = workload(network)
    calls = [n for n in post_order(mod["main"].body) if isinstance(n, Call)]
    return sum(_flop(call) for call in calls if call.op.name in ("nn.conv2d", "nn.dense"))


def _flop(call: Call) -> int:
    types = [a.checked_type for a in call.args]
    return call.op.definition.flops(call.attrs, types, call.checked_type)


def sgemm_flop() -> int:
    """Operations of one call of `sgemm`."""
    return 2 * SGEMM_SIZE**3


def image() -> np.ndarray:
    """On a boundary of 64 bytes, which all of them like best."""
    from byoc_lab.backends.dnnl import native

    made = mobilenet.image()
    aligned = native.aligned_empty(made.shape)
    aligned[...] = made
    return aligned


def byoc_lab(network: str, threads: int, offload: bool = True) -> Run:
    """The module with its regions on DNNL, or all of it compiled by TVM's LLVM."""
    from byoc_lab.backends import dnnl
    from byoc_lab.run import build

    dnnl.native.set_num_threads(threads)
    mod, params = workload(network)
    exe = build(dnnl.partition_for_dnnl(mod, params), offload=offload)
    x = image()
    return lambda: exe(x)[0]


def onnxruntime(network: str, threads: int) -> Run:
    """ONNX Runtime with all its graph optimisations (its default)."""
    import onnxruntime as ort
    import to_onnx

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    model = to_onnx.translate(*workload(network))
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    x = image()
    return lambda: session.run(None, {"data": x})[0]


def torch_eager(network: str, threads: int) -> Run:
    """torch as it is, without gradients."""
    import to_torch
    import torch

    torch.set_num_threads(threads)
    return _inference(to_torch.translate(*workload(network)))


def torch_compile(network: str, threads: int, frozen: bool = False) -> Run:
    """torch.compile as it is, or with the weights frozen, so that it folds batch norms and packs
    weights."""
    import to_torch
    import torch
    from torch._inductor import config

    torch.set_num_threads(threads)
    config.freezing = frozen
    return _inference(torch.compile(to_torch.translate(*workload(network))))


def _inference(model: Any) -> Run:
    import torch

    x = torch.from_numpy(image())

    def run() -> np.ndarray:
        with torch.inference_mode():
            return model(x).numpy()

    return run


def sgemm(threads: int) -> Run:
    """oneDNN's product of two square float32 matrices, as `SGEMM_SIZE` says."""
    from byoc_lab.backends import dnnl

    dnnl.native.set_num_threads(threads)
    shape, n = [SGEMM_SIZE, SGEMM_SIZE], SGEMM_SIZE
    graph = {
        "format": "byoc_lab.dnnl.graph",
        "version": 1,
        "symbol": "sgemm",
        "tensors": [{"name": name, "shape": shape, "dtype": "float32"} for name in "abc"],
        "inputs": [0, 1],
        "constants": [],
        "outputs": [2],
        "ops": [{"name": "matmul", "kind": "matmul", "inputs": [0, 1], "output": 2}],
    }
    region = dnnl.native.DnnlRegion(graph)
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((n, n)).astype(np.float32) for _ in range(2))
    return lambda: region(a, b)[0][:1]
