"""ResNet-18 from torch.export: one region, with PyTorch's results."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from byoc_lab.relax import partition_for_dnnl

torch = pytest.importorskip("torch", reason="torch, whose networks are compared, is not installed")
tvm = pytest.importorskip("tvm")
relax = pytest.importorskip("tvm.relax")
pytestmark = pytest.mark.native
nn = torch.nn


def conv(inputs: int, outputs: int, size: int, stride: int) -> Any:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs)
    )


class Block(nn.Module):
    """Two convolutions with a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.body = nn.Sequential(
            conv(inputs, outputs, 3, stride), nn.ReLU(), conv(outputs, outputs, 3, 1)
        )
        same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if same else conv(inputs, outputs, 1, stride)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet_18() -> Any:
    """He et al., 2015, table 1; batch norms with statistics other than the initial ones."""
    torch.manual_seed(0)
    widths = [64, 64, 128, 256, 512]
    stages = [
        block
        for inputs, outputs in pairwise(widths)
        for block in (
            Block(inputs, outputs, 1 if inputs == outputs else 2),
            Block(outputs, outputs, 1),
        )
    ]
    network = nn.Sequential(
        conv(3, 64, 7, 2),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
        *stages,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(512, 1000),
    )
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_mean, -0.1, 0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    return network.eval()


@pytest.mark.slow
def test_resnet_18_is_one_call_and_agrees_with_pytorch() -> None:
    from tvm.relax.frontend.torch import from_exported_program

    network, image = resnet_18(), torch.randn(1, 3, 64, 64)
    with torch.no_grad():
        wanted = network(image).numpy()
        mod = from_exported_program(
            torch.export.export(network, (image,)), unwrap_unit_return_tuple=True
        )
    cut = partition_for_dnnl(mod)
    regions = [f for f in cut.functions.values() if f.attrs and "Codegen" in f.attrs]
    calls = [binding for block in cut["main"].body.blocks for binding in block.bindings]
    assert len(regions) == 1 and len(calls) == 1, cut["main"]

    compiled = relax.transform.RunCodegen()(cut)
    executable = tvm.compile(compiled, tvm.target.Target("llvm")).mod
    machine = relax.VirtualMachine(executable, tvm.cpu())
    got = machine["main"](tvm.runtime.tensor(image.numpy())).numpy()
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())
