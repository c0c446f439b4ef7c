"""The runtimes that `inference.py` compares: each function prepares one and returns what is timed.

All run the same weights on the same input, from a NumPy array (torch: from a tensor) to new memory.
Networks of `relay.testing` are translated to ONNX and torch, those in torch to ONNX, from which
byoc_lab imports them. A network in int8 is an ONNX model quantized by ONNX Runtime's tool, for
byoc_lab and ONNX Runtime. Libraries are imported here, in the contender's own process.
"""

from __future__ import annotations

import io
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
GEMM_SIZE = 2048
PRODUCTS = ("nn.conv2d", "nn.conv2d_transpose", "nn.dense", "nn.batch_matmul")
# Networks of `relay.testing`: the module, and the arguments of its `get_workload`.
TESTING: dict[str, tuple[str, dict[str, Any]]] = {
    "mobilenet": ("mobilenet", {}),
    "resnet-18": ("resnet", {"num_layers": 18}),
    "resnet-50": ("resnet", {"num_layers": 50}),
    "squeezenet": ("squeezenet", {"version": "1.1"}),
    "squeezenet, 4 images": ("squeezenet", {"version": "1.1", "batch_size": 4}),
    "inception-v3": ("inception_v3", {}),
    "densenet-121": ("densenet", {"batch_size": 1}),
}
# Networks of torch_networks.py, which needs torch, with the shapes of their inputs.
OF_TORCH = {
    "mobilenet-v3": (1, 3, 224, 224),
    "shufflenet-v2": (1, 3, 224, 224),
    "text detection": (1, 3, 320, 320),
    "text recognition": (1, 3, 48, 160),
    "bert layer": (1, 128, 768),
    "lstm": (1, 32, 128),
}
INT8 = ", int8"  # after the name of a network: its quantized form
NETWORKS = (
    *TESTING,
    *OF_TORCH,
    *(f"{name}{INT8}" for name in ("mobilenet", "resnet-18", "resnet-50", "squeezenet")),
)


class Weights(mobilenet.RandomStatistics):
    """Random weights: batch norms differ from the identity, the last layer has distinct, finite
    scores."""

    def init_weight(self, name: str, array: np.ndarray) -> None:
        super().init_weight(name, array)
        if name == "fc1_weight":  # in a ResNet, sums grow from unit to unit
            array *= 0.01


def workload(network: str) -> tuple[relay.IRModule, dict[str, Any]]:
    """(module, parameters) of a network."""
    if network in OF_TORCH or is_int8(network):
        from byoc_lab.importers.onnx import from_onnx

        return from_onnx(model(network))
    module, options = TESTING[network]
    if network == "mobilenet":
        return mobilenet.workload()
    net = getattr(relay.testing, module).get_workload(**options)[0]["main"]
    return create_workload(net, Weights(), SEED)


def is_int8(network: str) -> bool:
    """Whether a network is the quantized form of another one."""
    return network.endswith(INT8)


def model(network: str) -> bytes:
    """The ONNX form of a network."""
    if is_int8(network):
        from quantized import quantize

        return quantize(model(network.removesuffix(INT8)), [data(network)])
    if network in TESTING:
        import to_onnx

        return to_onnx.translate(*workload(network))
    import torch

    torch.backends.mha.set_fastpath_enabled(False)  # ONNX does not have this as one operator
    file = io.BytesIO()
    torch.onnx.export(torch_module(network), (torch.from_numpy(data(network)),), file, dynamo=False)
    return file.getvalue()


def torch_module(network: str) -> Any:
    """The torch form of a network."""
    if network in TESTING:
        import to_torch

        return to_torch.translate(*workload(network))
    import torch_networks

    return torch_networks.network(network)


def flop(network: str) -> int:
    """The number of operations of one inference in convolutions and matrix products, by their
    shapes: a multiplication and its addition count as two; multiplications with padded zeros are
    included. For a quantized network, the operations of the network before quantization."""
    mod, _ = workload(network.removesuffix(INT8))
    calls = [n for n in post_order(mod["main"].body) if isinstance(n, Call)]
    return sum(_flop(call) for call in calls if call.op_name in PRODUCTS)


def _flop(call: Call) -> int:
    types = [a.checked_type for a in call.args]
    return call.op.definition.flops(call.attrs, types, call.checked_type)


def gemm_flop() -> int:
    """The number of operations of one call of `gemm`."""
    return 2 * GEMM_SIZE**3


def data(network: str) -> np.ndarray:
    """The input, aligned to 64 bytes, which is fastest for all contenders."""
    from byoc_lab.backends.dnnl import native

    network = network.removesuffix(INT8)
    if network in OF_TORCH:
        made = np.random.default_rng(SEED).standard_normal(OF_TORCH[network]).astype(np.float32)
    else:
        net = workload(network)[0]["main"]
        (n, _, size, _) = net.params[0].checked_type.concrete_shape
        made = np.concatenate([mobilenet.image(size, seed) for seed in range(n)])
    aligned = native.aligned_empty(made.shape)
    aligned[...] = made
    return aligned


def byoc_lab(network: str, offload: bool = True) -> Run:
    """The module with its regions on DNNL, or all of it compiled by TVM's LLVM; with at most the
    threads that the process was started with."""
    from byoc_lab.backends import dnnl
    from byoc_lab.run import build

    mod, params = workload(network)
    exe = build(dnnl.partition_for_dnnl(mod, params), offload=offload)
    x = data(network)
    return lambda: exe(x)[0]


def onnxruntime(network: str, threads: int) -> Run:
    """ONNX Runtime with all its graph optimisations (its default)."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(model(network), options, providers=["CPUExecutionProvider"])
    (given,), x = session.get_inputs(), data(network)
    return lambda: session.run(None, {given.name: x})[0]


def torch_eager(network: str, threads: int) -> Run:
    """torch in eager mode, without gradients."""
    import torch

    torch.set_num_threads(threads)
    return _inference(torch_module(network), network)


def torch_compile(network: str, threads: int, frozen: bool = False) -> Run:
    """torch.compile with default options, or with frozen weights, so that it folds batch norms and
    packs weights."""
    import torch
    from torch._inductor import config

    torch.set_num_threads(threads)
    config.freezing = frozen
    return _inference(torch.compile(torch_module(network)), network)


def _inference(model: Any, network: str) -> Run:
    import torch

    x = torch.from_numpy(data(network))

    def run() -> np.ndarray:
        with torch.inference_mode():
            return model(x).numpy()

    return run


def gemm(threads: int, whole: bool = False) -> Run:
    """oneDNN's product of two square matrices of size `GEMM_SIZE`, float32 or, if `whole`, of uint8
    by int8 to int32."""
    from byoc_lab.backends import dnnl

    dnnl.native.set_num_threads(threads)
    shape, n = [GEMM_SIZE, GEMM_SIZE], GEMM_SIZE
    dtypes = ("uint8", "int8", "int32") if whole else ("float32",) * 3
    tensors = zip("abc", dtypes, strict=True)
    graph = {
        "format": "byoc_lab.dnnl.graph",
        "version": 1,
        "symbol": "gemm",
        "tensors": [{"name": name, "shape": shape, "dtype": dtype} for name, dtype in tensors],
        "inputs": [0, 1],
        "constants": [],
        "outputs": [2],
        "ops": [{"name": "matmul", "kind": "matmul", "inputs": [0, 1], "output": 2}],
    }
    region = dnnl.native.DnnlRegion(graph)
    random = np.random.default_rng(0)
    a, b = (random.uniform(0, 100, (n, n)).astype(dtype) for dtype in dtypes[:2])
    return lambda: region(a, b)[0][:1]
