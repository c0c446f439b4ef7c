"""MobileNet v1 with fixed random weights and batch norm statistics.

The network is `relay.testing.mobilenet`. Its own initial values make every batch norm the identity
and every output 0.001, which hides an error in folding. Here the statistics are random as well, and
the weights are scaled so that activations keep their magnitude (He et al., arXiv:1502.01852) and
the outputs differ.
"""

from __future__ import annotations

from math import prod

import numpy as np

from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.testing import mobilenet
from byoc_lab.relay.testing.init import Initializer, create_workload
from byoc_lab.relay.typing.infer import infer_module

SEED = 2020
IMAGE_SHAPE = (1, 3, 224, 224)
CLASSES = 1000


class RandomStatistics(Initializer):
    """Normal weights with variance 2 / inputs; batch norms that shift and scale each channel."""

    def __call__(self, name: str, array: np.ndarray) -> None:
        random = self.random
        if name.endswith("weight"):
            self.init_weight(name, array)
        elif name.endswith(("gamma", "var")):
            array[...] = random.uniform(0.5, 1.5, array.shape)
        elif name.endswith(("beta", "mean", "bias")):
            array[...] = random.normal(0, 0.2, array.shape)
        else:
            super().__call__(name, array)

    def init_weight(self, name: str, array: np.ndarray) -> None:
        inputs = prod(array.shape[1:])  # of one output: (outputs, inputs / groups, height, width)
        array[...] = self.random.normal(0, np.sqrt(2 / inputs), array.shape)


def workload(
    image_size: int = 224, classes: int = CLASSES, seed: int = SEED
) -> tuple[IRModule, dict[str, NDArray]]:
    """(typed module, parameters by name) for images (1, 3, image_size, image_size)."""
    net = mobilenet.mobile_net(classes, (1, 3, image_size, image_size))
    return create_workload(net, RandomStatistics(), seed)


def module(image_size: int = 224, classes: int = CLASSES, seed: int = SEED) -> IRModule:
    """The network with its parameters as constants; its only input is %data."""
    mod, params = workload(image_size, classes, seed)
    return infer_module(IRModule.from_expr(bind_params_by_name(mod["main"], params)))


def image(image_size: int = 224, seed: int = 0) -> np.ndarray:
    """A fixed image of standard normal noise, float32 (1, 3, image_size, image_size)."""
    random = np.random.default_rng(seed)
    return random.standard_normal((1, 3, image_size, image_size)).astype(np.float32)
