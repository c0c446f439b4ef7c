"""Measures time and memory of import, build and validation of real-size networks.

Seven networks of `relay.testing`, written as ONNX files, and two transformers that PyTorch exports
(a BERT-base encoder, a ViT-B/16). Each network is measured in a separate process, on one thread:
reading the file with onnx alone, with its weights as arrays; `from_onnx`; `build` of the
unpartitioned network, which LLVM compiles as a whole, and of its partition for DNNL; `validate` of
the partition with one set of inputs. LLVM's part of a build is `tvm.compile`, and the virtual
machine, which generates machine code from its result; DNNL's part is the call of the extension that
creates oneDNN's primitives and packs the weights. Processor time, the minimum of `--repeat`
processes; memory is the peak that a build adds to a process whose module already has the weights.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from report import arguments, forget_peak, peak_bytes, seconds, table, timed, verdict, write_json

MB = 1e6
READINGS = 3  # limit of an import: this multiple of the time to read the file, plus
PER_NODE = 0.002  # this number of seconds per node
BUILDS = 2  # limit of a build, as a multiple of the times that LLVM and DNNL take
WEIGHTS, BESIDE = 2, 300 * MB  # memory limit of a build: a multiple of the weights, plus bytes
IMAGE = {"image_shape": (3, 224, 224)}
# {name: module of relay.testing and the arguments of its get_workload}
TESTING: dict[str, tuple[str, dict[str, Any]]] = {
    "MobileNet v1": ("mobilenet", IMAGE),
    "ResNet-18": ("resnet", {"num_layers": 18, **IMAGE}),
    "ResNet-50": ("resnet", {"num_layers": 50, **IMAGE}),
    "SqueezeNet": ("squeezenet", IMAGE),
    "DenseNet-121": ("densenet", IMAGE),
    "Inception-v3": ("inception_v3", {"image_shape": (3, 299, 299)}),
    "VGG-16": ("vgg", {"batch_size": 1, "num_layers": 16, **IMAGE}),
}
LAYERS, WIDTH, HEADS = 12, 768, 12
PATCH = 16


def _transformer(images: bool) -> tuple[Any, Any]:
    """A PyTorch model and an input."""
    import torch

    torch.backends.mha.set_fastpath_enabled(False)
    layer = torch.nn.TransformerEncoderLayer(
        WIDTH, HEADS, 4 * WIDTH, activation="gelu", batch_first=True
    )
    encoder = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    if not images:
        return encoder.eval(), torch.randn(1, 128, WIDTH)
    patches = torch.nn.Conv2d(3, WIDTH, PATCH, PATCH)
    cut = torch.nn.Sequential(patches, torch.nn.Flatten(2))

    class Vision(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cut, self.encoder = cut, encoder
            self.head = torch.nn.Linear(WIDTH, 1000)

        def forward(self, image: Any) -> Any:
            return self.head(self.encoder(self.cut(image).transpose(1, 2)).mean(1))

    return Vision().eval(), torch.randn(1, 3, 224, 224)


def write_torch(path: Path, images: bool) -> None:
    import torch

    model, data = _transformer(images)
    with torch.no_grad():  # copies of a layer start with shared weights, which are written once
        for weight in model.parameters():
            weight.copy_(torch.randn_like(weight) * 0.02)
    torch.onnx.export(model, (data,), str(path), dynamo=False, opset_version=17)


def write_testing(path: Path, module: str, options: dict[str, Any]) -> None:
    from to_onnx import translate

    from byoc_lab import relay

    mod, params = getattr(relay.testing, module).get_workload(**options)
    path.write_bytes(translate(relay.transform.InferType()(mod), params))


WRITERS: dict[str, tuple[Callable[..., None], tuple[Any, ...]]] = {
    **{name: (write_testing, how) for name, how in TESTING.items()},
    "BERT-base": (write_torch, (False,)),
    "ViT-B/16": (write_torch, (True,)),
}


def read(path: str) -> tuple[int, int]:
    """Read with onnx alone: the number of nodes, and the bytes of weights."""
    import onnx

    graph = onnx.load(path).graph
    arrays = [onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer]
    return len(graph.node), sum(array.nbytes for array in arrays)


def measured(path: str) -> dict[str, float]:
    """In a separate process: processor time in seconds, and memory in bytes."""
    os.environ["OMP_NUM_THREADS"] = "1"
    import numpy as np
    import onnx  # noqa: F401 (read() finds it imported)
    import tvm

    import byoc_lab
    from byoc_lab.backends.dnnl import native
    from byoc_lab.importers.onnx import from_onnx

    x = byoc_lab.relay.var("x", shape=(1, 4))
    byoc_lab.build(
        byoc_lab.trace(byoc_lab.IRModule.from_expr(byoc_lab.relay.tanh(x)), "dnnl").result
    )
    found: dict[str, float] = {}
    (found["nodes"], found["weights"]), found["read"] = timed(lambda: read(path), time.process_time)
    (mod, _), found["import"] = timed(lambda: from_onnx(path), time.process_time)
    part, found["partition"] = timed(lambda: byoc_lab.trace(mod, "dnnl").result, time.process_time)
    spent = {"LLVM": 0.0, "DNNL": 0.0}

    def metered(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            result, taken = timed(lambda: function(*args, **options), time.process_time)
            spent[part] += taken
            return result

        return call

    tvm.compile = metered("LLVM", tvm.compile)
    tvm.relax.VirtualMachine = metered("LLVM", tvm.relax.VirtualMachine)
    found_function = native.function  # a function of the extension
    patch.object(native, "function", lambda name: metered("DNNL", found_function(name))).start()
    exe = None
    for name, module in (("build", mod), ("build for dnnl", part)):
        spent.update(dict.fromkeys(spent, 0.0))
        forget_peak()
        before = peak_bytes()
        exe, found[name] = timed(partial(byoc_lab.build, module), time.process_time)
        found[f"{name}, memory"] = peak_bytes() - before
        found.update({f"{name}, {part}": taken for part, taken in spent.items()})
    shape = mod["main"].params[0].checked_type.concrete_shape
    inputs = [np.random.default_rng(0).standard_normal(shape).astype("float32")]
    forget_peak()
    before = peak_bytes()
    report, found["validate"] = timed(
        lambda: byoc_lab.validate(mod, exe, inputs), time.process_time
    )
    found["validate, memory"] = peak_bytes() - before
    report.check()
    return found


def misses(name: str, t: dict[str, float]) -> list[str]:
    """The claims that a network does not satisfy."""
    found = []
    compilers = t["build for dnnl, LLVM"] + t["build for dnnl, DNNL"]
    limits = (
        ("import", READINGS * t["read"] + PER_NODE * t["nodes"]),
        ("build", BUILDS * t["build, LLVM"]),
        ("build for dnnl", BUILDS * compilers),
        ("build for dnnl", BUILDS * t["build, LLVM"]),
    )
    for what, limit in limits:
        if t[what] > limit:
            found.append(f"{name}: {what} takes {seconds(t[what])}, limit {seconds(limit)}")
    for build in ("build", "build for dnnl"):
        most = WEIGHTS * t["weights"] + BESIDE
        if t[f"{build}, memory"] > most:
            found.append(
                f"{name}: {build} adds {t[f'{build}, memory'] / MB:.0f} MB, limit {most / MB:.0f}"
            )
    return found


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--repeat", type=int, default=2, help="processes for each network")
    parser.add_argument("--networks", nargs="+", choices=WRITERS, default=list(WRITERS))
    options = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    missed, rows = [], []
    spawn = multiprocessing.get_context("spawn")
    for name in options.networks:
        write, how = WRITERS[name]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "network.onnx"
            with spawn.Pool(1) as pool:
                pool.apply(write, (path, *how))
            turns = []
            for _ in range(options.repeat):
                with spawn.Pool(1) as pool:
                    turns.append(pool.apply(measured, (str(path),)))
        best = {key: min(turn[key] for turn in turns) for key in turns[0]}
        found[name] = best
        missed += misses(name, best)
        rows.append(row(name, best))
        print("measured:", name, flush=True)
    shown = table(HEAD, rows)
    print(shown)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "real_networks.txt").write_text(shown + "\n")
    write_json(options.out / "real_networks.json", {"networks": found})
    return verdict(missed)


HEAD = (
    "network", "nodes", "weights", "read", "import", "build", "of LLVM", "memory",
    "for DNNL", "of LLVM", "of DNNL", "memory", "validate", "memory",
)  # fmt: skip


def row(name: str, t: dict[str, float]) -> list[str]:
    def mb(key: str) -> str:
        return f"{t[key] / MB:.0f} MB"

    cells = [name, f"{t['nodes']:.0f}", mb("weights"), seconds(t["read"]), seconds(t["import"])]
    cells += [seconds(t["build"]), seconds(t["build, LLVM"]), mb("build, memory")]
    cells += [seconds(t[f"build for dnnl{part}"]) for part in ("", ", LLVM", ", DNNL")]
    cells.append(mb("build for dnnl, memory"))
    return [*cells, seconds(t["validate"]), mb("validate, memory")]


if __name__ == "__main__":
    sys.exit(main())
