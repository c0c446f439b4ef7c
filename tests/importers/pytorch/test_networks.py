"""Imported PyTorch networks agree with PyTorch within the derived tolerance."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import byoc_lab  # noqa: E402
from byoc_lab.importers.pytorch import from_pytorch  # noqa: E402
from byoc_lab.lab.checking.tolerances import bounded  # noqa: E402

from .networks import NETWORKS, build  # noqa: E402

SLOW = {"resnet18", "mobilenet_v2", "mobilenet_v3"}  # torch.export takes most of the time


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in NETWORKS]
)
def test_results_equal_pytorch(name: str) -> None:
    model, inputs = build(name)
    mod, params = from_pytorch(model, inputs)
    assert not params
    main = mod["main"]
    arrays = [x.numpy() for x in inputs]
    wanted = bounded(main, dict(zip(main.params, arrays, strict=True)), mod)
    with torch.no_grad():
        theirs = model(*inputs).numpy()
    assert main.ret_type.concrete_shape == theirs.shape and main.ret_type.dtype == theirs.dtype
    (exact,), (tolerance,) = wanted.outputs, wanted.tolerances
    assert (np.abs(theirs - exact) <= tolerance).all()
    assert np.ptp(theirs) > 0


@pytest.mark.native
@pytest.mark.parametrize("name", ["unet", "encoder_layer", "quantized_conv"])
def test_partitioned_network_computes_the_same_as_pytorch(name: str) -> None:
    model, inputs = build(name)
    mod, _ = from_pytorch(model, inputs)
    partitioned = byoc_lab.trace(mod, "dnnl").stages[-1].after
    assert any("Compiler" in f.attrs for f in partitioned.functions.values())
    assert byoc_lab.validate(mod, partitioned, [x.numpy() for x in inputs]).ok
